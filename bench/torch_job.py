"""A real torchrun job under apply, hold and revert: `python bench/torch_job.py TORCHRUN`, on a host with two CPUs or more.

Two ranks train with DistributedDataParallel (gloo); their data loaders are started anew at each epoch, and each binds itself to the
wrong CPU. Prints how fast it trained in each phase, how many loaders were seen in plan, and whether every mask came back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from commands import NUMASCOPE, own_cpus

_TRAINING = """
import os, sys, time
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

def astray(_worker):
    os.sched_setaffinity(0, {int(os.environ["ASTRAY"])})

dist.init_process_group("gloo")
torch.set_num_threads(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
rule = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(2048, 64))
for epoch in range(10_000):
    for (batch,) in DataLoader(data, batch_size=16, num_workers=2, worker_init_fn=astray):
        rule.zero_grad(); model(batch).square().mean().backward(); rule.step(); time.sleep(0.02)
        if dist.get_rank() == 0:
            print("step", epoch, flush=True)
"""


class Training:
    """The job, and the steps that its first rank has said."""

    def __init__(self, torchrun: str, folder: Path, home: int, astray: int) -> None:
        script = folder / "train.py"
        script.write_text(_TRAINING)
        self.log = folder / "steps"
        command = [
            "taskset",
            "-c",
            f"{home},{astray}",
            torchrun,
            "--nproc-per-node=2",
            "--master-port=29511",
            str(script),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.DEVNULL, env={**os.environ, "ASTRAY": str(astray)}
            )

    def steps(self) -> int:
        """How many steps have been trained."""
        return self.log.read_bytes().count(b"\n")

    def speed(self, for_s: float) -> float:
        """Steps a second over some seconds from now on."""
        before, began_s = self.steps(), time.monotonic()
        time.sleep(for_s)
        return (self.steps() - before) / (time.monotonic() - began_s)

    def tree(self) -> list[int]:
        """The pids of the job."""
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
            todo.extend(map(int, listed.stdout.split()))
        return found

    def ranks(self) -> list[int]:
        """The pids of the two ranks, in their order."""
        return [int(pid) for pid in subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()]  # fmt: skip

    def loaders(self) -> list[int]:
        """The pids of the data loaders that live now."""
        known = {self.process.pid, *self.ranks()}
        return [pid for pid in self.tree() if pid not in known]


def masks(pids: list[int]) -> dict[int, str]:
    """Thread → the CPUs that it may use; threads that end meanwhile are left out."""
    found = {}
    for pid in pids:
        try:
            for tid in map(int, os.listdir(f"/proc/{pid}/task")):
                found[tid] = str(sorted(os.sched_getaffinity(tid)))
        except OSError:
            continue
    return found


def same(before: dict[int, str], after: dict[int, str]) -> str:
    """How many of the threads that lived through it have the mask that they had: `8 of 8`."""
    lived = before.keys() & after.keys()
    return f"{sum(before[tid] == after[tid] for tid in lived)} of {len(lived)}"


def until(holds: Callable[[], bool], what: str, within_s: float = 120.0) -> None:
    """Waits for something, or ends the bench."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {within_s:.0f} s")
        time.sleep(0.05)


def numascope(folder: Path, *arguments: str) -> str:
    """One verb, with a journal of its own; its last line."""
    done = subprocess.run(
        [*NUMASCOPE, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMASCOPE_STATE": str(folder)},
    )  # fmt: skip
    return (done.stdout.strip() or done.stderr.strip()).splitlines()[-1]


def watch_loaders(job: Training, home: int, for_s: float) -> tuple[int, int]:
    """How many different loaders were seen, and how many of them in plan."""
    seen: set[int] = set()
    in_plan: set[int] = set()
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        for pid in job.loaders():
            seen.add(pid)
            if set(masks([pid]).values()) == {str([home])}:
                in_plan.add(pid)
        time.sleep(0.1)
    return len(seen), len(in_plan)


def main() -> None:
    """Runs the phases in turn."""
    if len(sys.argv) != 2 or len(own_cpus()) < 2:
        sys.exit(__doc__)
    home, astray = own_cpus()[:2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = folder / "bind.json"
        roles = {"main": str(home), "runtime": str(home), "minddata": str(home)}
        plan.write_text(json.dumps(
            {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": roles, "device1": roles}}
        ))  # fmt: skip
        job = Training(sys.argv[1], folder, home, astray)
        try:
            until(lambda: job.steps() > 200, "the job trains")
            rank = job.ranks()
            before = masks(rank)
            print(f"untouched                 {job.speed(10):6.1f} steps/s")
            targets = [f"{pid}=device{number}" for number, pid in enumerate(rank)]
            print(f"apply:  {numascope(folder, 'apply', str(plan), *targets, '--all', '--yes')}")
            print(f"after apply               {job.speed(10):6.1f} steps/s")
            print(f"revert: {numascope(folder, 'revert', '--yes')}")
            after = masks(rank)
            print(f"after revert              {job.speed(10):6.1f} steps/s; "
                  f"{same(before, after)} masks as before")  # fmt: skip
            holding = subprocess.Popen(
                [*NUMASCOPE, "hold", str(plan), *targets, "--all", "--inferred", "--yes", "--revert-on-exit"],
                stdout=subprocess.PIPE, text=True, env={**os.environ, "NUMASCOPE_STATE": str(folder)},
            )  # fmt: skip
            steps, began_s = job.steps(), time.monotonic()
            seen, in_plan = watch_loaders(job, home, 30)
            print(f"under hold                {(job.steps() - steps) / (time.monotonic() - began_s):6.1f} steps/s; "
                  f"{in_plan} of {seen} loaders seen in plan")  # fmt: skip
            holding.terminate()
            said = holding.communicate()[0].strip().splitlines()
            print(f"hold:   {len(said)} lines; {said[-1]}")
            after = masks(rank)
            print(f"after hold                {job.speed(10):6.1f} steps/s; "
                  f"{same(before, after)} masks as before")  # fmt: skip
        finally:
            job.process.terminate()
            job.process.wait()


if __name__ == "__main__":
    main()
