"""Memory policies of real processes against a plan that binds: ok, unbound, elsewhere."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from machine_vm.guest import findings, seen

from numascope.cli.session import open_session
from numascope.observe.select import Wanted

pytestmark = [pytest.mark.vm("two-socket", "memory-only")]

PLAN = {
    "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": True},
    "bind_cpu": {"device0": {"main": "0-7"}},
    "bind_memory": {"device0": 1},
}


@pytest.mark.parametrize(
    ("prefix", "verdict", "policy"),
    [
        (["numactl", "--membind=1"], "ok", "bind:1"),
        (["numactl", "--preferred=1"], "ok", "prefer:1"),
        ([], "unbound", "default"),
        (["numactl", "--membind=0"], "elsewhere", "bind:0"),
        (["numactl", "--membind=0,1"], "elsewhere", "bind:0-1"),
        (["numactl", "--interleave=0,1"], "elsewhere", "interleave:0-1"),
    ],
)
def test_a_policy_is_judged_by_the_plan(tmp_path: Path, prefix: list[str], verdict: str, policy: str) -> None:
    plan = tmp_path / "bind.json"
    plan.write_text(json.dumps(PLAN))
    with subprocess.Popen([*prefix, "sleep", "1000"], stdin=subprocess.DEVNULL) as child:
        try:
            session = open_session((Wanted(child.pid, 0),), str(plan), interval_s=0.5, window_s=1.0)
            try:
                report = seen(session, lambda one: one.ranks[0].policy == policy)
            finally:
                session.close()
        finally:
            child.kill()

    (rank,) = report.ranks
    # Of so small a process the pages of libraries count, which lie where somebody read them first.
    judged = "ok" if rank.memory_verdict == "spilled" else rank.memory_verdict
    assert (judged, set(rank.planned_nodes)) == (verdict, {1})
    assert bool(findings(report, verdict)) == (verdict != "ok")
