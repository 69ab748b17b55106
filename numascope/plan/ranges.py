"""The lists of CPUs and nodes that people write into plans: `0-3,8`, more strictly judged than the kernel's."""

from __future__ import annotations

import re
from typing import Final

from numascope.cpuset import EMPTY, LARGEST_ID, BadIdListError, CpuSet

LONGEST_LIST: Final = 65_536
"""Room for 10,000 CPUs written one by one; bounds what a hostile list costs."""

_NARROW = 64
"""A range up to this wide is set bit by bit, so that many small pieces do not each cost an int of 65,536 bits."""

_PIECE = re.compile(r"([0-9]{1,9})(?:\s*-\s*([0-9]{1,9}))?")

_LONG = re.compile(r"[0-9]+(?:\s*-\s*[0-9]+)?")

_READ_BY_NUMACTL = re.compile(r"\s*\+?[0-9]+(?:-\s*\+?[0-9]+)?(?:,\s*\+?[0-9]+(?:-\s*\+?[0-9]+)?)*", re.ASCII)
_READ_BY_TASKSET = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")


def read_ids(text: str) -> CpuSet:
    """Reads `0-3,8`, spaces allowed around numbers, the empty text as no ids; BadIdListError names the piece and its mending."""
    if not text.strip():
        return EMPTY
    if len(text) > LONGEST_LIST:
        raise BadIdListError(f"{text[:20]}…", f"the list is over {LONGEST_LIST} characters, expected ranges")
    wide, narrow, covered = 0, bytearray((LARGEST_ID + 1) // 8), -1
    for first, last in sorted(map(_piece, text.split(","))):
        start = max(first, covered + 1)
        if last - start > _NARROW:
            wide |= (1 << (last + 1)) - (1 << start)
        else:
            for one in range(start, last + 1):
                narrow[one >> 3] |= 1 << (one & 7)
        covered = max(covered, last)
    return CpuSet(wide | int.from_bytes(narrow, "little"))


def is_read_by_numactl(text: str) -> bool:
    """Whether numactl takes this list: its strtoul skips spaces before a number, none behind it (libnuma.c, __numa_parse_nodestring)."""
    return _READ_BY_NUMACTL.fullmatch(text) is not None


def is_read_by_taskset(text: str) -> bool:
    """Whether `taskset -c` takes this list, which has no blanks (util-linux, lib/cpuset.c, cpulist_parse)."""
    return _READ_BY_TASKSET.fullmatch(text) is not None


def _piece(written: str) -> tuple[int, int]:
    piece = written.strip()
    found = _PIECE.fullmatch(piece)
    if found is None:
        raise BadIdListError(piece, _mending(piece))
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    if last < first:
        raise BadIdListError(piece, f'the range runs backwards, did you mean "{last}-{first}"')
    if last > LARGEST_ID:
        raise BadIdListError(piece, f"the number is too large, expected 0 to {LARGEST_ID}")
    return first, last


def _mending(piece: str) -> str:
    if not piece:
        return "there is a comma too many, expected a number on each side of a comma"
    if ":" in piece:
        return 'a range has no stride here, expected each number, such as "0,2,4"'
    if piece.startswith("-"):
        return "the number is negative, expected 0 or more"
    if _LONG.fullmatch(piece):
        return f"the number is too large, expected 0 to {LARGEST_ID}"
    return 'expected numbers and ranges such as "0-3,8"'
