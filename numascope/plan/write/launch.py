"""A made plan as lines that start its ranks: by numactl, by taskset, by torchrun."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from numascope.host.text import safe_text
from numascope.plan.make.made import Made, Share

PLACEHOLDER: Final = ("COMMAND",)


def numactl_words(share: Share) -> list[str]:
    """`numactl --physcpubind=… --membind=…`: exactly the planned CPUs, of all roles together."""
    memory = [] if share.memory is None else [f"--membind={share.memory}"]
    return ["numactl", f"--physcpubind={share.cpus}", *memory]


def taskset_words(share: Share) -> list[str]:
    """`taskset -c …`; it binds no memory."""
    return ["taskset", "-c", str(share.cpus)]


def launch_lines(made: Made, tool: str, command: Sequence[str]) -> list[str]:
    """One line for each rank, its device in a comment before it."""
    words_of = numactl_words if tool == "numactl" else taskset_words
    lines = []
    for share in made.shares:
        lines += [f"# {safe_text(str(share.seat))}", shlex.join([*words_of(share), *(command or PLACEHOLDER)])]
    return lines


def torchrun_lines(made: Made, command: Sequence[str]) -> list[str]:
    """One line where torchrun makes this very plan by itself, else a script for `torchrun --no-python SCRIPT COMMAND`."""
    ranks = len(made.shares)
    is_in_order = [share.seat.number for share in made.shares] == list(range(ranks))
    if made.torch_mode is not None and is_in_order:
        options = [f"--nproc-per-node={ranks}", f"--numa-binding={made.torch_mode}"]
        return [shlex.join(["torchrun", *options, *(command or PLACEHOLDER)])]
    shown = safe_text(shlex.join(command or PLACEHOLDER))  # on one line: what follows a line break is no comment
    lines = [
        "#!/bin/sh",
        f"# torchrun --nproc-per-node={ranks} --no-python ./THIS-FILE {shown}",
        'case "$LOCAL_RANK" in',
    ]
    lines += [
        f'{at}) exec {shlex.join(numactl_words(share))} "$@" ;;  # {safe_text(str(share.seat))}'
        for at, share in enumerate(made.shares)
    ]
    unplanned = f'echo "no CPUs are planned for LOCAL_RANK=$LOCAL_RANK: this plan has {ranks}" >&2'
    return [*lines, f"*) {unplanned}; exit 1 ;;", "esac"]
