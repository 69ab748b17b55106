"""Sets of ids (CPUs, NUMA nodes) as the kernel writes them: range lists and hexadecimal masks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

LARGEST_ID: Final = 65_535
"""Far above the largest NR_CPUS of any kernel (8,192 on x86-64); keeps `0-1000000000` from filling memory."""

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_WORDS = re.compile(r"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{8})*")
_MASK = re.compile(r"[0-9a-fA-F]{1,16}(?:,[0-9a-fA-F]{1,16})*")


class BadIdListError(ValueError):
    """A text that is no list of ids; `found` is the piece that is wrong and `problem` says why."""

    def __init__(self, found: str, problem: str) -> None:
        self.found = found
        self.problem = problem
        super().__init__(f"{found!r}: {problem}")


class CpuSet:
    """An immutable set of ids from 0 to `LARGEST_ID`, kept as the bits of one int."""

    __slots__ = ("bits",)
    bits: int

    def __init__(self, bits: int = 0) -> None:
        if bits < 0 or bits.bit_length() > LARGEST_ID + 1:
            raise BadIdListError(hex(bits)[:40], f"ids go from 0 to {LARGEST_ID}")
        object.__setattr__(self, "bits", bits)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a CpuSet does not change: {name}")

    @classmethod
    def of(cls, ids: Iterable[int]) -> CpuSet:
        """The set of these ids."""
        bits = 0
        for one in ids:
            if not 0 <= one <= LARGEST_ID:
                raise BadIdListError(str(one)[:40], f"ids go from 0 to {LARGEST_ID}")
            bits |= 1 << one
        return cls(bits)

    @classmethod
    def span(cls, first: int, last: int) -> CpuSet:
        """All ids from `first` to `last`, both included."""
        if not 0 <= first <= last <= LARGEST_ID:
            raise BadIdListError(f"{first}-{last}"[:40], f"a range goes up, within 0 to {LARGEST_ID}")
        return cls((1 << (last + 1)) - (1 << first))

    @classmethod
    def parse(cls, text: str) -> CpuSet:
        """Reads a kernel range list such as `0-3,8`; the empty text is the empty set (`Documentation/core-api/kernel-api`, bitmap_parselist)."""
        bits = 0
        if not text.strip():
            return cls(0)
        for piece in text.strip().split(","):
            found = _RANGE.fullmatch(piece.strip())
            if found is None:
                raise BadIdListError(piece.strip()[:40], 'expected a number or a range such as "4-7"')
            first = int(found[1])
            last = first if found[2] is None else int(found[2])
            if last < first:
                raise BadIdListError(piece.strip(), f'the range runs backwards, did you mean "{last}-{first}"')
            if last > LARGEST_ID:
                raise BadIdListError(piece.strip(), f"ids go from 0 to {LARGEST_ID}")
            bits |= (1 << (last + 1)) - (1 << first)
        return cls(bits)

    @classmethod
    def from_mask(cls, text: str) -> CpuSet:
        """Reads a kernel mask: comma-separated hexadecimal words of 32 bits, highest first (`cpumap` files, `Cpus_allowed`)."""
        stripped = text.strip()
        if _WORDS.fullmatch(stripped):
            return cls(int(stripped.replace(",", ""), 16))
        if not _MASK.fullmatch(stripped):
            raise BadIdListError(stripped[:40], 'expected a hexadecimal mask such as "ff,00000000"')
        words = stripped.split(",")
        if len(words) == 1:
            return cls(int(words[0], 16))
        bits = 0
        for word in words:
            if len(word) > 8:
                raise BadIdListError(word, "a word of a mask has at most 8 digits")
            bits = bits << 32 | int(word, 16)
        return cls(bits)

    def mask(self) -> str:
        """The set as a kernel mask."""
        digits = f"{self.bits:x}"
        digits = digits.zfill(-(-len(digits) // 8) * 8)
        return ",".join(digits[at : at + 8] for at in range(0, len(digits), 8))

    def ranges(self) -> list[tuple[int, int]]:
        """The set as rising pairs (first, last)."""
        found: list[tuple[int, int]] = []
        bits, base = self.bits, 0
        while bits:
            zeros = (bits & -bits).bit_length() - 1
            bits >>= zeros
            ones = (~bits & (bits + 1)).bit_length() - 1
            found.append((base + zeros, base + zeros + ones - 1))
            bits >>= ones
            base += zeros + ones
        return found

    @property
    def first(self) -> int:
        """The lowest id; ValueError where the set is empty."""
        if not self.bits:
            raise ValueError("the empty set has no first id")
        return (self.bits & -self.bits).bit_length() - 1

    @property
    def last(self) -> int:
        """The highest id; ValueError where the set is empty."""
        if not self.bits:
            raise ValueError("the empty set has no last id")
        return self.bits.bit_length() - 1

    def isdisjoint(self, other: CpuSet) -> bool:
        """Whether the two sets share no id."""
        return not self.bits & other.bits

    def __str__(self) -> str:
        return _range_list(self)

    def __repr__(self) -> str:
        return f"CpuSet.parse({str(self)!r})"

    def __iter__(self) -> Iterator[int]:
        for first, last in self.ranges():
            yield from range(first, last + 1)

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return bool(self.bits)

    def __contains__(self, one: object) -> bool:
        return isinstance(one, int) and one >= 0 and bool(self.bits >> one & 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CpuSet) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __and__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.bits & other.bits)

    def __or__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.bits | other.bits)

    def __sub__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.bits & ~other.bits)

    def __le__(self, other: CpuSet) -> bool:
        return not self.bits & ~other.bits

    def __lt__(self, other: CpuSet) -> bool:
        return self.bits != other.bits and self <= other


@lru_cache(maxsize=1 << 10)
def _range_list(cpus: CpuSet) -> str:
    """Thousands of threads share a few sets."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in cpus.ranges())


EMPTY: Final = CpuSet(0)


def union(sets: Iterable[CpuSet]) -> CpuSet:
    """All ids of all sets."""
    bits = 0
    for one in sets:
        bits |= one.bits
    return CpuSet(bits)
