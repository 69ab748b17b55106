"""Open MPI's rankfiles (mpirun(1) of Open MPI 4.1 and 5.0, PRRTE's prun(1), sections "Rankfiles").

How the slots are read: rmaps_rank_file_lex.l and opal_hwloc_base_cpu_list_parse() of Open MPI 4, prte_hwloc_base_cpu_list_parse()
of PRRTE. The two differ where a package's cores are a list; what either reads otherwise than it looks is told, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.words import Word, decoded
from numascope.plan.json_reader import quoted
from numascope.plan.objects import NoteKind, Plan

_LINE = re.compile(r"\s*rank\s+([0-9]{1,6})\s*=\s*(\S+)\s+slots?\s*=\s*(.*)")
_COMMENT = re.compile(r"(?:#|//).*")
_FIELD = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")

_RANK_MISSING: Final = NoteKind("reading", "warning", "give each rank a line")
_OTHER_HOSTS: Final = NoteKind("reading", "info", "check it on each kind of host: the ranks of one are read at a time")
_CPUS_SHARED: Final = NoteKind(
    "reading", "warning", "give each rank its own CPUs, or start it with overload-allowed", told_by=("overlap",)
)
_VERSIONS_DIFFER: Final = NoteKind("reading", "warning", "write it in that form, which Open MPI 4 and 5 read alike")


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
    comments = " ".join(_COMMENT.findall(text))
    rows = _rows(draft, text)
    if not rows:
        raise draft.wrong(Word("", 1, 1), 'has no line such as "rank 0=host slot=0-3"')
    hosts = list(dict.fromkeys(row.host for row in rows))
    if len(hosts) > 1:
        text = f"{len(hosts)} hosts are named: only the ranks of {quoted(hosts[0])} are read here"
        draft.note(rows[0].slot, _OTHER_HOSTS, text)
    missing = next((rank for rank, row in enumerate(sorted(rows)) if rank != row.rank), None)
    if missing is not None:
        text = f"rank {missing} is missing: mpirun ends, unless another option gives it CPUs"
        draft.note(rows[0].slot, _RANK_MISSING, text)
    places = _Places(draft, scene.machine, hardware_threads="hwtcpus" in comments, physical="physical" in comments)
    here = sorted((row for row in rows if row.host == hosts[0]), key=lambda row: row.rank)
    taken: list[tuple[CpuSet, int]] = []
    for local, row in enumerate(here):
        cpus = places.cpus(row.slot)
        draft.give(row.slot, local, cpus)
        other = next((rank for theirs, rank in taken if theirs & cpus), None)
        if other is not None:
            text = f"rank {row.rank} shares CPUs with rank {other}: mpirun refuses without overload-allowed"
            draft.note(row.slot, _CPUS_SHARED, text)
        taken.append((cpus, row.rank))
    return draft.plan()


def _rows(draft: Draft, text: str) -> list[_Row]:
    rows: list[_Row] = []
    seen: dict[int, int] = {}
    for number, whole in enumerate(text.split("\n"), 1):
        line = _COMMENT.sub("", whole).rstrip()
        if not line:
            continue
        found = _LINE.fullmatch(line)
        word = Word(line, number, len(line) - len(line.lstrip()) + 1)
        if found is None:
            raise draft.wrong(word, f'{quoted(line.strip())} is no line of a rankfile: expected "rank 0=host slot=0-3"')
        slot = Word(found[3], number, found.start(3) + 1)
        if not re.fullmatch(r"[A-Za-z0-9_,;:*-]+", slot.text):
            raise draft.wrong(slot, f"{quoted(slot.text)}: mpirun takes slots without blanks and quotes, such as 0-3,8")
        rank = int(found[1])
        if rank in seen:
            raise draft.wrong(word, f"rank {rank} is there twice, first in line {seen[rank]}: keep one")
        if len(rows) >= MOST_RANKS:
            raise draft.wrong(word, f"more than {MOST_RANKS} ranks, far more than a machine has")
        seen[rank] = number
        rows.append(_Row(rank, found[2].rpartition("@")[2], slot))
    return rows


class _Places:
    """What the numbers of a slot list are on one machine."""

    def __init__(self, draft: Draft, machine: Machine, *, hardware_threads: bool, physical: bool) -> None:
        self.draft, self.machine = draft, machine
        self.cores = logical_cores(machine)
        self.units = [CpuSet.of((cpu,)) for core in self.cores for cpu in core] if hardware_threads else self.cores
        self.hardware_threads, self.physical = hardware_threads, physical
        self.packages = [
            [core for core in self.cores if core <= package.cpus]
            for package in sorted(machine.packages, key=lambda one: one.cpus.first if one.cpus else 0)
            if package.cpus
        ]

    def cpus(self, slot: Word) -> CpuSet:
        """`10-12`, `0,1,4`, and by packages `1:0-2`, `0:*`, `s1`, `0:0;1:0`; a package's cores are cores, with hwtcpus as well."""
        bits = 0
        items = [item for item in slot.text.split(";") if item.strip(",")]
        if not items:
            raise self.draft.wrong(slot, f"{quoted(slot.text)}: expected cores such as 0-3")
        for item in items:
            if ":" in item or item[:1] in ("s", "S", "p", "P"):
                bits |= self.of_packages(slot, item).bits
            else:
                for piece in filter(None, item.split(",")):
                    bits |= self.piece(slot, piece, self.units, "this machine").bits
        return CpuSet(bits)

    def of_packages(self, slot: Word, item: str) -> CpuSet:
        """One item that names packages."""
        if item[:1] in ("p", "P"):
            told = f"{quoted(item)} is a package to Open MPI 5, and core 0 to Open MPI 4: write s for p"
            self.draft.note(slot, _VERSIONS_DIFFER, told)
        text = item[1:] if item[:1] in ("s", "S", "p", "P") else item
        if ":" not in text:
            return self.whole_packages(slot, text)
        pieces = [piece for piece in text.split(",") if piece]
        if any("-" in piece for piece in pieces) and len(pieces) > 1 and text.count(":") < len(pieces):
            raise self.draft.wrong(
                slot, f"{quoted(item)}: mpirun misreads a list with ranges in a package, write {self.apart(pieces)}"
            )
        if len(pieces) > 1:
            misread = "Open MPI 5 reads one package" if text.count(":") > 1 else "Open MPI 4 reads one core"
            self.draft.note(slot, _VERSIONS_DIFFER, f"{misread} of {quoted(item)}: write {self.apart(pieces)}")
        found = EMPTY
        number = ""
        for piece in pieces:
            left, colon, right = piece.partition(":")
            if ":" in right:
                raise self.draft.wrong(
                    slot, f"{quoted(piece)}: hardware threads are given with hwtcpus, not with a third number"
                )
            number = left if colon else number
            found |= self.in_package(slot, number, right if colon else left)
        return found

    @staticmethod
    def apart(pieces: Sequence[str]) -> str:
        """The same with `;` between its parts, which every version reads alike."""
        package = ""
        parts = []
        for piece in pieces:
            left, colon, right = piece.partition(":")
            package = left if colon else package
            parts.append(f"{package}:{right if colon else left}")
        return quoted(";".join(parts))

    def in_package(self, slot: Word, number: str, text: str) -> CpuSet:
        first, last = self.field(slot, number)
        if first != last or first >= len(self.packages):
            count = len(self.packages)
            raise self.draft.wrong(
                slot, f"{quoted(f'{number}:{text}')}: this machine has {count} packages, counted from 0"
            )
        core = text[1:] if text[:1] in ("c", "C") else text
        cores = self.packages[first]
        return union(cores) if core == "*" else self.piece(slot, core, cores, "this package")

    def whole_packages(self, slot: Word, text: str) -> CpuSet:
        """`0`, `0-1`, `0,1` or `*`, of packages."""
        packages = [union(cores) for cores in self.packages]
        if text == "*":
            return union(self.cores)
        return union([self.piece(slot, piece, packages, "this machine") for piece in text.split(",")])

    def piece(self, slot: Word, text: str, units: Sequence[CpuSet], holder: str) -> CpuSet:
        """One number or range; with `physical`, and without a package, of the kernel's CPU numbers, each with its core."""
        first, last = self.field(slot, text)
        if self.physical and units is self.units:
            wanted = CpuSet.span(first, last)
            if wanted - self.machine.cpus.online:
                raise self.draft.wrong(slot, f"{quoted(text)}: this machine has the CPUs {self.machine.cpus.online}")
            return wanted if self.hardware_threads else union([core for core in self.cores if core & wanted])
        if last >= len(units):
            raise self.draft.wrong(slot, f"{quoted(text)}: {holder} has {len(units)} of them, counted from 0")
        return union(units[first : last + 1])

    def field(self, slot: Word, text: str) -> tuple[int, int]:
        """First and last number."""
        found = _FIELD.fullmatch(text)
        if found is None:
            raise self.draft.wrong(slot, f"{quoted(text)}: expected cores such as 0-3, or package:cores such as 1:0-3")
        first = int(found[1])
        last = first if found[2] is None else int(found[2])
        if last < first:
            raise self.draft.wrong(slot, f'{quoted(text)} runs backwards, did you mean "{last}-{first}"')
        return min(first, 65_535), min(last, 65_535)


def logical_cores(machine: Machine) -> list[CpuSet]:
    """The cores in hwloc's logical order: by what holds them, the largest first, and in each by lowest CPU.

    A CPU of no known core is one of its own.
    """
    online = machine.cpus.online
    cores = [core.cpus & online for core in machine.cores if core.cpus & online]
    cores += [CpuSet.of((cpu,)) for cpu in online - union(cores)]
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
