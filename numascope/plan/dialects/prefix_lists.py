"""The lists and masks of numactl and taskset, as these programs take them (numactl 2.0.16, libnuma.c; util-linux 2.38, lib/cpuset.c)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from numascope.cpuset import BadIdListError, CpuSet
from numascope.plan.dialects.draft import Draft
from numascope.plan.dialects.prefix_notes import READ_AS_OCTAL, RELATIVE_TO_CPUSET
from numascope.plan.dialects.words import Word, shown
from numascope.plan.notes import BACKWARDS_TO_NUMACTL, IDS_NOT_USABLE

_LIST = re.compile(r"(!?)(\+?)(.*)", re.DOTALL)
_NUMBER = r"\s*\+?(0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})"
_NUMACTL_PIECE = re.compile(rf"{_NUMBER}(?:-{_NUMBER})?")
_TASKSET_PIECE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
_MASK = re.compile(r"(?:0x)?((?:,?[0-9a-fA-F]){1,20000},?)")


_MOST_PIECES: Final = 4_096
_LARGEST: Final = 65_535


class Known(NamedTuple):
    """What a list of numactl counts in: `CPU` or `node`, those that may be named, and all that there are."""

    name: str
    allowed: CpuSet
    every: CpuSet


def numactl_list(draft: Draft, value: Word, known: Known) -> CpuSet:
    """`0-3,8`, `all`, `!` for all others, `+` for positions; what numactl would refuse is noted or an InputError.

    Both ends of a range must be there; what between them is not is left out.
    """
    found = _LIST.fullmatch(value.text)
    inverted, relative, rest = ("", "", "") if found is None else found.groups()
    if rest == "all":
        chosen = known.allowed
    else:
        if "$" in rest or "`" in rest:
            raise draft.wrong(
                value, f"{shown(value)} is known to the shell alone: write the numbers that it will stand for"
            )
        if ":" in rest:
            raise draft.wrong(
                value,
                f"{shown(value)}: give {known.name} numbers, numascope does not look devices up, and strides are taskset's",
            )
        if not rest.strip():
            raise draft.wrong(value, f"an empty list of {known.name}s, which numactl refuses")
        if relative:
            here = known.allowed or "none"
            draft.note(value, RELATIVE_TO_CPUSET, f"{shown(value)} is relative to the cpuset: here {here}")
        members = list(known.allowed) if relative else None
        bits = 0
        for piece in _pieces(draft, value, rest):
            bits |= _piece(draft, value, piece, known, members).bits
        chosen = CpuSet(bits)
    return known.every - chosen if inverted else chosen


def _pieces(draft: Draft, value: Word, text: str) -> list[str]:
    pieces = text.split(",", _MOST_PIECES)
    if len(pieces) > _MOST_PIECES:
        raise draft.wrong(value, f"a list of over {_MOST_PIECES} pieces: write neighbours as ranges, such as 0-3")
    return pieces


def _piece(draft: Draft, value: Word, piece: str, known: Known, members: list[int] | None) -> CpuSet:
    found = _NUMACTL_PIECE.fullmatch(piece)
    if found is None:
        draft.ids(value._replace(text=piece), f"the {known.name} list")
        problem = (
            f"{shown(value)} is no list of {known.name}s that numactl takes: give numbers and ranges such as 0-3,8"
        )
        raise draft.wrong(value, problem)
    ends = [_number(draft, value, text) for text in found.groups() if text is not None]
    if members is not None:
        beyond = [end for end in ends if end >= len(members)]
        if beyond:
            problem = f"{shown(value)}: there is no {known.name} at position {beyond[0]} of {len(members)}"
            raise draft.wrong(value, f"{problem}, which numactl refuses")
        ends = [members[end] for end in ends]
    strange = CpuSet.of(ends) - known.allowed
    if strange:
        text = f"{known.name} {strange} is not there or not allowed here: numactl refuses the whole list"
        draft.note(value, IDS_NOT_USABLE, text)
    if ends[-1] < ends[0]:
        text = f"{piece.strip()} runs backwards: numactl takes {known.name} {ends[0]} alone"
        draft.note(value, BACKWARDS_TO_NUMACTL, text)
        return CpuSet.of(ends[:1])
    whole = CpuSet.span(ends[0], ends[-1])
    left_out = whole - known.allowed - CpuSet.of(ends)
    if left_out and not strange:
        text = f"{known.name} {left_out} is not there or not allowed here: numactl leaves it out silently"
        draft.note(value, IDS_NOT_USABLE, text)
        return whole - left_out
    return whole


def _number(draft: Draft, value: Word, text: str) -> int:
    """A number as strtoul has it: hexadecimal behind 0x, octal behind 0."""
    if text[:2] in ("0x", "0X"):
        number = int(text, 16)
    elif text[0] == "0" and len(text) > 1:
        if re.search("[89]", text):
            raise draft.wrong(value, f"{shown(value)}: numactl reads {text} as octal, leave the first 0 out")
        number = int(text, 8)
        if number > 7:
            draft.note(value, READ_AS_OCTAL, f"numactl reads {text} as octal: {number}")
    else:
        number = int(text)
    return number if number <= _LARGEST else draft.ids(value, "the list").first


def taskset_cpus(draft: Draft, word: Word, allowed: CpuSet, *, is_list: bool) -> CpuSet:
    """The CPUs of a list or mask, with a note on those that are not allowed, which taskset goes on without; InputError."""
    cpus = _taskset_list(draft, word) if is_list else _taskset_mask(draft, word)
    if not cpus:
        raise draft.wrong(word, f"{shown(word)} is no CPU, which taskset refuses")
    lost = cpus - allowed
    if lost:
        outcome = "fails, and starts nobody" if lost == cpus else "leaves it out silently"
        draft.note(word, IDS_NOT_USABLE, f"CPU {lost} is not there or not allowed here: taskset {outcome}")
    return cpus


def _taskset_list(draft: Draft, word: Word) -> CpuSet:
    """A list in which a range may have a stride, `0-31:2`; InputError where taskset cannot parse it."""
    if "$" in word.text or "`" in word.text:
        raise draft.wrong(word, f"{shown(word)} is known to the shell alone: write the numbers that it will stand for")
    bits = 0
    for piece in _pieces(draft, word, word.text):
        found = _TASKSET_PIECE.fullmatch(piece)
        if found is None:
            problem = (
                f"{shown(word)} is no list of CPUs that taskset takes: give numbers and ranges such as 0-3,8 or 0-31:2"
            )
            raise draft.wrong(word, problem)
        first, last, step = (None if text is None else int(text) for text in found.groups())
        text = f"{first}" if last is None else f"{first}-{last}"
        whole = draft.ids(word._replace(text=text), "the CPU list")
        if step == 0:
            raise draft.wrong(word, f"{shown(word)}: a stride of 0, give 1 or more")
        bits |= whole.bits if step is None else _every(step, len(whole)) << whole.first
    return CpuSet(bits)


def _every(step: int, count: int) -> int:
    """One bit in each so many, from the lowest of them on."""
    return int(f"{'0' * (step - 1)}1" * (-(-count // step)), 2) & ((1 << count) - 1) if step < count else 1


def _taskset_mask(draft: Draft, word: Word) -> CpuSet:
    """A hexadecimal mask, with or without 0x, with commas as the kernel writes them; InputError."""
    found = _MASK.fullmatch(word.text)
    digits = "" if found is None else found[1].replace(",", "")
    try:
        return CpuSet(int(digits, 16))
    except (ValueError, BadIdListError):
        raise draft.wrong(word, f"{shown(word)} is no mask: give a hexadecimal one, or -c and a list") from None
