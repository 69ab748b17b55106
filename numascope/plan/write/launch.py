"""A plan as lines that start its ranks: by numactl, by taskset, by torchrun, by msrun."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from numascope.host.text import safe_text
from numascope.machine.objects import Machine
from numascope.plan.make.made import Made
from numascope.plan.objects import MemoryPolicy
from numascope.plan.write.losses import Losses
from numascope.plan.write.outline import Outline, Part, Setting, outline_of_made
from numascope.plan.write.reduce import first_preferred

PLACEHOLDER: Final = ("COMMAND",)

_PYTHON = re.compile(r"python[0-9.]*")

_OPTIONS: Final[Mapping[MemoryPolicy, str]] = {
    "bind": "membind", "preferred": "preferred", "preferred-many": "preferred-many", "interleave": "interleave",
    "weighted-interleave": "weighted-interleave",
}  # fmt: skip


def numactl_words(part: Part) -> list[str]:
    """`numactl --physcpubind=… --membind=…`: exactly the planned CPUs, of all roles together, or those of the planned nodes."""
    words = ["numactl"]
    if part.nodes is not None:
        words.append(f"--cpunodebind={part.nodes}")
    elif part.cpus:
        words.append(f"--physcpubind={part.cpus}")
    if part.memory is not None:
        words.append("--localalloc" if part.policy == "local" else f"--{_OPTIONS[part.policy]}={part.memory}")
    return words


def taskset_words(part: Part) -> list[str]:
    """`taskset -c …`; it binds no memory."""
    return ["taskset", "-c", str(part.cpus)]


def launch_lines(made: Made, tool: str, command: Sequence[str]) -> list[str]:
    """One line for each rank, its device in a comment before it."""
    return list(_lines(_devices(outline_of_made(made)), tool, command))


def prefix_text(outline: Outline, tool: str, setting: Setting) -> str:
    """The lines of numactl or taskset."""
    return "\n".join([*_lines(outline.parts, tool, setting.command), ""])


def _devices(outline: Outline) -> list[Part]:
    return [part for part in outline.parts if part.subject.device is not None]


def _lines(parts: Sequence[Part], tool: str, command: Sequence[str]) -> Iterator[str]:
    words_of = numactl_words if tool == "numactl" else taskset_words
    for part in parts:
        yield f"# {safe_text(part.label)}"
        yield shlex.join([*words_of(part), *(command or PLACEHOLDER)])


def torchrun_lines(made: Made, command: Sequence[str]) -> list[str]:
    """One line where torchrun makes this very plan by itself, else a script for `torchrun --no-python SCRIPT COMMAND`."""
    parts = _devices(outline_of_made(made))
    if made.torch_mode is not None and [part.subject.device for part in parts] == list(range(len(parts))):
        options = [f"--nproc-per-node={len(parts)}", f"--numa-binding={made.torch_mode}"]
        return [shlex.join(["torchrun", *options, *_as_script(command)])]
    return _script(parts, command)


def _as_script(command: Sequence[str]) -> Sequence[str]:
    """The command as torchrun takes it: it starts Python itself, and another program with `--no-python`."""
    if not command or command[0].startswith("-") or command[0].endswith(".py"):
        return command or PLACEHOLDER
    if _PYTHON.fullmatch(command[0].rpartition("/")[2]) is None:
        return ["--no-python", *command]
    rest = list(command[1:])
    while rest and rest[0] == "-u":  # which torchrun gives to each rank anyway
        del rest[0]
    plain = bool(rest) and (not rest[0].startswith("-") or rest[0] == "-m")
    return rest if plain else ["--no-python", *command]


def torchrun_text(outline: Outline, setting: Setting) -> str:
    """The script for `torchrun --no-python SCRIPT COMMAND`; where the devices are not the first ones its comment says which they are."""
    return "\n".join([*_script(outline.parts, setting.command), ""])


def _script(parts: Sequence[Part], command: Sequence[str]) -> list[str]:
    shown = safe_text(shlex.join(command or PLACEHOLDER))  # on one line: what follows a line break is no comment
    devices = " ".join([*_visible("CUDA_VISIBLE_DEVICES", parts), ""])
    lines = [
        "#!/bin/sh",
        f"# {devices}torchrun --nproc-per-node={len(parts)} --no-python ./THIS-FILE {shown}",
        'case "$LOCAL_RANK" in',
    ]
    lines += [
        f'{at}) exec {shlex.join(numactl_words(part))} "$@" ;;  # {safe_text(part.label)}'
        for at, part in enumerate(parts)
    ]
    unplanned = f'echo "no CPUs are planned for LOCAL_RANK=$LOCAL_RANK: this plan has {len(parts)}" >&2'
    return [*lines, f"*) {unplanned}; exit 1 ;;", "esac"]


def msrun_text(outline: Outline, setting: Setting) -> str:
    """`msrun --bind_core={…} --bind_numa={…}`: what both options name is bound to both, what one names to that.

    Where the devices are not the first ones, ASCEND_RT_VISIBLE_DEVICES before it says which they are.
    """
    core = {_key(part): str(part.cpus).split(",") if part.cpus and part.nodes is None else [] for part in outline.parts}
    numa = {_key(part): [] if part.memory is None else str(part.memory).split(",") for part in outline.parts}
    devices = _devices(outline)
    for section in (core, numa):
        if not section.get("scheduler", True):
            del section["scheduler"]  # only workers are matched by position
    words = [
        *_visible("ASCEND_RT_VISIBLE_DEVICES", devices),
        "msrun",
        *([f"--{name}={len(devices)}" for name in ("worker_num", "local_worker_num")] if devices else []),
    ]
    words += [f"--bind_core={json.dumps(core)}"] if any(core.values()) else []
    words += [f"--bind_numa={json.dumps(numa)}"] if any(numa.values()) else []
    return shlex.join([*words, *(setting.command or PLACEHOLDER)]) + "\n"


def _visible(variable: str, parts: Sequence[Part]) -> list[str]:
    """The variable before a launcher's line that makes these devices those of its ranks, where they are not the first ones."""
    numbers = [part.subject.device for part in parts]
    return [] if numbers == list(range(len(numbers))) else [f"{variable}={','.join(map(str, numbers))}"]


def _key(part: Part) -> str:
    return str(part.subject)


def settle_numactl(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """`--preferred` takes one node (numactl(8))."""
    del machine
    return first_preferred(outline, "numactl", losses)


def numactl_doubts(outline: Outline) -> Sequence[str]:
    """Options that a common release of numactl does not know."""
    if any(part.policy == "weighted-interleave" for part in outline.parts):
        return ("numactl 2.0.16 (Debian 12) refuses --weighted-interleave: it takes a newer one, and Linux 6.9",)
    return ()


def settle_msrun(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """CPUs go by nodes with msrun only where the memory is bound to the same ones, and memory never without CPUs."""
    del machine
    parts = []
    for part in outline.parts:
        settled = part
        if part.nodes is not None and (part.memory != part.nodes or part.policy != "bind"):
            one = part.roles[0]
            losses.nodes(part.subject, one)
            settled = part._replace(roles=(one._replace(nodes=None),))
        if not part.cpus and part.memory is not None:
            losses.memory(part.subject, part.memory, "msrun would bind its CPUs with it")
            settled = part._replace(memory=None, policy="bind")
        parts.append(settled)
    return outline._replace(parts=tuple(parts))
