"""Samples in, reports out: the one place where plan, machine, jobs and evidence come together, tick by tick."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from numascope.host.pci.numbers import NO_NUMBERS, DeviceNumbers
from numascope.machine.objects import Machine
from numascope.observe.jobs import Job
from numascope.observe.rates import loads_between, shares_between
from numascope.observe.roles.names import OwnNames
from numascope.observe.sample import NOBODY, ProcessFacts, Sample, ThreadKey, Threads
from numascope.observe.select import Wanted, select_jobs
from numascope.plan.objects import Plan
from numascope.review.cast import Cast, make_cast, may_tell_more
from numascope.review.conditions import NO_IRQS, FindingMaker, IrqPlaces, Scene, Strangers
from numascope.review.memory import node_rates
from numascope.review.memory_places import MemoryPlaces, asks_in_vain, unread_notes
from numascope.review.placements import Placer, Window
from numascope.review.ranks import view_ranks
from numascope.review.report import CgroupRates, Report
from numascope.review.thread_findings import UNTOLD
from numascope.review.throttled import rates_between

_CAST_AGAIN: Final = 10
"""Roles that threads have by CPU time or mask are looked at again every tenth sample, where these changed."""

PENDING_FOR_S: Final = 600.0


class Samples(Protocol):
    """Where samples come from: a live sampler, or a recording."""

    def sample(self) -> Sample:
        """The next sample."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """What is watched and against what: the user's pids, his plan and where it came from."""

    wanted: tuple[Wanted, ...]
    plan: Plan | None
    plan_source: str
    window_s: float = 1.0
    pending_for_s: float = PENDING_FOR_S
    notes: tuple[str, ...] = ()
    partial: bool = False
    """Something that the question needs could not be read: the job's own plan."""
    own: OwnNames | None = None
    """The user's own names of threads."""
    numbers: DeviceNumbers = NO_NUMBERS
    """Which device has which number."""


class Watch:
    """Judges one sample a step; evidence of a thread is kept as long as its mask and target stand."""

    def __init__(
        self,
        machine: Machine,
        read_machine: Callable[[], Machine],
        samples: Samples,
        strangers: Strangers,
        question: Question,
        irqs: IrqPlaces = NO_IRQS,
    ) -> None:
        self._machine = machine
        self._read_machine = read_machine
        self._samples = samples
        self._findings = FindingMaker(question.plan, strangers, irqs)
        self._question = question
        self._placer = Placer(self._machine, question.pending_for_s)
        self._memory = MemoryPlaces()
        self._window: deque[Sample] = deque()
        self._cast: Cast | None = None
        self._cast_of: Threads = NOBODY
        self._cleaners: set[ThreadKey] = set()
        self._jobs: tuple[Job, ...] = ()
        self._last: Report | None = None
        self._cost_at: tuple[int, int] | None = None
        self._own_busy: float | None = None
        self._first_ns: int | None = None

    def step(self) -> Report:
        """Takes a sample and judges it; once nothing is left, the last report again, marked as ended."""
        sample = self._samples.sample()
        if sample.ended and self._last is not None:
            self._last = _ended(self._last, sample)
            return self._last
        return self.judge(sample)

    def judge(self, sample: Sample) -> Report:
        """The report of a sample, after all the samples before it."""
        before = self._window[-1] if self._window else None
        if before is not None and before.cpu_ticks.keys() != sample.cpu_ticks.keys():
            self._see_hotplug()
        self._slide(sample)
        cast = self._renew_cast(sample, before)
        window = Window(self._window[0], before, sample)
        placements = self._placer.place(window, cast)
        self._memory.see(sample, self._machine)
        ranks = view_ranks(cast, placements, sample.processes, self._question.plan, self._machine, self._memory)
        loads = loads_between(window.first, sample) if window.interval_s else dict.fromkeys(sample.cpu_ticks)
        self._own_busy = self._own_cost(sample)
        counts = Counter([one.verdict for one in placements])
        nodes = node_rates(window.first.nodes, sample.nodes, window.interval_s)
        scene = Scene(
            sample=sample,
            before=before,
            first=window.first,
            cast=cast,
            placements=placements,
            ranks=ranks,
            loads=loads,
            shares=shares_between(window.first, sample) if window.interval_s else {},
            nodes=nodes,
            cgroups=self._cgroup_rates(window),
            own_busy=self._own_busy,
        )
        findings = self._findings.find(scene, self._machine, self._jobs, judged=not counts.keys() <= UNTOLD)
        if self._first_ns is None:
            self._first_ns = sample.monotonic_ns
        report = Report(
            title=self._title(sample.processes),
            machine=self._machine,
            plan=self._question.plan,
            plan_source=self._question.plan_source,
            jobs=self._jobs,
            sample=sample,
            interval_s=window.interval_s,
            placements=placements,
            ranks=ranks,
            findings=findings,
            counts=counts,
            loads=loads,
            nodes=nodes,
            shares=scene.shares,
            cgroups=scene.cgroups,
            partial=self._question.partial
            or bool(sample.denied)
            or counts["unknown"] > 0
            or any(job.notes for job in self._jobs)
            or any(map(asks_in_vain, ranks)),
            notes=tuple(
                dict.fromkeys(
                    [*self._question.notes, *sample.notes, *sample.denied, *_notes(self._jobs), *unread_notes(ranks)]
                )
            ),
            ended=sample.ended,
            since_first_s=(sample.monotonic_ns - self._first_ns) / 1e9,
            own_cpu_share=self._own_busy,
        )
        self._last = report
        return report

    def _see_hotplug(self) -> None:
        """CPUs went offline or came back: the machine is another one, and so are the targets."""
        self._machine = self._read_machine()
        self._placer.see_machine(self._machine)
        self._cast = None

    def _slide(self, sample: Sample) -> None:
        self._window.append(sample)
        # The window is never shorter than asked for, but for 50 ms by which a tick may come early.
        least_ns = int((self._question.window_s - 0.05) * 1e9)
        while len(self._window) > 2 and sample.monotonic_ns - self._window[1].monotonic_ns >= least_ns:
            self._window.popleft()

    def _renew_cast(self, sample: Sample, before: Sample | None) -> Cast:
        old = self._cast
        stands = (
            old is not None
            and before is not None
            and (sample.number % _CAST_AGAIN or not may_tell_more(old, self._cast_of, sample.threads))
            and before.threads.keys == sample.threads.keys
            and before.processes == sample.processes
        )
        if old is not None and stands:
            return old
        self._jobs = select_jobs(sample.processes, self._wanted(sample.processes))
        asked = self._question
        new = make_cast(self._jobs, sample, asked.plan, self._machine, self._cleaners, asked.own, asked.numbers)
        keys = sample.threads.keys
        self._cleaners &= sample.threads.row_of.keys()
        self._cleaners |= {key for key, part in zip(keys, new.parts, strict=True) if part.role.name == "cleaner"}
        self._cast_of = sample.threads
        # An equal cast is the old object, so that rows which nothing happened to are known by it.
        same = old is not None and before is not None and before.threads.keys is sample.threads.keys and old == new
        self._cast = old if same else new
        return self._cast if self._cast is not None else new

    def _wanted(self, processes: Mapping[int, ProcessFacts]) -> tuple[Wanted, ...]:
        """Whom the user gave; for a launcher that ended, the ranks that it left behind."""
        wanted = self._question.wanted
        living = tuple(one for one in wanted if one.pid in processes)
        if len(living) == len(wanted):
            return wanted
        known = {one.pid for one in living}
        orphans = [rank for job in self._jobs for rank in job.ranks if rank.pid in processes and rank.pid not in known]
        return (*living, *(Wanted(rank.pid, rank.device if rank.by_hand else None) for rank in orphans))

    def _cgroup_rates(self, window: Window) -> Mapping[str, CgroupRates]:
        """What the cgroups of the job were kept waiting in the window."""
        then, interval_s = window.first.cgroups, window.interval_s
        if not interval_s:
            return {}
        return {
            name: rates_between(name, then[name], load, interval_s)
            for name, load in window.now.cgroups.items()
            if name in then
        }

    def _title(self, processes: Mapping[int, ProcessFacts]) -> str:
        if not self._jobs:
            return "no process"
        job = self._jobs[0]
        if job.launcher is not None:
            name = {"mindspore": "msrun", "torch": "torchrun"}.get(job.framework, job.framework)
            title = f"{name} {job.launcher}"
        else:
            pid = job.ranks[0].pid if job.ranks else job.pids()[0]
            process = processes.get(pid)
            title = f"{process.comm if process is not None else job.framework} {pid}"
        more = sum(1 for one in self._jobs if one is not job)
        return title if not more else f"{title} and {more} more"

    def _own_cost(self, sample: Sample) -> float | None:
        """CPU that numascope used since the last report, 1.0 = one CPU."""
        then, self._cost_at = self._cost_at, (sample.monotonic_ns, sample.own_ns)
        if then is None or sample.monotonic_ns <= then[0]:
            return None
        return (sample.own_ns - then[1]) / (sample.monotonic_ns - then[0])


def _notes(jobs: Sequence[Job]) -> list[str]:
    return [note for job in jobs for note in (*job.notes, *(one for rank in job.ranks for one in rank.notes))]


def _ended(last: Report, sample: Sample) -> Report:
    """The last state that was seen, kept, with the time at which its end was noticed."""
    if last.ended:
        return last
    note = time.strftime("ended by %H:%M:%S", time.localtime(sample.wall_s))
    return replace(last, ended=True, notes=(*last.notes, note))
