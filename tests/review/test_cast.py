"""Who is who is looked at again where evidence has changed, and the user's own names hold in every verb."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from namespaces import needs_namespaces
from processes import PRELUDE, eventually, program, tell
from verbs import numascope

from numascope.cli.session import open_session
from numascope.cpuset import CpuSet
from numascope.observe.sample import NOBODY, ThreadKey, Threads
from numascope.observe.select import Wanted
from numascope.review.cast import Cast, may_tell_more
from numascope.review.report import Report
from numascope.show.detail import detail_lines

KEYS = tuple(ThreadKey(7, 7 + at, 0, 0) for at in range(3))
MASKS: tuple[CpuSet | None, ...] = (CpuSet.parse("0-1"),) * 3
THEN = replace(NOBODY, keys=KEYS, allowed=MASKS, run_ns=(1, 2, 3))
CAST = Cast((), (), (), evident_rows=(1,))


def later(run_ns: tuple[int, ...] = (1, 2, 3), allowed: tuple[CpuSet | None, ...] = MASKS) -> Threads:
    return replace(THEN, run_ns=run_ns, allowed=allowed)


@pytest.mark.parametrize(
    ("cast", "now", "expected"),
    [
        (CAST, later(), False),
        (CAST, later((9, 2, 9)), False),  # named threads ran: their names tell the same
        (CAST, later((1, 9, 3)), True),
        (CAST, later(allowed=(*MASKS[:2], CpuSet.parse("1"))), True),
        (CAST, later(allowed=(*MASKS[:2], CpuSet.parse("0-1"))), False),  # an equal mask in another object
        (CAST, replace(later(), keys=KEYS[::-1]), True),
        (Cast((), (), ()), later((9, 9, 9), (None,) * 3), False),
    ],
)
def test_only_what_evidence_rests_on_makes_roles_be_told_again(cast: Cast, now: Threads, expected: bool) -> None:
    assert may_tell_more(cast, THEN, now) is expected


LATE_POOL = """
def later():
    go.wait(); spin()
go = threading.Event(); thread(later); time.sleep(0.2); ready(); sys.stdin.readline(); go.set(); spin()
"""


def roles(report: Report) -> set[tuple[str, str]]:
    return {(one.role.name, one.role.confidence) for one in report.placements}


@pytest.mark.live
def test_a_pool_of_a_torch_rank_that_begins_to_compute_is_told_while_no_thread_comes_or_goes() -> None:
    with program(LATE_POOL, RANK="0", LOCAL_RANK="0", OMP_NUM_THREADS="2") as child:
        session = open_session((Wanted(child.pid),), None, interval_s=0.1, window_s=0.5)
        try:
            before = session.look(0.5)
            tell(child)

            assert ("unnamed", "unknown") in roles(before)
            assert eventually(lambda: ("omp", "inferred") in roles(session.look(0.3, 3)), 30)
        finally:
            session.close()


def role_of(document: str, comm: str) -> tuple[str, str]:
    (found,) = [one for one in json.loads(document)["threads"] if one["comm"] == comm]
    return found["role"], found["confidence"]


@pytest.mark.live
def test_ones_own_names_hold_in_diff_and_record_and_are_kept_for_replay(tmp_path: Path) -> None:
    own, other = tmp_path / "numascope/roles.toml", tmp_path / "other.toml"
    own.parent.mkdir()
    own.write_text('[names]\n"ckpt" = "housekeeping"\n')
    other.write_text('[names]\n"ckpt" = "loader"\n')
    plan = tmp_path / "bind.json"
    plan.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0"}}}))
    kept = str(tmp_path / "kept.nsr")
    look = ("--for", "0.2s", "--json")
    nowhere = str(tmp_path / "nowhere")
    with program('named("ckpt_writer", sleep); time.sleep(0.2); ready(); sleep()') as child:
        target = f"{child.pid}=device0"
        without = numascope("diff", str(plan), target, *look, XDG_CONFIG_HOME=nowhere).stdout
        configured = numascope("diff", str(plan), target, *look, XDG_CONFIG_HOME=str(tmp_path)).stdout
        given = numascope("diff", str(plan), target, *look, "--roles", str(other), XDG_CONFIG_HOME=str(tmp_path)).stdout
        recorded = numascope("record", target, "--plan", str(plan), "--roles", str(other), "-o", kept, "--for", "0.3s")
    replayed = numascope("diff", "--replay", kept, "--json", XDG_CONFIG_HOME=str(tmp_path)).stdout
    anew = numascope("diff", "--replay", kept, "--json", "--roles", str(own)).stdout

    assert recorded.returncode == 0, recorded.stderr
    assert role_of(without, "ckpt_writer") == ("other", "unknown")
    assert role_of(configured, "ckpt_writer") == ("housekeeping", "named")
    assert role_of(given, "ckpt_writer") == ("loader", "named")
    assert role_of(replayed, "ckpt_writer") == ("loader", "named")  # as it was recorded, not as the reader's own say
    assert role_of(anew, "ckpt_writer") == ("housekeeping", "named")


@pytest.mark.live
@needs_namespaces
def test_a_process_of_a_container_is_shown_with_its_number_there() -> None:
    inside = PRELUDE + 'name("inmate"); time.sleep(1000)'
    code = (
        "import subprocess\n"
        f'one = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", {inside!r}])\n'
        "time.sleep(0.7); ready(); sleep()"
    )
    with program(code) as child:
        session = open_session((Wanted(child.pid),), None, interval_s=0.1, window_s=0.5)
        try:
            report = session.look(0.2, 2)
        finally:
            session.close()
        told = numascope("threads", str(child.pid)).stdout

    (inmate,) = [one for one in report.placements if one.comm == "inmate"]
    (own,) = [one for one in report.placements if one.key.tid == child.pid]
    assert "pid 1 in its container" in "".join(span.text for span in detail_lines(report, inmate, 80, 8)[0])
    assert "container" not in "".join(span.text for span in detail_lines(report, own, 80, 8)[0])
    assert f"{inmate.key.pid} inmate · pid 1 in its container · " in told


CONTAINED_JOB = """
import json, subprocess
worker = {**os.environ, "MS_ROLE": "MS_WORKER", "RANK_ID": "0", "DEVICE_ID": "0", "MSRUN_BIND_FILE": "/mnt/bind.json"}
shell = 'mount -t tmpfs none /mnt && echo "$PLAN" > /mnt/bind.json && exec "$0" -c "import time; time.sleep(1000)"'
plan = json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0"}}})
one = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", shell, sys.executable], env={**worker, "PLAN": plan})
time.sleep(0.7); print("ready", flush=True); time.sleep(1000)
"""


@pytest.mark.live
@needs_namespaces
def test_the_plan_of_a_job_in_a_container_is_named_by_a_path_that_leads_to_it_from_here() -> None:
    with program(CONTAINED_JOB) as child:
        worker = int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text())
        session = open_session((Wanted(worker),), None, interval_s=0.1, window_s=0.5)
        try:
            report = session.look(0.2, 2)
        finally:
            session.close()
        assert report.plan is not None, report.notes
        path = report.plan.path
        assert os.path.exists(path)

    (rank,) = [one for one in report.ranks if one.device == 0]
    assert path == f"/proc/{rank.pid}/root/mnt/bind.json"
    assert report.plan_source == "MSRUN_BIND_FILE of the job, a file of its container"
    assert report.counts["unplanned"] < len(report.placements)
