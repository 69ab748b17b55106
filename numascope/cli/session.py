"""From what the user typed to a watch on it: processes found, plan loaded, machine read, sampler opened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from numascope.cli.living import why_missing
from numascope.cli.targets import Target, resolved, several_jobs
from numascope.cli.torch_job import plan_of_torchrun
from numascope.errors import InputError, NotPermittedError, TargetGoneError, UsageError
from numascope.host import procfs
from numascope.host.pci.numbers import NO_NUMBERS, DeviceNumbers, read_device_numbers, with_nvml
from numascope.host.pci.nvml import ask_nvml, load_nvml
from numascope.host.root import HostRoot
from numascope.host.text import safe_text
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine
from numascope.observe.facts import scan_facts
from numascope.observe.jobs import BY_HAND, Facts, Job, find_jobs
from numascope.observe.memory_watch import MemoryWatch
from numascope.observe.roles.names import OwnNames
from numascope.observe.sampler import Sampler
from numascope.observe.select import Wanted, roots_of, select_jobs, wanted_of
from numascope.observe.strangers import StrangerScan
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import plan_bytes, read_plan
from numascope.plan.load import parse_plan
from numascope.plan.objects import SCHEDULER, Plan, Subject
from numascope.review.conditions import IrqPlaces
from numascope.review.report import Report
from numascope.review.watch import PENDING_FOR_S, Question, Watch
from numascope.tui.source import ReportSource

UNUSABLE: Final = "the job's own plan cannot be used"
_NVML_S: Final = 1.0
_NOHZ_WINDOW_S: Final = 2.0
"""On nohz_full CPUs schedstat was measured to stand still for a second and then to jump."""

SAMPLES: Final = 10
"""A one-shot verb looks ten times, so that time outside is seen and not only masks."""


Pick = Callable[[Sequence[Job], Facts], Job]
"""Lets the user take one of several jobs."""


class Looking(ReportSource, Protocol):
    """A source of reports that a verb can also ask for one that sums up a while: a live session, or a recording."""

    def look(self, for_s: float, samples: int = SAMPLES) -> Report:
        """The report of a while."""
        ...


@dataclass
class Session:
    """A watch and what it stands on; a source of reports that whoever opened it closes."""

    watch: Watch
    sampler: Sampler
    question: Question
    interval_s: float
    plan_data: bytes | None = None
    """The plan's bytes, as a recording keeps them."""
    is_recorded = False

    @property
    def pace(self) -> str:
        """How the dashboard names the time between two looks."""
        return f"live {self.interval_s:g}s"

    def step(self) -> Report:
        """The next report, now."""
        return self.watch.step()

    def look(self, for_s: float, samples: int = SAMPLES) -> Report:
        """The report of so many samples, two at least, spread over `for_s`."""
        report = self.step()
        began_s = time.monotonic()
        for count in range(1, samples):
            time.sleep(max(0.0, began_s + for_s * count / (samples - 1) - time.monotonic()))
            if count == SAMPLES - 1:  # to place threads, fewer looks do, and none at memory
                self.sampler.finish_memory()
            report = self.step()
        return report

    def close(self) -> None:
        """Gives all descriptors back."""
        self.sampler.close()


def open_session(
    targets: Sequence[Target],
    plan_path: str | None,
    *,
    interval_s: float,
    window_s: float,
    pending_for_s: float = PENDING_FOR_S,
    own: OwnNames | None = None,
    pick: Pick | None = None,
    dialect: str | None = None,
    with_memory: bool = True,
) -> Session:
    """Finds the processes that are meant, and the plan; without targets those jobs that the plan speaks of.

    Where neither is given and several jobs run, `pick` lets the user take one. `with_memory` has every look also tell where memory lies.
    """
    root = HostRoot()
    plan_data = None if plan_path is None else plan_bytes(plan_path)
    machine = build_machine(root)
    given = None if plan_path is None or plan_data is None else (safe_text(plan_path), plan_data)
    plan = None if given is None else read_plan(*given, Scene(machine), dialect)
    facts = scan_facts(root)
    notes: list[str] = []
    if targets:
        wanted, hidden = _present(root, facts, resolved(targets, facts, find_jobs(facts)), notes)
    else:
        wanted, hidden = _wanted_by(plan, facts, pick), False
    if plan is not None:
        _check_subjects(plan, wanted)
    jobs = select_jobs(facts, wanted)
    source = "given" if plan is not None else ""
    if plan is None:
        plan, plan_data, source = _own_plan(facts, jobs, machine, notes)
    nodes = [node.id for node in machine.nodes]
    memory_nodes = [node.id for node in machine.nodes if node.memory_kib != 0]
    memory = MemoryWatch(root, wanted, memory_nodes) if with_memory else None
    sampler = Sampler(root, roots_of(jobs) or [one.pid for one in wanted], nodes, memory=memory)
    if machine.cpus.nohz_full and window_s < _NOHZ_WINDOW_S:
        notes.append(f"counters of CPU {machine.cpus.nohz_full} (nohz_full) move once a second: rates need two or more")
        window_s = _NOHZ_WINDOW_S
    partial = hidden or source == UNUSABLE
    numbers = _numbers(root, machine)
    question = Question(wanted, plan, source, window_s, pending_for_s, tuple(notes), partial, own, numbers)
    irqs = IrqPlaces(sampler.irq_cpus, sampler.irq_node)
    watch = Watch(machine, lambda: build_machine(root), sampler, StrangerScan(root), question, irqs)
    return Session(watch, sampler, question, interval_s, plan_data)


def _numbers(root: HostRoot, machine: Machine) -> DeviceNumbers:
    """The numbers of this host's accelerators; NVIDIA's library is asked where there are such GPUs, for a limited time."""
    if not machine.devices:
        return NO_NUMBERS
    numbers = read_device_numbers(root)
    library = load_nvml() if "nvidia" in numbers.orders else None
    report = None if library is None else ask_nvml(library, _NVML_S)
    return numbers if report is None else with_nvml(numbers, report)


def _check_subjects(plan: Plan, wanted: Sequence[Wanted]) -> None:
    """A device that the user gives by hand has to be one that the plan speaks of."""
    subjects = plan.subjects()
    for one in wanted:
        subject = SCHEDULER if one.scheduler else None if one.device is None else Subject(one.device)
        if subject is not None and subject not in subjects:
            named = ", ".join(map(str, subjects)) or "nobody"
            raise UsageError(f"{one.pid}={subject}: {plan.path} says nothing of {subject}, it names {named}")


def _present(
    root: HostRoot, facts: Facts, targets: Sequence[Wanted], notes: list[str]
) -> tuple[tuple[Wanted, ...], bool]:
    """The targets that exist, and whether another one is hidden; an error where none does, a note for each that does not."""
    present = tuple(one for one in targets if one.pid in facts)
    missing = [why_missing(root, one.pid) for one in targets if one.pid not in facts]
    if not present:
        raise missing[0]
    notes.extend(str(error) for error in missing)
    hidden = any(isinstance(error, NotPermittedError) for error in missing)
    twice = {one.pid for one in present if sum(one.pid == other.pid for other in present) > 1}
    if twice:
        raise UsageError(f"{min(twice)} is given twice: name each process once")
    return present, hidden


def _wanted_by(plan: Plan | None, facts: Facts, pick: Pick | None) -> tuple[Wanted, ...]:
    """Without pids: the jobs started with this very plan, else all whose devices it names; without a plan the only job."""
    jobs = find_jobs(facts)
    if plan is None:
        if len(jobs) == 1:
            return wanted_of(jobs)
        if not jobs:
            raise TargetGoneError("no training job is seen here: give the PID of any process, or try numascope demo")
        if pick is None:
            raise several_jobs(jobs, facts)
        return wanted_of([pick(jobs, facts)])
    own = [job for job in jobs if job.plan_hash == plan.text_sha256 or _same_file(job, plan)]
    devices = {subject.device for subject in plan.subjects() if subject.device is not None}
    planless = [job for job in jobs if job.plan_path is None]
    spoken_of = own or [job for job in planless if any(rank.device in devices for rank in job.ranks)]
    if not spoken_of:
        seen = (
            f"{len(jobs)} job{'' if len(jobs) == 1 else 's'} seen, none of this plan"
            if jobs
            else "no training job is seen here"
        )
        raise TargetGoneError(f"{plan.path}: {seen}; map processes by hand: PID=device0")
    return wanted_of(spoken_of)


def _same_file(job: Job, plan: Plan) -> bool:
    return job.plan_path is not None and os.path.realpath(job.plan_path) == os.path.realpath(plan.path)


def _own_plan(
    facts: Facts, jobs: Sequence[Job], machine: Machine, notes: list[str]
) -> tuple[Plan | None, bytes | None, str]:
    """The plan that the job itself was started with, read as the job would see it, its bytes, and where it is named."""
    if len({job.plan_path for job in jobs if _goes_by_its_plan(job)}) > 1:
        notes.append(
            "these jobs were not started with one plan, so none is used: give it with --plan, or one job alone"
        )
        return None, None, "the jobs have none in common"
    for job in jobs:
        if job.plan_path is None:
            continue
        pid = next(iter(rank.pid for rank in job.ranks), job.scheduler)
        if pid is None:
            continue
        try:
            data, path = _plan_of_job(facts, pid, job.plan_path)
            where = "" if path == job.plan_path else ", a file of its container"
            return parse_plan(safe_text(path), data), data, f"MSRUN_BIND_FILE of the job{where}"
        except (InputError, NotPermittedError) as error:
            notes.append(f"the job's own plan: {error}")
            return None, None, UNUSABLE
    named = next((job for job in jobs if job.plan_source is not None and job.plan_path is None), None)
    if named is not None:
        computed = plan_of_torchrun(named, facts, machine)
        if not isinstance(computed, str):
            return computed
        notes.append(
            f"torchrun was started with {named.plan_source}, not computed here: {computed}; give a plan with --plan"
        )
        return None, None, f"{named.plan_source}, not computed"
    return None, None, "the job names none"


def _goes_by_its_plan(job: Job) -> bool:
    """Whether verdicts on a job follow from its own plan: not those on what the user maps by hand, nor on what has no device."""
    return any(rank.device is not None and rank.device_source != BY_HAND for rank in job.ranks)


def _plan_of_job(facts: Facts, pid: int, path: str) -> tuple[bytes, str]:
    """A path that a target chose is opened below its own root, and only where that target's user could read it; and that path as it is here."""
    inside = procfs.root_of(pid)
    try:
        data = inside.read_as(path, facts[pid].uid, 4 << 20)
        return data, _path_here(inside.path, path)
    except OSError as error:
        raise InputError(
            safe_text(path), f"cannot be read as process {pid} sees it: {error.strerror}; give it with --plan"
        ) from error
    finally:
        inside.close()


def _path_here(root: str, path: str) -> str:
    """A path that a process means, as it leads to the same file from here: a container has its own `/etc`."""
    below = os.path.join(root, path.lstrip("/"))
    try:
        return path if os.path.samefile(below, path) else below
    except OSError:  # there is no such file here
        return below
