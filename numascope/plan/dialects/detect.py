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

_FIRST_COMMAND = re.compile(rb"(?:\s|#[^\n]*\n)*(?:\S*/)?(msrun|torchrun)(?:\s|\\\n)")
_TORCH = re.compile(rb"torch:[^\s]{0,40}\s*")
_SIGNS: Final[tuple[tuple[str, re.Pattern[bytes]], ...]] = (
    ("rankfile", re.compile(rb"^[ \t]*rank[ \t]+[^\s=]{1,40}[ \t]*=", re.MULTILINE)),
    (
        "slurm",
        re.compile(rb"(?:--cpu[-_]bind[= ]|SLURM_CPU_BIND=)['\"]?(?:[a-z]{1,9},){0,4}(?:map|mask)_?(?:cpu|ldom)[:=]"),
    ),
    ("torch_npu", re.compile(rb"(?<![A-Za-z0-9_])" + torch_npu.NAME.encode() + b"=")),
    ("vllm", re.compile(rb"(?<![A-Za-z0-9_])" + vllm.NAME.encode() + b"=")),
    ("mindformers", re.compile(rb"^[ ]{0,40}" + mindformers.KEY.encode() + rb"[ ]*:", re.MULTILINE)),
    ("numactl", re.compile(rb"^[^#\n]{0,400}?(?:^|[\s/)])(?:numactl|taskset)[ \t]", re.MULTILINE)),
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
    if first is not None:
        return "msrun" if first[1] == b"msrun" else "torch"
    return next((dialect for dialect, sign in _SIGNS if sign.search(head) is not None), None)
