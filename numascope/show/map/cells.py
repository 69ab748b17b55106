"""What the map says of each CPU: whose it is, who ran there, and what is wrong there. Pure: a report in, cells out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.review.report import Placement, Report
from numascope.show.glyphs import eighths

SEAT_CPUS: Final = 4
"""A target of more CPUs has no one seat that could be seen empty."""

SCHEDULER: Final = "S"

_ROLES: Final = {
    "main": "m", "runtime": "r", "pynative": "p", "minddata": "d", "loader": "l", "kernel": "k", "omp": "o",
    "comm": "c", "autograd": "a", "housekeeping": "h", "engine": "e", "frontend": "f",
}  # fmt: skip
"""Second column of wide cells; roles that no plan speaks of and that seldom run have none."""


class Cell(NamedTuple):
    """One CPU, or several folded into one: the worst mark, the rank it speaks of, its role and its load step."""

    mark: str
    """A key of `glyphs.CELLS`, or `ran` or `planned`."""
    letter: str = ""
    role: str = " "
    step: int | None = None


@dataclass(frozen=True)
class MapCells:
    """Every online CPU's cell, who ran where, and the load steps that the next picture starts from."""

    of: Mapping[int, Cell]
    planned: Mapping[int, Cell]
    ran: Mapping[int, tuple[Placement, ...]] = field(default_factory=dict)
    """CPU → the threads that ran there in the last interval, busiest first."""

    def steps(self) -> dict[int, int]:
        """CPU → its load step, where it is known."""
        return {cpu: cell.step for cpu, cell in self.of.items() if cell.step is not None}


_RANKING: Final = (
    "escaped", "stranger", "blocked", "seat", "narrow", "ran", "planned", "several", "isolated", "denied", "free", "offline",
)  # fmt: skip
_WORSE: Final = {mark: at for at, mark in enumerate(_RANKING)}


def letter_of(report: Report, placement: Placement) -> str:
    """The letter of the thread's rank, `S` for a planned scheduler, else empty."""
    if placement.rank is not None:
        return report.ranks[placement.rank].letter
    return SCHEDULER if placement.target is not None else ""


def role_letter(name: str) -> str:
    """The one letter of a role, or a blank."""
    return _ROLES.get(name, " ")


def ran_outside(placement: Placement) -> bool:
    """Whether the thread, escaped or astray, ran on a CPU that is not its own in the last interval."""
    return (
        placement.verdict in ("escaped", "astray")
        and bool(placement.busy)
        and placement.target is not None
        and placement.cpu is not None
        and placement.cpu not in placement.target.cpus
    )


def map_cells(report: Report, before: Mapping[int, int]) -> MapCells:
    """The cells of a report; `before` are the load steps of the picture before it."""
    ran = _who_ran(report)
    owners, roles = _owners(report)
    marks = _marks(report, ran, owners)
    held = _held(report)
    found: dict[int, Cell] = {}
    planned: dict[int, Cell] = {}
    machine = report.machine
    for cpu in machine.cpus.online:
        step = eighths(report.loads.get(cpu), before.get(cpu))
        plain = _planned(cpu, owners, roles)
        planned[cpu] = plain._replace(step=step) if plain else Cell("free", step=step)
        cell = marks.get(cpu) or _ran(report, cpu, ran, owners) or plain
        if cell is None:
            aside = "denied" if held is not None and cpu not in held else "free"
            cell = Cell("isolated" if cpu in machine.cpus.isolated else aside)
        found[cpu] = cell._replace(step=step)
    return MapCells(found, planned, ran)


def _who_ran(report: Report) -> dict[int, tuple[Placement, ...]]:
    ran: dict[int, list[Placement]] = defaultdict(list)
    for placement in report.placements:
        if placement.cpu is not None and placement.busy and not placement.cpu_stale:
            ran[placement.cpu].append(placement)
    return {cpu: tuple(sorted(threads, key=lambda one: -(one.busy or 0))) for cpu, threads in ran.items()}


def _owners(report: Report) -> tuple[dict[int, list[str]], dict[tuple[int, str], str]]:
    sets: dict[tuple[str, str], CpuSet] = {(rank.letter, " "): rank.planned_cpus for rank in report.ranks}
    seen: set[tuple[int | None, str, int]] = set()
    for placement in report.placements:
        if placement.target is None or placement.role.confidence == "unknown":
            continue
        wanted = (placement.rank, placement.role.name, placement.target.planned.bits)
        if wanted in seen:
            continue
        seen.add(wanted)
        key = (letter_of(report, placement), role_letter(placement.role.name))
        sets[key] = sets.get(key, EMPTY) | placement.target.planned
    owners: dict[int, list[str]] = defaultdict(list)
    roles: dict[tuple[int, str], str] = {}
    for (letter, role), cpus in sets.items():
        for cpu in cpus:
            if letter not in owners[cpu]:
                owners[cpu].append(letter)
            if role != " ":
                place = (cpu, letter)
                roles[place] = role if roles.get(place, role) == role else " "
    return owners, roles


def _planned(cpu: int, owners: Mapping[int, list[str]], roles: Mapping[tuple[int, str], str]) -> Cell | None:
    letters = owners.get(cpu, [])
    if not letters:
        return None
    if len(letters) > 1:
        return Cell("several")
    return Cell("planned", letters[0], roles.get((cpu, letters[0]), " "))


def _ran(
    report: Report, cpu: int, ran: Mapping[int, tuple[Placement, ...]], owners: Mapping[int, list[str]]
) -> Cell | None:
    for placement in ran.get(cpu, ()):
        letter = letter_of(report, placement)
        if letter and (letter in owners.get(cpu, ()) or not owners.get(cpu)):
            return Cell("ran", letter, role_letter(placement.role.name))
    return None


def _marks(
    report: Report, ran: Mapping[int, tuple[Placement, ...]], owners: Mapping[int, list[str]]
) -> dict[int, Cell]:
    found: dict[int, Cell] = {}

    def note(cpu: int, mark: str, letter: str) -> None:
        if cpu not in found or _WORSE[mark] < _WORSE[found[cpu].mark]:
            found[cpu] = Cell(mark, letter)

    here = {(cpu, letter_of(report, one)) for cpu, threads in ran.items() for one in threads}
    cut: set[tuple[str, CpuSet, CpuSet]] = set()
    for placement in _ranks_first(report.placements):
        letter = letter_of(report, placement)
        target = placement.target
        if target is not None and target.planned != target.cpus and (letter, target.planned, target.cpus) not in cut:
            cut.add((letter, target.planned, target.cpus))
            for cpu in target.planned - target.cpus:
                note(cpu, "blocked", letter)
        if placement.verdict == "narrow" and placement.cpu is not None:
            note(placement.cpu, "narrow", letter)
        if ran_outside(placement) and placement.cpu is not None:
            note(placement.cpu, "escaped", letter)
        for cpu in _seats(placement):
            if len(_seats(placement)) == 1 or (cpu, letter) not in here:
                note(cpu, "seat", letter)
    for cpu in _disturbed(report):
        note(cpu, "stranger", owners[cpu][0] if owners.get(cpu) else "")
    return found


def _ranks_first(placements: Sequence[Placement]) -> list[Placement]:
    """Where two threads have the same mark on one CPU, the lower rank's letter stands there, the scheduler's last."""
    return sorted(placements, key=lambda one: (one.rank is None, one.rank or 0))


def _seats(placement: Placement) -> CpuSet:
    """The few CPUs that a thread outside its target left; none while it was last seen on one of them."""
    target = placement.target
    if placement.verdict not in ("escaped", "astray") or target is None or len(target.cpus) > SEAT_CPUS:
        return EMPTY
    is_home = placement.cpu is not None and not placement.cpu_stale and placement.cpu in target.cpus
    return EMPTY if is_home else target.cpus


def _disturbed(report: Report) -> set[int]:
    """The CPUs of threads that wait because others use their CPU."""
    waiting = {one.keys[0] for one in report.findings if one.rule == "shared" and one.severity != "info" and one.keys}
    if not waiting:
        return set()
    return {one.cpu for one in report.placements if one.key in waiting and one.cpu is not None}


def _held(report: Report) -> CpuSet | None:
    """The CPUs that any watched process may use; None where no cpuset is known."""
    known = [facts.cpuset for facts in report.sample.processes.values() if facts.cpuset is not None]
    if not known or len(known) < len(report.sample.processes):
        return report.machine.cpus.allowed
    union = EMPTY
    for cpuset in set(known):
        union = union | cpuset
    return union


def folded(cells: Iterable[Cell], *, busier: bool) -> Cell:
    """One cell for several: the worst mark, `&` where ranks differ, the busier load or the mean one."""
    several = list(cells)
    if len(several) == 1:
        return several[0]
    steps = [cell.step for cell in several if cell.step is not None]
    step = None if not steps else max(steps) if busier else round(sum(steps) / len(steps))
    worst = min(several, key=lambda cell: _WORSE[cell.mark])
    letters = {cell.letter for cell in several if cell.mark == worst.mark}
    if worst.mark in ("ran", "planned") and len(letters) > 1:
        return Cell("several", step=step)
    roles = {cell.role for cell in several if cell.mark == worst.mark}
    role = roles.pop() if len(roles) == 1 else " "
    return Cell(worst.mark, worst.letter if len(letters) == 1 else "", role, step)
