"""Open MPI's rankfiles (mpirun(1) of Open MPI 4.1 and 5.0, PRRTE's prun(1), sections "Rankfiles")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.words import Word, decoded
from numascope.plan.objects import Plan
from numascope.plan.positions import quoted

_LINE = re.compile(r"\s*rank\s+([0-9]{1,6})\s*=\s*(\S+)\s+slots?\s*=\s*([^\s#][^#]*?)\s*(?:#.*)?")
_COMMENT = re.compile(r"\s*(?:#.*)?")
_FIELD = re.compile(r"([pP]?)([0-9]{1,6}|\*)(?:-([0-9]{1,6}))?")


class _Row(NamedTuple):
    rank: int
    host: str
    slot: Word


def read_rankfile(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of a rankfile: slots are logical cores, unless a comment says `hwtcpus` or `physical`. InputError.

    Of several hosts the first one's ranks are read, and numbered anew as that host's local ranks.
    """
    draft = Draft(path, "rankfile", data)
    text = decoded(path, data, "a rankfile")
    comments = " ".join(re.findall("#(.*)", text))
    rows = _rows(draft, text)
    if not rows:
        raise draft.wrong(Word("", 1, 1), 'has no line such as "rank 0=host slot=0-3"')
    hosts = list(dict.fromkeys(row.host for row in rows))
    if len(hosts) > 1:
        draft.note(rows[0].slot, f"{len(hosts)} hosts are named: only the ranks of {quoted(hosts[0])} are read here")
    places = _Places(draft, scene.machine, hardware_threads="hwtcpus" in comments, physical="physical" in comments)
    here = sorted((row for row in rows if row.host == hosts[0]), key=lambda row: row.rank)
    taken: list[tuple[CpuSet, int]] = []
    for local, row in enumerate(here):
        cpus = places.cpus(row.slot)
        draft.give(row.slot, local, cpus)
        other = next((rank for theirs, rank in taken if theirs & cpus), None)
        if other is not None:
            draft.note(
                row.slot, f"rank {row.rank} shares CPUs with rank {other}: mpirun refuses without overload-allowed"
            )
        taken.append((cpus, row.rank))
    return draft.plan()


def _rows(draft: Draft, text: str) -> list[_Row]:
    rows: list[_Row] = []
    seen: dict[int, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if _COMMENT.fullmatch(line):
            continue
        found = _LINE.fullmatch(line)
        word = Word(line, number, len(line) - len(line.lstrip()) + 1)
        if found is None:
            raise draft.wrong(word, f'{quoted(line.strip())} is no line of a rankfile: expected "rank 0=host slot=0-3"')
        rank = int(found[1])
        if rank in seen:
            raise draft.wrong(word, f"rank {rank} is there twice, first in line {seen[rank]}: keep one")
        if len(rows) >= MOST_RANKS:
            raise draft.wrong(word, f"more than {MOST_RANKS} ranks, far more than a machine has")
        seen[rank] = number
        rows.append(_Row(rank, found[2], Word(found[3].strip().strip('"'), number, found.start(3) + 1)))
    return rows


class _Places:
    """What the numbers of a slot list are on one machine."""

    def __init__(self, draft: Draft, machine: Machine, *, hardware_threads: bool, physical: bool) -> None:
        self.draft, self.machine = draft, machine
        self.cores = logical_cores(machine)
        self.units = [CpuSet.of((cpu,)) for core in self.cores for cpu in core] if hardware_threads else self.cores
        self.physical = physical
        self.packages = [
            [unit for unit in self.units if unit <= package.cpus]
            for package in sorted(machine.packages, key=lambda one: one.cpus.first if one.cpus else 0)
            if package.cpus
        ]

    def cpus(self, slot: Word) -> CpuSet:
        """`10-12`, `0,1,4`, `1:0-2`, `0:*`, and `p3` for a CPU by the kernel's number."""
        bits = 0
        package: Sequence[CpuSet] | None = None
        for piece in slot.text.replace(" ", "").split(","):
            left, colon, right = piece.rpartition(":")
            if colon:
                if ":" in left:
                    raise self.draft.wrong(
                        slot, f"{quoted(piece)}: hardware threads are given with hwtcpus, not with a third number"
                    )
                physical, first, _ = self.field(slot, left)
                if physical or first is None or first >= len(self.packages):
                    raise self.draft.wrong(
                        slot, f"{quoted(piece)}: this machine has {len(self.packages)} packages, counted from 0"
                    )
                package = self.packages[first]
            bits |= self.piece(slot, right, package).bits
        return CpuSet(bits)

    def piece(self, slot: Word, text: str, package: Sequence[CpuSet] | None) -> CpuSet:
        physical, first, last = self.field(slot, text)
        units = self.units if package is None else package
        if first is None:
            chosen = units
        elif physical or self.physical:
            wanted = CpuSet.span(first, last)
            chosen = [core for core in self.cores if core & wanted]
            if wanted - self.machine.cpus.online:
                raise self.draft.wrong(slot, f"{quoted(text)}: this machine has the CPUs {self.machine.cpus.online}")
        else:
            if last >= len(units):
                word = "this package" if package is not None else "this machine"
                raise self.draft.wrong(slot, f"{quoted(text)}: {word} has {len(units)} of them, counted from 0")
            chosen = units[first : last + 1]
        bits = 0
        for unit in chosen:
            bits |= unit.bits
        return CpuSet(bits)

    def field(self, slot: Word, text: str) -> tuple[bool, int | None, int]:
        """Whether it is physical, and its first and last number; None for `*`."""
        found = _FIELD.fullmatch(text)
        if found is None or (found[2] == "*" and found[3]):
            raise self.draft.wrong(slot, f"{quoted(text)}: expected cores such as 0-3, or package:cores such as 1:0-3")
        if found[2] == "*":
            return False, None, 0
        first = int(found[2])
        last = first if found[3] is None else int(found[3])
        if last < first:
            raise self.draft.wrong(slot, f'{quoted(text)} runs backwards, did you mean "{last}-{first}"')
        return bool(found[1]), first, min(last, 65_535)


def logical_cores(machine: Machine) -> list[CpuSet]:
    """The cores in hwloc's logical order: by what holds them, the largest first, and in each by lowest CPU.

    A CPU of no known core is one of its own.
    """
    online = machine.cpus.online
    cores = [core.cpus & online for core in machine.cores if core.cpus & online]
    known = CpuSet()
    for core in cores:
        known |= core
    cores += [CpuSet.of((cpu,)) for cpu in online - known]
    whole = set(cores)
    holders = sorted(
        {
            (len(one.cpus), one.cpus.bits): one.cpus
            for group in (machine.packages, machine.dies, machine.nodes, machine.caches, machine.clusters)
            for one in group
            if one.cpus and one.cpus not in whole
        }.values(),
        key=lambda cpus: -len(cpus),
    )
    return sorted(cores, key=lambda core: (*(cpus.first for cpus in holders if core <= cpus), core.first))
