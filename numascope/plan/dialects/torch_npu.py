"""torch_npu's CPU_AFFINITY_CONF (Ascend Extension for PyTorch 7.1 and later, "CPU_AFFINITY_CONF").

NPUAffinityController.cpp and GetAffinityCPUInfo.cpp of torch_npu/csrc/core/npu: who reads what, and how CPUs are dealt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.variables import value_of
from numascope.plan.dialects.words import Word, decoded, shown
from numascope.plan.make.seats import Seat, own_seats
from numascope.plan.notes import UNKNOWN_NAME
from numascope.plan.objects import WHOLE_PROCESS, NoteKind, Plan

NAME: Final = "CPU_AFFINITY_CONF"

PINNED: Final = ("main", "name:acl_thread", "name:release_thread", "name:hccl_watchdog_t")
"""The threads that mode 2 gives one CPU each, the lowest of the device's first; all others get the rest."""

WITH_MAIN: Final = "autograd"
"""Its threads are bound where main is: the first of them that uses the device binds itself and main."""

BINDS_NOBODY: Final = NoteKind(
    "reading", "warning", "plan CPUs that are there and allowed", told_by=("cpu-",), anywhere=True
)
"""Without force:1, where one CPU of any device cannot be used."""

_NO_SUCH_DEVICE: Final = NoteKind("dev-absent", "warning", "leave it out, or check on the machine that has it")
_NODE_UNKNOWN: Final = NoteKind("reading", "warning", "say where it sits: --device 0=node:N")
_TOO_FEW_TO_PART: Final = NoteKind("reading", "warning", "give it five CPUs or more, or use mode 1")

_NPU = re.compile(r"npu([0-9]{1,2})")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_DIGITS = re.compile(r"[0-9]{1,9}")
_SWITCHES: Final = ("mode", "npu_affine", "lazy_bind", "force")


class _Conf(NamedTuple):
    """What the variable asks for: its value as a whole, and the CPUs of each device that it names."""

    value: Word
    mode: int
    given: dict[int, tuple[Word, CpuSet]]

    def switch(self, name: str) -> bool:
        """Whether `NAME:1` stands anywhere in the value: torch_npu searches it for the name and one digit."""
        found = re.search(rf"{name}:([0-9])", self.value.text)
        return found is not None and found[1] != "0" and (name != "force" or found[1] == "1")


def read_torch_npu(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of that variable: ranges as given, else equal slices in the order of CPU numbers, whatever the topology. InputError."""
    draft = Draft(path, "torch_npu", data)
    value = value_of(draft, decoded(path, data, "a setting"), NAME)
    mode: int | None = None
    given: dict[int, tuple[Word, CpuSet]] = {}
    at = 0
    pieces = value.text.split(",")
    if len(pieces) > MOST_RANKS:
        raise draft.wrong(value, f"more than {MOST_RANKS} settings, far more than ranges of a host")
    for text in pieces:
        option = value.part(at)._replace(text=text)
        at += len(text) + 1
        name, colon, setting = text.partition(":")
        if name == "mode" or _DIGITS.fullmatch(text) is not None:
            mode = _mode(draft, option, setting if colon else name) if mode is None else mode
        elif _NPU.fullmatch(name) is not None and colon:
            number = int(name[3:])
            cpus = _range(draft, option.part(len(name) + 1), number)
            given[number] = (option, given.get(number, (option, EMPTY))[1] | cpus)
        elif name not in _SWITCHES:
            blank = ": it takes no blanks" if text != text.strip() else ""
            draft.note(option, UNKNOWN_NAME, f"torch_npu does not know {shown(option)} and ignores it{blank}")
    if not mode:
        raise draft.wrong(value, f"{NAME} has no mode but 0: it binds nothing, give 1 or 2 first")
    _give(draft, scene, _Conf(value, mode, given))
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


def _give(draft: Draft, scene: Scene, conf: _Conf) -> None:
    value, mode, given = conf
    seats = _seats(scene)
    everybody = {seat.number: seat for seat in seats} or {number: Seat(number, None, None, None) for number in given}
    if not everybody:
        raise draft.wrong(
            value, "gives each NPU an equal slice, and no accelerator is seen here: name them, npu0:0-23,…"
        )
    for number in sorted(given.keys() - everybody.keys()):
        draft.note(given[number][0], _NO_SUCH_DEVICE, f"there is no device {number} here: torch_npu ignores it")
    slices = _near(draft, scene, value, everybody) if conf.switch("npu_affine") else _equal(scene, everybody)
    named = CpuSet()
    for number in sorted(everybody):
        word, cpus = given.get(number, (value, slices[number]))
        named |= cpus
        _share(draft, word, number, cpus, mode, is_written=number in given)
    lost = named - scene.allowed
    if lost and not conf.switch("force"):
        text = f"CPU {lost} is not there or not allowed: torch_npu then binds nobody, unless force:1 is given"
        draft.note(value, BINDS_NOBODY, text)


def _seats(scene: Scene) -> tuple[Seat, ...]:
    return (scene.seats or own_seats(scene.machine, ("npu",))).seats


def _equal(scene: Scene, everybody: Mapping[int, Seat]) -> Mapping[int, CpuSet]:
    """Equal slices by number: of so many CPUs as are online, from CPU 0 on, whichever they are."""
    size = len(scene.machine.cpus.online) // len(everybody)
    return {number: CpuSet.span(number * size, number * size + size - 1) if size else EMPTY for number in everybody}


def _near(draft: Draft, scene: Scene, value: Word, everybody: Mapping[int, Seat]) -> Mapping[int, CpuSet]:
    """With npu_affine: each node's CPUs in equal parts for the devices near it, the last one's with the remainder."""
    near: dict[int, list[int]] = {}
    for number, seat in sorted(everybody.items()):
        node = None if seat.node is None else scene.machine.node(seat.node)
        if node is None or not node.cpus:
            text = f"the node of device {number} is not known here: equal slices, as without npu_affine"
            draft.note(value, _NODE_UNKNOWN, text)
            return _equal(scene, everybody)
        near.setdefault(node.id, []).append(number)
    found: dict[int, CpuSet] = {}
    for node_id, numbers in near.items():
        cpus = [cpu for node in scene.machine.nodes if node.id == node_id for cpu in node.cpus]
        size = len(cpus) // len(numbers)
        for at, number in enumerate(numbers):
            end = len(cpus) if at == len(numbers) - 1 or not size else (at + 1) * size
            found[number] = CpuSet.of(cpus[at * size : end])
    return found


def _share(draft: Draft, word: Word, number: int, cpus: CpuSet, mode: int, *, is_written: bool) -> None:
    """What one device gets; whether a rank is started on one that the variable does not name, it does not say."""
    if mode == 2 and len(cpus) <= len(PINNED):
        text = f"device {number} has {len(cpus)} CPUs, fewer than five: all its threads get all of them"
        draft.note(word, _TOO_FEW_TO_PART, text)
    elif mode == 2:
        for role, cpu in zip(PINNED, cpus, strict=False):
            draft.give(word, number, CpuSet.of((cpu,)), role, is_written=is_written)
        draft.give(word, number, CpuSet.of((cpus.first,)), WITH_MAIN, is_written=is_written)
        cpus = CpuSet.of(list(cpus)[len(PINNED) :])
    draft.give(word, number, cpus, WHOLE_PROCESS, is_written=is_written)
