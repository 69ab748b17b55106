"""Verdicts on real placements over nodes at unequal distances: the stand-in job, moved and put back."""

from __future__ import annotations

import json
import os

import pytest
from machine_vm.guest import SLOW_S, finding_of, named, numascope, placement, seen, watching_job

from numascope.cli.standin_process import StandIn
from numascope.review.report import Report

pytestmark = [pytest.mark.vm("four-node")]

NODE_CPUS = 4
"""CPUs of each node, numbered node by node."""


def distance(here: int, there: int) -> int:
    """What the kernel says of two nodes."""
    with open(f"/sys/devices/system/node/node{here}/distance") as file:
        return int(file.read().split()[there])


def is_clean(report: Report) -> bool:
    return not report.findings and report.counts.get("ok", 0) > 0


@pytest.mark.parametrize(("rank", "comm"), [(0, "ActorThread_0"), (1, "ActorThread_0")])
@pytest.mark.parametrize("node", [2, 3])
def test_a_thread_moved_to_another_node_has_escaped_there_and_is_clean_once_put_back(
    job: StandIn, rank: int, comm: str, node: int
) -> None:
    with watching_job(job) as session:
        thread = named(seen(session, is_clean), rank, comm)
        tid, home = thread.key.tid, thread.target
        assert home is not None
        home_node = min(home.cpus) // NODE_CPUS
        cpu = node * NODE_CPUS + 1

        os.sched_setaffinity(tid, {cpu})
        report = seen(session, lambda one: placement(one, tid).outside.min_ns > 0)
        moved = placement(report, tid)
        told = finding_of(report, "escaped", tid)

        assert (moved.node, moved.cpu) == (node, cpu)
        assert (moved.verdict, moved.severity) == ("escaped", "error")
        assert told is not None
        assert f"last on CPU {cpu} (N{node})" in told.text
        assert f"distance N{home_node} to N{node} {distance(home_node, node)}" in told.evidence

        os.sched_setaffinity(tid, set(home.cpus))
        assert placement(seen(session, is_clean), tid).verdict == "ok"


def test_diff_ends_1_with_a_moved_thread_named_and_0_once_it_is_put_back(job: StandIn) -> None:
    with watching_job(job) as session:
        main = next(one for one in seen(session, is_clean).placements if one.rank == 0 and one.label == "main")
    assert main.target is not None
    os.sched_setaffinity(main.key.tid, {15})
    wrong = numascope("diff", job.plan_path, "--for", "3s", "--pending-for", "0s", "--json")
    os.sched_setaffinity(main.key.tid, set(main.target.cpus))
    right = numascope("diff", job.plan_path, "--pending-for", "0s")

    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    escaped = {one["tid"]: one for one in json.loads(wrong.stdout)["threads"] if one["verdict"] == "escaped"}
    assert main.key.tid in escaped
    assert (escaped[main.key.tid]["cpu"], escaped[main.key.tid]["node"]) == (15, 3)
    assert right.returncode == 0, right.stdout + right.stderr


def test_a_mask_that_only_reaches_out_is_loose_until_time_is_spent_there(job: StandIn) -> None:
    with watching_job(job) as session:
        thread = named(seen(session, is_clean), 0, "ActorThread_0")
        os.sched_setaffinity(thread.key.tid, range(16))
        report = seen(session, lambda one: placement(one, thread.key.tid).verdict in ("loose", "escaped"), SLOW_S)
    judged = placement(report, thread.key.tid)

    assert judged.severity is not None
    assert (judged.verdict == "escaped") == (judged.outside.max_ns > 0 and judged.outside.cpu is not None)
