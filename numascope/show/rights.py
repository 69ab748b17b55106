"""The text and the document of `rights`: what can be read of a process and changed for it, and what would open the rest."""

from __future__ import annotations

import textwrap
from typing import Final

import numascope
from numascope.host.rights import CAP_SYS_NICE, CAP_SYS_PTRACE, Access, Own, Target
from numascope.show.ink import Line, Span, Token

_SIGNS: Final[dict[bool | None, tuple[str, str, Token]]] = {
    True: ("✓", "yes", "near"),
    False: ("✗", "no", "warn"),
    None: ("?", "?", "dim"),
}

_READ_FOR: Final = {
    "stat": "state, CPU, age of each thread",
    "status": "owner, namespaces, the mask with its offline CPUs",
    "schedstat": "CPU time and run-queue wait in ns",
    "sched": "migrations: proof that a thread stayed",
    "cmdline": "what it is",
    "cgroup": "its cpuset and CPU quota",
    "environ": "rank, device, and the plan that the job was started with",
    "maps": "libraries: which framework, which OpenMP",
    "numa_maps": "memory policy",
    "exe": "its program",
    "root": "its files, a container's included: the plan",
    "fd": "the devices that it has open",
    "affinity": "the CPUs that each thread may use",
    "pages": "on which node its pages lie",
}
_CHANGE_FOR: Final = {"affinity": "the CPUs of its threads: apply, revert, hold", "pages": "moving its pages"}


def rights_lines(own: Own, target: Target, width: int, *, general: bool = False) -> list[Line]:
    """What was found, as text; `general` where the target only stands for this user's processes."""
    lines: list[Line] = [(Span(f"uid {own.uid} on processes of its own" if general else _title(own, target)),)]
    for row in _surroundings(own, target):
        lines += _wrapped(row, width)
    lines += [(), (Span("read", bold=True),)]
    for one in target.reads:
        lines += _row(one, _READ_FOR[one.what], width)
    lines += [(), (Span("change", bold=True),)]
    for one in target.changes:
        lines += _row(one, _CHANGE_FOR[one.what], width)
    opened = remedies(own, target)
    if opened:
        lines += [(), (Span("what would open the rest", bold=True),)]
    for text in opened:
        lines += _wrapped(text, width, "- ")
    return lines


def _title(own: Own, target: Target) -> str:
    if target.hidden:
        return f"uid {own.uid} on process {target.pid} (hidden)"
    owner = "its user is unknown" if target.uid is None else f"uid {target.uid}"
    return f"uid {own.uid} on {target.comm} {target.pid} ({owner})"


def _row(one: Access, purpose: str, width: int) -> list[Line]:
    sign, word, token = _SIGNS[one.can]
    text = f"{purpose} ({one.reason})" if one.reason else purpose
    pieces = textwrap.wrap(text, max(20, width - 18), break_on_hyphens=False) or [""]
    head: Line = (Span(f"{sign} {word:<3}", token), Span(f" {one.what:<10} {pieces[0]}"))
    return [head, *((Span(" " * 17 + piece),) for piece in pieces[1:])]


def _wrapped(text: str, width: int, mark: str = "") -> list[Line]:
    indent = " " * len(mark)
    pieces = textwrap.wrap(
        text, width, initial_indent=mark, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return [(Span(piece, "text" if mark else "dim"),) for piece in pieces]


def _surroundings(own: Own, target: Target) -> list[str]:
    """What decides, in words."""
    held = [_held(own, CAP_SYS_NICE, "CAP_SYS_NICE"), _held(own, CAP_SYS_PTRACE, "CAP_SYS_PTRACE")]
    rows = [", ".join(held)]
    if target.dumpable is False:
        rows.append("the process is not dumpable: the kernel keeps its memory and environment from its own user")
    if len(target.pids) > 1:
        rows.append(f"it runs in a pid namespace of its own, where it is {target.pids[-1]}; threads are named as here")
    return rows + notes(own)


def _held(own: Own, capability: int, name: str) -> str:
    answer = {True: "in effect", False: "not in effect", None: "unknown"}
    return f"{name} {answer[own.has(capability)]}"


def notes(own: Own) -> list[str]:
    """What of our own surroundings limits us."""
    found = []
    if own.container is not None:
        found.append(f"we seem to be in a container: {own.container}")
    if own.in_initial_pid_namespace is False:
        found.append("we are in a pid namespace of our own: processes outside it are not seen")
    if own.in_initial_user_namespace is False:
        found.append("we are in a user namespace of our own: capabilities hold inside it only")
    if own.seccomp:
        found.append(f"a seccomp filter is in effect (mode {own.seccomp}): it may refuse calls whatever the rights")
    if own.hidepid is not None:
        found.append(f"/proc is mounted with hidepid={own.hidepid}: other users' processes may be hidden")
    return found


def remedies(own: Own, target: Target) -> list[str]:
    """What would open what is closed; empty where nothing is."""
    found = []
    closed = [one.what for one in target.reads if one.can is False]
    owner = "its owner" if target.uid is None else f"uid {target.uid}"
    setting = next(one for one in target.changes if one.what == "affinity")
    if target.hidden:
        found.append(
            f"hidden by the option hidepid of /proc: run as {owner}, as root, or in the group of its option gid"
        )
    elif closed:
        found.append(f"{', '.join(closed)}: {_reading(own, target, owner)}")
    if setting.can is not True:
        found.append(f"setting CPUs: run as {owner}, or with CAP_SYS_NICE (as root)")
    capable = own.has(CAP_SYS_PTRACE) and own.has(CAP_SYS_NICE)
    if found and own.container is not None and not capable:
        found.append("in a container: start it with --cap-add SYS_PTRACE --cap-add SYS_NICE, or run numascope outside")
    absent = [one.what for one in target.reads if one.can is None]
    if absent:
        found.append(f"{', '.join(absent)}: no right opens these, this kernel does not give them")
    return found


def _reading(own: Own, target: Target, owner: str) -> str:
    if own.has(CAP_SYS_PTRACE):
        return (
            "refused although CAP_SYS_PTRACE is in effect: the process is of an outer user namespace, or a security "
            "module or seccomp refuses; run numascope outside"
        )
    if target.dumpable is False:
        return "the process is not dumpable; CAP_SYS_PTRACE (as root) reads it all the same"
    if target.uid != own.uid:
        return f"run as {owner}, or with CAP_SYS_PTRACE (as root)"
    return (
        "its user is ours, but its groups or capabilities are more than ours, or a security module or seccomp refuses: "
        "CAP_SYS_PTRACE (as root) opens them"
    )


def rights_document(own: Own, target: Target, *, general: bool = False) -> dict[str, object]:
    """The document `numascope.rights/1`; `target` is null where this user's own processes are meant."""
    return {
        "schema": "numascope.rights/1",
        "numascope": numascope.__version__,
        "source": {"machine": "live"},
        "partial": not all(one.can for one in target.reads),
        "notes": notes(own),
        "user": {
            "uid": own.uid,
            "cap_sys_nice": own.has(CAP_SYS_NICE),
            "cap_sys_ptrace": own.has(CAP_SYS_PTRACE),
            "initial_user_namespace": own.in_initial_user_namespace,
            "initial_pid_namespace": own.in_initial_pid_namespace,
            "seccomp": own.seccomp,
            "container": own.container,
            "hidepid": own.hidepid,
        },
        "target": None if general else _target(target),
        "reads": [_access(one, _READ_FOR) for one in target.reads],
        "changes": [_access(one, _CHANGE_FOR) for one in target.changes],
        "remedies": remedies(own, target),
    }


def _target(target: Target) -> dict[str, object]:
    return {
        "pid": target.pid,
        "comm": target.comm,
        "uid": target.uid,
        "dumpable": target.dumpable,
        "hidden": target.hidden,
        "namespace_pids": list(target.pids),
    }


def _access(one: Access, purposes: dict[str, str]) -> dict[str, object]:
    return {"what": one.what, "can": one.can, "for": purposes[one.what], "reason": one.reason or None}
