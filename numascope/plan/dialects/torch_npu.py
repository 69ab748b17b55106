"""torch_npu's CPU_AFFINITY_CONF (torch_npu/csrc/core/npu/NPUAffinityController.cpp; Ascend Extension for PyTorch 7.1, "CPU_AFFINITY_CONF")."""

from __future__ import annotations

import re
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import UsageError
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.variables import value_of
from numascope.plan.dialects.words import Word, decoded, shown
from numascope.plan.make.made import WHOLE_PROCESS
from numascope.plan.make.seats import Seat, found_seats
from numascope.plan.objects import Plan

NAME: Final = "CPU_AFFINITY_CONF"

PINNED: Final = ("main", "name:acl_thread", "name:release_thread", "name:hccl_watchdog_t")
"""The threads that mode 2 gives one CPU each, the lowest of the device's first; all others get the rest."""

_NPU = re.compile(r"npu([0-9]{1,2})")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_SWITCHES: Final = ("npu_affine", "lazy_bind", "force")


def read_torch_npu(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of that variable: ranges as given, else equal slices in the order of CPU numbers, whatever the topology. InputError."""
    draft = Draft(path, "torch_npu", data)
    value = value_of(draft, decoded(path, data, "a setting"), NAME)
    mode: int | None = None
    given: dict[int, tuple[Word, CpuSet]] = {}
    switches: dict[str, bool] = {}
    at = 0
    pieces = value.text.split(",")
    if len(pieces) > MOST_RANKS:
        raise draft.wrong(value, f"more than {MOST_RANKS} settings, far more than ranges of a host")
    for text in pieces:
        option = Word(text.strip(), value.line, value.column + at)
        at += len(text) + 1
        name, colon, setting = option.text.partition(":")
        if not colon or name == "mode":
            mode = _mode(draft, option, setting if colon else name) if mode is None else mode
        elif name in _SWITCHES:
            switches[name] = setting != "0"
        elif _NPU.fullmatch(name) is None:
            draft.note(option, f"torch_npu does not know {shown(option)} and ignores it")
        else:
            number = int(name[3:])
            cpus = _range(draft, Word(setting, option.line, option.column + len(name) + 1), number)
            given[number] = (option, given.get(number, (option, EMPTY))[1] | cpus)
    if not mode:
        raise draft.wrong(value, f"{NAME} has no mode but 0: it binds nothing, give 1 or 2 first")
    _give(draft, scene, value, mode, given, switches)
    return draft.plan()


def _mode(draft: Draft, word: Word, text: str) -> int:
    if text not in ("0", "1", "2"):
        raise draft.wrong(
            word, f"the mode is {shown(word)}: expected 0 (off), 1 (a range each) or 2 (hot threads apart)"
        )
    return int(text)


def _range(draft: Draft, word: Word, number: int) -> CpuSet:
    found = _RANGE.fullmatch(word.text)
    if found is None:
        raise draft.wrong(
            word, f"{shown(word)} of npu{number}: expected one range such as 0-23, more in npu{number}:… again"
        )
    return draft.ids(word, f"the range of npu{number}")


def _give(
    draft: Draft, scene: Scene, value: Word, mode: int, given: dict[int, tuple[Word, CpuSet]], switches: dict[str, bool]
) -> None:
    seats = _seats(scene)
    everybody = {seat.number: seat for seat in seats} or {number: Seat(number, None, None, None) for number in given}
    if not everybody:
        raise draft.wrong(
            value, "gives each NPU an equal slice, and no accelerator is seen here: name them, npu0:0-23,…"
        )
    for number in sorted(given.keys() - everybody.keys()):
        draft.note(given[number][0], f"there is no device {number} here: torch_npu ignores it")
    named = CpuSet()
    for number, seat in sorted(everybody.items()):
        slice_ = _default(scene, seat, len(everybody), by_node=switches.get("npu_affine", False))
        word, cpus = given.get(number, (value, slice_))
        named |= cpus
        _share(draft, word, number, cpus, mode)
    lost = named - scene.allowed
    if lost and not switches.get("force"):
        draft.note(
            value, f"CPU {lost} is not there or not allowed: torch_npu then binds nobody, unless force:1 is given"
        )


def _seats(scene: Scene) -> tuple[Seat, ...]:
    if scene.seats is not None:
        return scene.seats.seats
    try:
        found = found_seats(scene.machine, ("npu",), None)
    except UsageError:
        return ()
    return tuple(seat for seat in found.seats if not found.are_dealt)


def _default(scene: Scene, seat: Seat, devices: int, *, by_node: bool) -> CpuSet:
    """An equal slice by number; with npu_affine the CPUs near the device, where its node is known."""
    node = scene.machine.node(seat.node) if by_node and seat.node is not None else None
    if node is not None and node.cpus:
        return node.cpus
    size = len(scene.machine.cpus.online) // devices
    return CpuSet.span(seat.number * size, seat.number * size + size - 1) if size else EMPTY


def _share(draft: Draft, word: Word, number: int, cpus: CpuSet, mode: int) -> None:
    if mode == 2 and len(cpus) <= len(PINNED):
        draft.note(word, f"device {number} has {len(cpus)} CPUs, fewer than five: all its threads get all of them")
    elif mode == 2:
        for role, cpu in zip(PINNED, cpus, strict=False):
            draft.give(word, number, CpuSet.of((cpu,)), role)
        cpus = CpuSet.of(list(cpus)[len(PINNED) :])
    draft.give(word, number, cpus, WHOLE_PROCESS)
