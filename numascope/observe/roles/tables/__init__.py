"""Which names mean what, one table a framework or library, and which tables hold for the processes of a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numascope.observe.roles.names import Name, NameTable
from numascope.observe.roles.tables import cann, cuda, mindspore, python, serving, torch, xla

TABLES: Final[Mapping[str, tuple[Name, ...]]] = {
    "mindspore": mindspore.NAMES,
    "torch": torch.NAMES,
    "cuda": cuda.NAMES,
    "cann": cann.NAMES,
    "xla": xla.NAMES,
    "serving": serving.NAMES,
    "python": python.NAMES,
}
"""Library → what it calls its threads."""

_ANY: Final = ("torch", "serving", "cuda", "cann", "xla", "python")
_USED: Final[Mapping[str, tuple[str, ...]]] = {"mindspore": ("mindspore", "cuda", "cann", "python")}

FRAMEWORKS: Final = ("mindspore", "torch", "deepspeed", "vllm", "sglang", "jax", "mpi", "slurm", "process")
"""What a job can be of; a `process` is of none that is known."""

NAMES_OF: Final[Mapping[str, NameTable]] = {
    framework: NameTable(name for table in _USED.get(framework, _ANY) for name in TABLES[table])
    for framework in FRAMEWORKS
}
"""Framework → the names that its processes may have; all but MindSpore's are used together by some."""

TITLES: Final = NameTable(serving.TITLES)
"""Names of whole processes."""

SIGNATURES: Final = NameTable(
    Name(start, framework, "")
    for framework, starts in (
        ("mindspore", mindspore.SIGNATURE), ("torch", torch.SIGNATURE), ("jax", xla.SIGNATURE)
    )
    for start in starts
)  # fmt: skip
"""Names that only one framework gives → that framework, in place of a role."""
