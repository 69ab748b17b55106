"""Living processes by what the user types of one, and why one of that number is not seen."""

from __future__ import annotations

from collections.abc import Sequence

from numascope.cli.targets import Target, parse_targets, resolved
from numascope.errors import NotPermittedError, TargetGoneError, UsageError
from numascope.host import procfs
from numascope.host.root import HostRoot
from numascope.observe.facts import scan_facts
from numascope.observe.jobs import Facts, find_jobs
from numascope.observe.select import Wanted


def one_living(root: HostRoot, text: str | None, match: str | None) -> tuple[Facts, int]:
    """All processes, and the pid of the one that a PID, a name or `--match` means; UsageError, TargetGoneError, NotPermittedError."""
    targets = parse_targets(() if text is None else (text,), match)
    if len(targets) != 1:
        raise UsageError("say which process: PID, NAME or --match REGEX, one of them; numascope jobs lists what runs")
    facts, wanted = living(root, targets)
    (one,) = wanted
    if one.device is not None or one.scheduler:
        raise UsageError(f"{text}: a device is given where a plan is read; give {one.pid}")
    return facts, one.pid


def living(root: HostRoot, targets: Sequence[Target]) -> tuple[Facts, tuple[Wanted, ...]]:
    """All processes, and those that are meant, which all live; UsageError, TargetGoneError, NotPermittedError."""
    facts = scan_facts(root)
    wanted = resolved(targets, facts, find_jobs(facts))
    missing = [one.pid for one in wanted if one.pid not in facts]
    if missing:
        raise why_missing(root, missing[0])
    return facts, wanted


def why_missing(root: HostRoot, pid: int) -> TargetGoneError | NotPermittedError:
    """Why no process of this number is seen: hidden, gone, a thread of another, or a number of a container."""
    inner = _of_container(root, pid)
    if procfs.is_hidden(root, pid):
        return NotPermittedError(
            f"{pid} is hidden from this user (/proc is mounted with hidepid): run as its owner or as root{inner}"
        )
    if not procfs.lives(pid):
        return TargetGoneError(f"no process {pid} here{inner or ': numascope jobs lists what runs'}")
    leader = procfs.status_of(root, pid).get("Tgid", "")
    if leader and leader != str(pid):
        return TargetGoneError(f"{pid} is a thread of process {leader}: give {leader}{inner}")
    return TargetGoneError(f"{pid} is a kernel thread or has just ended: give the pid of a process{inner}")


def _of_container(root: HostRoot, inner: int) -> str:
    """Which process carries this number in a pid namespace of its own (`NSpid` of proc_pid_status(5)), as advice."""
    for pid in procfs.pids(root):
        numbers = procfs.status_of(root, pid).get("NSpid", "").split()
        stat = procfs.stat_of(root, pid) if str(inner) in numbers[1:] else None
        if stat is not None:
            return f"; {inner} of a container is {pid} ({stat.comm}) here: give {pid}"
    return ""
