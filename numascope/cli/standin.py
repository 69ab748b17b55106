"""The stand-in job of `numascope demo`: real processes and threads, named, bound and busy as those of a small MindSpore job are.

It is started by path with a bare interpreter and imports nothing of numascope: what the dashboard watches must not be
numascope itself. Names and binding follow `msrun` of MindSpore 2.10 with `--bind_numa=FILE`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

RANKS: Final = 2
ESCAPED_RANK: Final = 1
ESCAPED_DEVICE: Final = f"device{ESCAPED_RANK}"
DIRECTORY_PREFIX: Final = "numascope-demo-"
PLAN_NAME: Final = "bind.json"
LOG_NAME: Final = "standin.log"

_PERIOD_S: Final = 0.25
_BLOCK: Final = bytes(1 << 16)
_ESCAPED_DUTY: Final = 0.45

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15
_PR_GET_NAME: Final = 16
_prctl = ctypes.CDLL(None, use_errno=True).prctl

_BOUND_BY_RUNTIME: Final = (
    (28, ("ActorThread_0", "ActorThread_1", "infer_queue", "resize_queue", "launch_queue")),
    (23, ("ActorThread_0", "infer_queue", "resize_queue", "launch_queue")),
    (17, ("ActorThread_0", "ActorThread_1", "launch_queue")),
    (12, ("ActorThread_0", "launch_queue")),
    (0, ("ActorThread_0",)),
)
"""From so many online CPUs on, the runtime binds these threads: floor(0.18 × CPUs, 30 at most) of them."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Roles = dict[str, set[int]]


class Thread(NamedTuple):
    """One thread to start: its comm (empty: keeps that of the process, as the data engine does), CPUs, and share of a CPU that it uses."""

    comm: str
    cpus: set[int]
    duty: float


def main() -> None:
    """Runs as the launcher, or as what the launcher starts: `standin.py numascope-demo launcher|scheduler|rank …`."""
    parser = argparse.ArgumentParser(prog="numascope-demo", allow_abbrev=False)
    parser.add_argument("name", choices=["numascope-demo"])
    parser.add_argument("part", choices=["launcher", "scheduler", "rank"])
    for looks in ("--worker_num", "--local_worker_num", "--join"):
        parser.add_argument(looks, help="as msrun has it; nothing is read from it")
    parser.add_argument("--bind_numa", type=Path, required=True)
    parser.add_argument("--for", dest="for_s", type=float, default=3600.0)
    parser.add_argument("--tied", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    for number in _SIGNALS:
        signal.signal(number, _end)
    until = time.monotonic() + options.for_s
    if options.part == "launcher":
        launch(options.bind_numa, options.for_s, tied=options.tied)
        return
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    allowed = os.sched_getaffinity(0)
    plan = read_plan(options.bind_numa)
    if options.part == "scheduler":
        _run_scheduler(plan.get("scheduler", {}), until)
    else:
        _run_rank(int(os.environ["RANK_ID"]), plan, allowed, until)


def launch(plan: Path, for_s: float, *, tied: bool) -> None:
    """Starts scheduler and ranks as `msrun` does; ends them, and itself, on a signal, after `for_s`, or with whoever started it."""
    _name_this_thread(b"msrun")
    parent = os.getppid()
    lifeline, held = os.pipe()  # `held` closes when this process ends, however it ends
    children: list[subprocess.Popen[bytes]] = []
    try:
        for part, rank in (("scheduler", 0), *(("rank", rank) for rank in range(RANKS))):
            command = [sys.executable, "-I", "-S", __file__, "numascope-demo", part]
            command += [f"--bind_numa={plan}", f"--for={for_s}"]
            environment = _environment(plan, part, rank)
            children.append(
                subprocess.Popen(command, env=environment, stdin=lifeline, start_new_session=part == "rank")  # noqa: S603 - our own interpreter and file
            )
        _say_ready()
        until = time.monotonic() + for_s
        while time.monotonic() < until and os.getppid() == parent and all(one.poll() is None for one in children):
            if select.select([0] if tied else [], [], [], 0.5)[0]:
                break
    finally:
        os.close(held)
        _end_all(children)
        remove(plan)


def _environment(plan: Path, part: str, rank: int) -> dict[str, str]:
    """What `msrun` gives to a child; the scheduler has RANK_ID 0 as well, and no device."""
    text = plan.read_text(encoding="utf-8")
    given = {
        **os.environ,
        "MS_ROLE": "MS_WORKER" if part == "rank" else "MS_SCHED",
        "RANK_ID": str(rank),
        "RANK_SIZE": str(RANKS),
        "MS_WORKER_NUM": str(RANKS),
        "MS_SCHED_HOST": "127.0.0.1",
        "MS_SCHED_PORT": "8118",
        "MSRUN_BIND_FILE": str(plan),
        "MSRUN_BIND_FILE_HASH": hashlib.sha256(text.encode()).hexdigest(),
        "OMP_NUM_THREADS": "1",
    }
    if part == "rank":
        given |= {"DEVICE_ID": str(rank), "MS_NODE_ID": str(rank)}
    return given


def _end_all(children: list[subprocess.Popen[bytes]]) -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    for one in children:
        one.terminate()
    for one in children:
        try:
            one.wait(timeout=2)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()


def remove(plan: Path) -> None:
    """Removes the private directory that was made for this job, by the names that are in it; a directory of another name is somebody's own."""
    if plan.parent.name.startswith(DIRECTORY_PREFIX):
        for name in (PLAN_NAME, LOG_NAME):
            plan.with_name(name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            plan.parent.rmdir()


def read_plan(path: Path) -> dict[str, Roles]:
    """The CPUs of each subject and role in a MindSpore bind file; range lists such as `0-3,8` only."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return {
        subject: {role: set(_ids(text)) for role, text in roles.items()}
        for subject, roles in document["bind_cpu"].items()
    }


def _ids(text: str) -> Iterator[int]:
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _run_scheduler(roles: Roles, until: float) -> None:
    main_cpus = roles.get("main", set())
    bind(main_cpus)
    _start_threads([Thread("RECV_EVENT_LOOP", main_cpus, 0.0005), Thread("SEND_EVENT_LOOP", main_cpus, 0.0005)], until)
    _say_ready()
    _work(until, 0.001)


def _run_rank(rank: int, plan: dict[str, Roles], allowed: set[int], until: float) -> None:
    """One rank: the launcher's prefix binds main, the rest binds itself, dataset workers are forked before any thread is there."""
    bind((roles := plan[f"device{rank}"])["main"])
    children = [_fork(lambda: _load(roles["minddata"], until)), _fork(lambda: _clean(until))]
    outside = cpu_outside(plan, ESCAPED_DEVICE, allowed) if rank == ESCAPED_RANK else None
    try:
        _start_threads(threads_of_rank(roles, os.cpu_count() or 1, outside), until)
        _say_ready()
        _work(until, 0.015)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def threads_of_rank(roles: Roles, online: int, outside: int | None) -> list[Thread]:
    """The threads of a rank; the first actor runs on `outside` where that is given.

    How many threads the runtime binds depends on the number of online CPUs, and each gets one CPU of the list in turn.
    """
    main_cpus, minddata = roles["main"], roles["minddata"]
    runtime = sorted(roles["runtime"])
    bound = next(names for least, names in _BOUND_BY_RUNTIME if online >= least)
    actors = [name for name in bound if name.startswith("ActorThread_")]
    threads: list[Thread] = []
    for name in (*actors, "infer_queue", "resize_queue", "launch_queue"):
        cpus = {runtime[bound.index(name) % len(runtime)]} if name in bound else main_cpus
        threads.append(Thread(name, cpus, 0.015 if name in actors else 0.003))
    if outside is not None:
        threads[0] = Thread("ActorThread_0", {outside}, _ESCAPED_DUTY)
    unbound = ("frontend_queue", "KernelThread_0", "KernelThread_1", *(2 * ("RECV_EVENT_LOOP", "SEND_EVENT_LOOP")))
    threads += [Thread(name, main_cpus, 0.001) for name in unbound]
    return [*threads, *(Thread("", minddata, 0.002) for _ in range(6))]


def cpu_outside(plan: dict[str, Roles], subject: str, allowed: set[int]) -> int | None:
    """A CPU that the runtime of this subject does not have, best one that only another device has; None where there is none."""
    planned = {one: set[int]().union(*roles.values()) for one, roles in plan.items() if one.startswith("device")}
    outside = allowed - plan[subject]["runtime"]
    alien = outside - planned[subject]
    of_others = alien & set().union(*planned.values())
    return max(of_others or alien or outside, default=None)


def _load(cpus: set[int], until: float) -> None:
    """A dataset worker: its main thread, a queue feeder and a watch thread, all on the minddata CPUs."""
    bind(cpus)
    _start_threads([Thread("", cpus, 0.001), Thread("", cpus, 0.001)], until)
    _say_ready()
    _work(until, 0.01)


def _clean(until: float) -> None:
    """The process that every dataset with worker processes has beside them: it sleeps, on the CPUs of main."""
    _say_ready()
    _work(until, 0.0005)


def bind(cpus: set[int]) -> None:
    """Binds the calling thread; an empty set is no wish."""
    if cpus:
        os.sched_setaffinity(0, cpus)


def _start_threads(threads: list[Thread], until: float) -> None:
    """Starts them and returns when each of them has its name and its CPUs."""
    ready = threading.Barrier(len(threads) + 1)
    process_comm = ctypes.create_string_buffer(16)
    _prctl(_PR_GET_NAME, process_comm, 0, 0, 0)

    def run(one: Thread) -> None:
        _name_this_thread(one.comm.encode() or process_comm.value)
        bind(one.cpus)
        ready.wait()
        _work(until, one.duty)

    for one in threads:
        threading.Thread(target=run, args=(one,), daemon=True).start()
    ready.wait()


def _work(until: float, duty: float) -> None:
    """Uses `duty` of a CPU, by the thread's own CPU clock, until then or until the launcher is gone."""
    time.sleep(threading.get_native_id() % 25 / 100)  # or all would wake at once, and wait for each other
    due_s = time.thread_time()
    while time.monotonic() < until and not select.select([0], [], [], 0)[0]:
        due_s += duty * _PERIOD_S
        started = time.monotonic()
        while time.thread_time() < due_s:
            hashlib.sha256(_BLOCK).digest()  # releases the GIL: the threads do run side by side
        time.sleep(max(0.01, _PERIOD_S - (time.monotonic() - started)))


def _fork(run: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        run()
    finally:
        os._exit(0)


def _say_ready() -> None:
    """Gives standard output up: whoever started the job reads it to its end, which comes when all parts are ready."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _name_this_thread(comm: bytes) -> None:
    _prctl(_PR_SET_NAME, comm, 0, 0, 0)


def _end(_number: int, _frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
