"""Records a stand-in job of eight ranks with three things wrong: `python3 tests/testbed/eight_ranks.py FILE`, in the machine `four-node`.

Two ranks share a node, with two CPUs each. A thread of rank 1 runs on another rank's CPU, a dataset worker of rank 6 was put on CPU 0,
and a stranger spins on a CPU of rank 2.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from numascope.cli import standin

RANKS = 8
CPUS_OF_RANK = 2
RECORDED_S = 24
LOST_RANK, CROWDED_RANK = 6, 2
SETTLE_S = 8


def plan_of(rank: int) -> dict[str, str]:
    """The runtime has the first CPU of a rank, the dataset workers its second, main both."""
    first = rank * CPUS_OF_RANK
    return {"runtime": f"{first}", "minddata": f"{first + 1}", "main": f"{first}-{first + 1}"}


def write_plan(folder: Path) -> Path:
    """A MindSpore bind file for eight devices."""
    path = folder / standin.PLAN_NAME
    document = {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "none", "actor_thread_fix_bind": True},
        "bind_cpu": {"scheduler": {"main": "0-1"}, **{f"device{rank}": plan_of(rank) for rank in range(RANKS)}},
    }
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def spin(cpu: int) -> None:
    """A stranger."""
    os.sched_setaffinity(0, {cpu})
    while True:
        pass


def loaders_of(rank: int) -> list[int]:
    """The children of a rank."""
    for entry in Path("/proc").glob("[0-9]*/environ"):
        if {f"RANK_ID={rank}".encode(), b"MS_ROLE=MS_WORKER"} <= set(entry.read_bytes().split(b"\0")):
            pid = entry.parent.name
            listed = (entry.parent / "task" / pid / "children").read_text().split()
            if listed:
                return [int(child) for child in listed]
    return []


def main(target: str) -> int:
    """Starts the job, does the harm, and records; the recorder's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        plan = write_plan(Path(folder))
        standin.RANKS = RANKS  # type: ignore[misc]  # of this launcher alone
        job = multiprocessing.get_context("fork").Process(
            target=standin.launch, args=(plan, 600.0), kwargs={"tied": False}
        )
        job.start()
        while any(not loaders_of(rank) for rank in range(RANKS)):
            time.sleep(0.5)
        time.sleep(SETTLE_S)
        stranger = multiprocessing.get_context("fork").Process(target=spin, args=(CROWDED_RANK * CPUS_OF_RANK,))
        stranger.start()
        for loader in loaders_of(LOST_RANK)[:1]:
            for tid in os.listdir(f"/proc/{loader}/task"):
                os.sched_setaffinity(int(tid), {0})
        command = [sys.executable, "-m", "numascope", "record", str(job.pid), "-o", target, "--for", f"{RECORDED_S}s"]
        done = subprocess.run([*command, "--interval", "2s"], check=False)
        stranger.kill()
        job.terminate()
        job.join(20)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
