"""Records a stand-in job of eight ranks with four things wrong: `python3 tests/testbed/eight_ranks.py FILE`, in the machine `four-node`.

Two ranks share a node, with two CPUs each and the node for their dataset workers. A thread of rank 1 runs on another rank's CPU, a
dataset worker of rank 6 loads GNU's OpenMP, which OMP_PROC_BIND has bind it to one CPU, a stranger spins on a CPU of rank 2, and rank 3 was started with the memory of a far node.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from numascope.cli import standin

RANKS = 8
CPUS_OF_RANK = 2
CPUS_OF_NODE = 4
RECORDED_S = 60
FAR_RANK, FAR_NODE = 3, 2
NARROWED_RANK, CROWDED_RANK = 6, 2
SETTLE_S = 8
MEMORY_BYTES = 48 << 20

_SET_MEMPOLICY = 238
"""Its number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl)."""

_MPOL_BIND = 2


def node_of(rank: int) -> int:
    """The node of a rank's CPUs."""
    return rank * CPUS_OF_RANK // CPUS_OF_NODE


def plan_of(rank: int) -> dict[str, str]:
    """The runtime has the first CPU of a rank, main both, the dataset workers the node."""
    first, node = rank * CPUS_OF_RANK, node_of(rank) * CPUS_OF_NODE
    return {"runtime": f"{first}", "minddata": f"{node}-{node + CPUS_OF_NODE - 1}", "main": f"{first}-{first + 1}"}


def write_plan(folder: Path) -> Path:
    """A MindSpore bind file for eight devices."""
    path = folder / standin.PLAN_NAME
    document = {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": True},
        "bind_cpu": {"scheduler": {"main": "0-1"}, **{f"device{rank}": plan_of(rank) for rank in range(RANKS)}},
        "bind_memory": {f"device{rank}": str(node_of(rank)) for rank in range(RANKS)},
    }
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def bind_memory(node: int) -> None:
    """The policy of this process and of all that it starts from now on, as `numactl --membind` sets it."""
    mask = ctypes.c_ulong(1 << node)
    if ctypes.CDLL(None, use_errno=True).syscall(_SET_MEMPOLICY, _MPOL_BIND, ctypes.byref(mask), 64):
        raise OSError(ctypes.get_errno(), "set_mempolicy")


def environment_of(plan: Path, part: str, rank: int) -> dict[str, str]:
    """What the launcher gives to a rank, and just before that the policy which the rank inherits."""
    if part == "rank":
        bind_memory(FAR_NODE if rank == FAR_RANK else node_of(rank))
    narrowed = {"OMP_PROC_BIND": "true"} if part == "rank" and rank == NARROWED_RANK else {}
    return _given(plan, part, rank) | narrowed


def write_program(folder: Path) -> Path:
    """What a rank runs: it takes memory, and is the stand-in from then on; a signal has a process of it load OpenMP."""
    path = folder / "rank.py"
    path.write_text(
        "import ctypes, runpy, signal\n"
        f"block = b'x' * {MEMORY_BYTES}\n"
        "signal.signal(signal.SIGUSR1, lambda *_: ctypes.CDLL('libgomp.so.1'))\n"
        f"runpy.run_path({standin.__file__!r}, run_name='__main__')\n"
    )
    return path


_given = standin._environment


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
        standin._environment = environment_of
        standin.__file__ = str(write_program(Path(folder)))
        job = multiprocessing.get_context("fork").Process(
            target=standin.launch, args=(plan, 600.0), kwargs={"tied": False}
        )
        job.start()
        while any(not loaders_of(rank) for rank in range(RANKS)):
            time.sleep(0.5)
        time.sleep(SETTLE_S)
        stranger = multiprocessing.get_context("fork").Process(target=spin, args=(CROWDED_RANK * CPUS_OF_RANK,))
        stranger.start()
        for loader in loaders_of(NARROWED_RANK)[:1]:
            os.kill(loader, signal.SIGUSR1)
        command = [sys.executable, "-m", "numascope", "record", str(job.pid), "-o", target, "--for", f"{RECORDED_S}s"]
        done = subprocess.run([*command, "--interval", "2s"], check=False)
        stranger.kill()
        job.terminate()
        job.join(20)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
