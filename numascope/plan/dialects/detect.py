"""Which dialect a file is written in, by its content."""

from __future__ import annotations

import re
from typing import Final

from numascope.plan.dialects import mindformers, torch_npu, vllm
from numascope.plan.dialects.words import LARGEST_TEXT_BYTES

DIALECTS: Final = (
    "mindspore", "numascope", "msrun", "torch", "torch_npu", "mindformers", "vllm", "rankfile", "slurm", "numactl", "taskset",
)  # fmt: skip
"""Every dialect that is read."""

_ASSIGNED = rb"(?:(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_]{0,60}=[^\s'\"]{0,200}(?:\s|#[^\n]*\n)+){0,20}+"
_FIRST_COMMAND = re.compile(rb"(?:\s|#[^\n]*\n)*(?:" + _ASSIGNED + rb"(?:\S*/)?(msrun)|(?:\S*/)?(torchrun))(?:\s|\\\n)")
_TORCHRUN = re.compile(
    rb"(?:\s|#[^\n]*\n)*"
    + _ASSIGNED
    + rb"(?:\S*/)?(?:torchrun|python[0-9.]{0,8}(?:[ \t]+-[A-Za-z]{1,4}){0,4}[ \t]+torch\.distributed\.(?:run|launch))\s"
)
_STARTS_TORCH = re.compile(rb"(?:^|[\s/(])(?:torchrun|torch\.distributed\.(?:run|launch))[ \t]")
_BINDS = re.compile(rb"[ \t]--numa[-_]b")
_STARTS_MSRUN = re.compile(rb"(?:^|[\s/('\"])(?:msrun|mindspore\.parallel\.cluster\.run)[ \t]")
_MSRUN_BINDS = re.compile(rb"[ \t]--bind_[cn]")
_TORCH = re.compile(rb"torch:[^\s]{0,40}\s*")
_SIGNS: Final[tuple[tuple[str, re.Pattern[bytes]], ...]] = (
    ("rankfile", re.compile(rb"^[ \t]*rank[ \t]+[^\s=]{1,40}[ \t]*=", re.MULTILINE)),
    (
        "slurm",
        re.compile(
            rb"(?:--cpu[-_]bind[= ]|SLURM_CPU_BIND=)['\"]?(?:[a-z_]{1,10},){0,4}(?:map|mask)_?(?:cpu|ldom)[:=]",
            re.IGNORECASE,
        ),
    ),
    ("torch_npu", re.compile(rb"(?<![A-Za-z0-9_])" + torch_npu.NAME.encode() + b"=")),
    ("vllm", re.compile(rb"(?<![A-Za-z0-9_])" + vllm.NAME.encode() + b"=")),
    (
        "mindformers",
        re.compile(rb"(?:^|[{,])[ ]{0,40}['\"]?" + mindformers.KEY.encode() + rb"['\"]?[ ]*:", re.MULTILINE),
    ),
    ("numactl", re.compile(rb"^[^#\n]{0,400}?(?:^|[\s/)('\"])(?:numactl|taskset)[ \t]", re.MULTILINE)),
    ("slurm", re.compile(rb"--cpu[-_]bind[= ]|(?<![A-Za-z0-9_])SLURM_CPU_BIND=")),
)


def dialect_of(data: bytes) -> str | None:
    """The dialect that the first 256 KiB show; None where nothing does, as in any JSON but MindFormers'."""
    head = data[:LARGEST_TEXT_BYTES].removeprefix(b"\xef\xbb\xbf")
    start = head.lstrip()[:1]
    if start == b"{":
        is_theirs = b'"affinity_cpu_list"' in head and b'"bind_config"' not in head
        return "mindformers" if is_theirs else None
    if _TORCH.fullmatch(head):
        return "torch"
    first = _FIRST_COMMAND.match(head)
    if (first is not None and first[1] == b"msrun") or _starts(head, _STARTS_MSRUN, _MSRUN_BINDS):
        return "msrun"
    if _starts(head, _STARTS_TORCH, _BINDS):
        return "torch"
    told = next((dialect for dialect, sign in _SIGNS if sign.search(head) is not None), None)
    is_torchrun = first is not None or _TORCHRUN.match(head) is not None
    return "torch" if is_torchrun and told != "numactl" else told  # a torchrun may start numactl for each rank


def _starts(head: bytes, launcher: re.Pattern[bytes], binds: re.Pattern[bytes]) -> bool:
    """Whether a launcher with its binding option stands behind something else: a prefix, a wrapper, other commands."""
    if binds.search(head) is None:
        return False
    for line in head.replace(b"\\\n", b"  ").split(b"\n"):
        start = None if line.lstrip().startswith(b"#") else launcher.search(line)
        if start is not None and binds.search(line, start.end() - 1) is not None:
            return True
    return False
