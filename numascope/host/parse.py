"""One pure function a kernel file format: bytes to value, None where the bytes are not of that format."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from numascope.cpuset import LARGEST_ID, BadIdListError, CpuSet
from numascope.host.text import safe_text

_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}")
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_SIZE = re.compile(r"([0-9]{1,15})\s*([KMG]?)i?B?")
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_MEMINFO = re.compile(r"(?:Node\s+[0-9]+\s+)?(MemTotal|MemFree):\s*([0-9]{1,18})(?: kB)?")

MOST_MEMORY_KIB: Final = 1 << 47
"""128 PiB: physical addresses have at most 57 bits on any processor that Linux runs on."""

_KIB: Final = {"K": 1, "M": 1 << 10, "G": 1 << 20}

_MOST_KEPT: Final = 1 << 10
"""Values of one-value files that are kept: thousands of CPUs share a few ids and masks."""

_MODEL_KEYS: Final = ("model name", "Model Name", "cpu model", "cpu", "uarch")
"""Where an architecture's /proc/cpuinfo names its processor: x86 and ia64, loongarch, mips, power and sparc, riscv."""

_ARM_PARTS: Final = {
    (0x41, 0xD03): "Cortex-A53",
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD40): "Neoverse-V1",
    (0x41, 0xD46): "Cortex-A510",
    (0x41, 0xD47): "Cortex-A710",
    (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4D): "Cortex-A715",
    (0x41, 0xD4E): "Cortex-X3",
    (0x41, 0xD4F): "Neoverse-V2",
    (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3",
    (0x48, 0xD01): "Kunpeng-920",
    (0xC0, 0xAC3): "Ampere-1",
}
"""(CPU implementer, CPU part) of /proc/cpuinfo on aarch64, as arch/arm64/include/asm/cputype.h lists them."""


class Memory(NamedTuple):
    """Memory of a node or a machine in KiB."""

    total_kib: int | None
    free_kib: int | None


def text(raw: bytes) -> str:
    """The text of a one-value file: up to the first NUL, without blanks around it, safe to print."""
    return safe_text(raw.split(b"\0", 1)[0].strip())


def unescaped(path: bytes) -> bytes:
    """A path of a mount table, which writes blanks in it as octal escapes."""
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), path)


@lru_cache(maxsize=_MOST_KEPT)
def id_list(raw: bytes) -> CpuSet | None:
    """A range list such as `0-3,8`; an empty file is the empty set."""
    try:
        return CpuSet.parse(text(raw))
    except BadIdListError:
        return None


def some_ids(raw: bytes) -> CpuSet | None:
    """A range list that is not empty."""
    return id_list(raw) or None


def id_list_or_null(raw: bytes) -> CpuSet | None:
    """A range list; `(null)`, which kernels write for a mask that was never made (`nohz_full`), is the empty set."""
    return id_list(b"" if text(raw) == "(null)" else raw)


def spaced_ids(raw: bytes) -> CpuSet | None:
    """Ids with blanks between them, as cpufreq writes `affected_cpus`."""
    pieces = text(raw).split()
    if not all(piece.isascii() and piece.isdecimal() and len(piece) < 6 for piece in pieces):
        return None
    numbers = list(map(int, pieces))
    return CpuSet.of(numbers) if max(numbers, default=0) <= LARGEST_ID else None


@lru_cache(maxsize=_MOST_KEPT)
def mask(raw: bytes) -> CpuSet | None:
    """A hexadecimal mask such as `ff,00000000` (`cpumap`, `thread_siblings`)."""
    try:
        return CpuSet.from_mask(text(raw))
    except BadIdListError:
        return None


@lru_cache(maxsize=_MOST_KEPT)
def decimal(raw: bytes) -> int | None:
    """A whole decimal number."""
    found = text(raw)
    return int(found) if _DECIMAL.fullmatch(found) else None


def hexadecimal(raw: bytes) -> int | None:
    """A hexadecimal number, with `0x` (PCI `class`, `vendor`, `device`) or without."""
    found = text(raw)
    return int(found, 16) if _HEX.fullmatch(found) else None


@lru_cache(maxsize=_MOST_KEPT)
def cache_size_kib(raw: bytes) -> int | None:
    """A cache's `size` such as `32K`, in KiB; a bare number is bytes."""
    found = _SIZE.fullmatch(text(raw))
    if found is None or not int(found[1]):
        return None
    return int(found[1]) * _KIB[found[2]] if found[2] else int(found[1]) >> 10


def meminfo(raw: bytes) -> Memory:
    """MemTotal and MemFree of /proc/meminfo or of a node's `meminfo`; None where one is absent or more than can be addressed."""
    found: dict[str, int] = {}
    for line in raw.split(b"\0", 1)[0].decode("ascii", "replace").splitlines():
        matched = _MEMINFO.fullmatch(line.strip())
        if matched and int(matched[2]) <= MOST_MEMORY_KIB:
            found.setdefault(matched[1], int(matched[2]))
    return Memory(found.get("MemTotal"), found.get("MemFree"))


def distances(raw: bytes) -> tuple[int, ...] | None:
    """A node's `distance`: one number for each node that is online, in the order of their ids."""
    pieces = text(raw).split()
    if not pieces or not all(piece.isascii() and piece.isdecimal() and len(piece) < 6 for piece in pieces):
        return None
    return tuple(map(int, pieces))


def cpuinfo_fields(raw: bytes) -> dict[str, tuple[str, ...]]:
    """Each key of /proc/cpuinfo with its distinct values in the order of their first appearance."""
    found: dict[str, dict[str, None]] = {}
    for line in dict.fromkeys(raw.split(b"\0", 1)[0].splitlines()):  # most are the same for every CPU
        key, colon, value = line.partition(b":")
        if colon:
            found.setdefault(text(key.replace(b"\t", b" ")), {})[text(b" ".join(value.split()))] = None
    return {key: tuple(values) for key, values in found.items()}


def cpu_model(fields: dict[str, tuple[str, ...]]) -> str | None:
    """The processor's name out of /proc/cpuinfo's fields; aarch64 gives numbers only, of which a few are known."""
    for key in _MODEL_KEYS:
        names = [name for name in fields.get(key, ()) if name and not name.isdecimal()]
        if names:
            return " + ".join(names[:4])
    implementers = fields.get("CPU implementer", ())
    if len(implementers) != 1:
        return None
    parts = [(_number(implementers[0]), _number(part)) for part in fields.get("CPU part", ())]
    known = [_ARM_PARTS.get((maker, part)) for maker, part in parts if maker is not None and part is not None]
    names = [name for name in known if name is not None]
    return " + ".join(names) if names and len(names) == len(parts) else None


def cpu_architecture(fields: dict[str, tuple[str, ...]]) -> str | None:
    """The machine name as `uname -m` has it, where /proc/cpuinfo leaves no doubt."""
    flags = " ".join(fields.get("flags", ())).split()
    features = " ".join(fields.get("Features", ())).split()
    signs = (
        ("x86_64", "lm" in flags),
        ("aarch64", "CPU implementer" in fields and "asimd" in features),
        ("ia64", "IA-64" in fields.get("arch", ())),
        ("riscv64", any(isa.startswith("rv64") for isa in fields.get("isa", ()))),
        ("s390x", "IBM/S390" in fields.get("vendor_id", ())),
        ("sparc64", any(kind.startswith(("sun4u", "sun4v")) for kind in fields.get("type", ()))),
    )
    return next((name for name, holds in signs if holds), None)


def _number(written: str) -> int | None:
    return int(written, 16) if _HEX.fullmatch(written) else None
