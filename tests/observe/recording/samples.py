"""Samples made by hand or at random, and recordings of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.host.maps import Kind
from numascope.host.parse_sched import SchedCounters, Scheduling
from numascope.host.parse_stat import CpuTicks
from numascope.host.system.cgroup_load import CgroupLoad
from numascope.observe.balancing import Balancing
from numascope.observe.interrupts import Interrupt
from numascope.observe.interval import Interval
from numascope.observe.recording.format import Header
from numascope.observe.recording.frames import Frame
from numascope.observe.recording.reader import open_recording
from numascope.observe.recording.writer import Recorder
from numascope.observe.sample import NodeCounters, ProcessFacts, Sample, ThreadKey, Threads
from numascope.observe.seen_memory import PolicyGroup, SeenMemory
from numascope.observe.share import MemoryShare, NodeShare, Share
from numascope.observe.strangers import Stranger

HEADER = Header(
    numascope="0.1.0", wall_s=1.7e9, interval_s=1.0, window_s=1.0, pending_for_s=600.0, wanted=[(10, None, False)]
)
Step = tuple[Sample, tuple[Stranger, ...], bytes | None]


def record(path: Path, steps: Sequence[Step], *, redact: bool = False, keyframe_every: int = 60) -> None:
    """Writes these steps; the first has a machine."""
    path.unlink(missing_ok=True)
    with Recorder(str(path), HEADER, redact=redact, keyframe_every=keyframe_every) as recorder:
        for sample, strangers, machine in steps:
            if machine is not None:
                recorder.machine(machine)
            recorder.write(sample, strangers)


def read(path: Path) -> tuple[list[Frame], str]:
    """The frames that can be read, and what was lost."""
    with open_recording(str(path)) as recording:
        return list(recording.frames()), recording.lost


# Made by hand


def idle_sample(threads: int, cpus: int = 192) -> Sample:
    """Eight ranks' threads, all asleep, with counters as of a job that has run for a while."""
    random = Random(5)  # noqa: S311  # any numbers will do, but the same ones each time
    each = max(1, threads // 8)
    keys = tuple(
        ThreadKey(1000 + at // each * 5000, 1000 + at // each * 5000 + at % each, 9000 + at // 7, 0)
        for at in range(threads)
    )
    sets = [CpuSet.span(24 * rank, 24 * rank + 23) for rank in range(9)]
    names = ("python", "ActorThread_1", "pt_autograd_0", "launch_queue")

    def column(most: int) -> tuple[int, ...]:
        return tuple(random.randrange(most) for _ in keys)

    columns = Threads(
        keys,
        tuple(random.choice(names) for _ in keys),
        ("S",) * threads,
        column(cpus),
        tuple(sets[at // each] for at in range(threads)),
        column(10**12),
        column(10**10),
        (slices := column(10**6)),
        column(10**4),
        tuple(Scheduling("other", 0, random.choice((0, 0, 0, 5))) for _ in keys),
        tuple(SchedCounters(count - count // 50, count // 50, 0, 0, -1) for count in slices),
        (1,) * threads,
        {key: row for row, key in enumerate(keys)},
    )
    facts = {key.pid: ProcessFacts(key.pid, 1, 1, 1, "python", ("python",), {"RANK": str(key.pid)}) for key in keys}
    ticks = {
        cpu: CpuTicks(random.randrange(10**7), random.randrange(10**6), 10**4, 10**3, 10**8, 0) for cpu in range(cpus)
    }
    nodes = {node: NodeCounters(10**6, 10**9, 5, 6, None) for node in range(8)}
    return Sample(1, 10**15, 1.7e9, columns, facts, ticks, nodes, cost_ns=10**7, own_ns=10**8)


def next_sample(sample: Sample, active: float, random: Random) -> Sample:
    """A second later: a share of the threads ran, a tenth of the others was looked at."""
    old, number = sample.threads, sample.number + 1
    ran = set(random.sample(range(len(old.keys)), int(active * len(old.keys))))

    def column(values: Sequence[int | None], become: Callable[[int], int]) -> tuple[int | None, ...]:
        return tuple(become(value or 0) if row in ran else value for row, value in enumerate(values))

    switched = {row: random.randrange(1000) for row in ran}
    threads = replace(
        old,
        states=tuple("R" if row in ran and random.random() < 0.4 else "S" for row in range(len(old.keys))),
        cpus=column(old.cpus, lambda cpu: random.randrange(24) if random.random() < 0.3 else cpu),
        run_ns=column(old.run_ns, lambda ns: ns + random.randrange(10**9)),
        wait_ns=column(old.wait_ns, lambda ns: ns + random.randrange(10**7)),
        slices=tuple((count or 0) + switched.get(row, 0) for row, count in enumerate(old.slices)),
        counters=tuple(
            one._replace(
                voluntary=(one.voluntary or 0) + (often := switched[row] * 9 // 10),
                involuntary=(one.involuntary or 0) + switched[row] - often,
            )
            if row in ran
            else one
            for row, one in enumerate(old.counters)
        ),
        migrations=column(old.migrations, lambda count: count + (random.randrange(3) if random.random() < 0.3 else 0)),
        seen=tuple(
            number if row in ran or (key.tid + number) % 10 == 0 else seen
            for row, (key, seen) in enumerate(zip(old.keys, old.seen, strict=True))
        ),
    )
    return replace(
        sample,
        number=number,
        monotonic_ns=sample.monotonic_ns + 10**9 + random.randrange(10**6),
        wall_s=sample.wall_s + 1.0001,
        threads=threads,
        cpu_ticks={
            cpu: one._replace(user=one.user + (used := random.randrange(100) if ran else 0), idle=one.idle + 100 - used)
            for cpu, one in sample.cpu_ticks.items()
        },
        cost_ns=random.randrange(10**7),
        own_ns=sample.own_ns + 10**7,
    )


# Made at random

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=6)
_COUNTER = st.none() | st.integers(0, 9) | st.integers(0, 2**64 - 1)
_SETS = st.none() | st.integers(0, 1 << 70).map(CpuSet) | st.sampled_from([CpuSet(0), CpuSet(15), CpuSet(1 << 65_535)])
_WALL = st.floats(0, 1e11, allow_nan=False)
_KEYS = st.builds(ThreadKey, st.integers(1, 3), st.integers(1, 5), st.integers(0, 2), st.integers(0, 2))


_COLUMNS = (
    "comms",
    "states",
    "cpus",
    "allowed",
    "run_ns",
    "wait_ns",
    "slices",
    "migrations",
    "scheduling",
    "counters",
    "seen",
)


@st.composite
def _rows(draw: st.DrawFn) -> Threads:
    keys = tuple(
        draw(st.lists(_KEYS, max_size=8, unique=True).map(lambda keys: sorted(keys) if len(keys) % 3 else keys))
    )

    def column(one: st.SearchStrategy[object]) -> tuple[object, ...]:
        return tuple(draw(st.lists(one, min_size=len(keys), max_size=len(keys))))

    columns = [
        _TEXT,
        st.sampled_from("RSDZ"),
        st.none() | st.integers(0, 99),
        _SETS,
        *[_COUNTER] * 4,
        st.builds(Scheduling, st.sampled_from(["other", "fifo", "policy 9"]), st.integers(0, 99), st.integers(-20, 19)),
        st.builds(SchedCounters, *[_COUNTER] * 4, st.none() | st.integers(-1, 9)),
        st.integers(0, 20),
    ]
    made = {name: column(one) for name, one in zip(_COLUMNS, columns, strict=True)}
    return Threads(keys, row_of={key: row for row, key in enumerate(keys)}, **made)  # type: ignore[arg-type]  # by name


_FACTS = st.builds(
    ProcessFacts,
    pid=st.just(0),
    ppid=st.integers(0, 5),
    starttime_ticks=st.integers(0, 2**63),
    sid=st.integers(0, 5),
    comm=_TEXT,
    cmdline=st.lists(_TEXT, max_size=3).map(tuple),
    environ=st.none() | st.dictionaries(_TEXT, _TEXT, max_size=3),
    uid=st.none() | st.integers(0, 2**32 - 1),
    threads=st.integers(0, 9),
    cpuset=_SETS,
    policy=st.none() | _TEXT,
    policy_denied=st.booleans(),
    started_s=st.none() | _WALL,
    libraries=st.lists(_TEXT, max_size=2).map(tuple),
    start_stack=st.integers(0, 2**64 - 1),
    mems_allowed=_SETS,
    cgroup=st.none() | _TEXT,
    inner_pid=st.none() | st.integers(1, 9),
)
_BIG = st.integers(0, 2**64 - 1)
_PART = st.floats(0, 1)
_SMALL = st.integers(0, 9)
_SHARE = st.builds(
    Share,
    _SMALL,
    _SMALL,
    st.none() | _BIG,
    st.none()
    | st.lists(st.builds(NodeShare, _SMALL, _SMALL, st.builds(Interval, _PART, _PART, _PART), _BIG), max_size=2).map(
        tuple
    ),
    st.just(math.inf) | st.floats(0, 1e6),
    _PART,
)
_MEMORY = st.builds(
    SeenMemory,
    _BIG,
    _BIG,
    st.builds(
        MemoryShare,
        _SHARE,
        st.dictionaries(
            st.builds(Kind, st.sampled_from(["heap", "huge"]), st.none() | st.just(2048)), _SHARE, max_size=2
        ),
        st.sampled_from(["", "PAGEMAP_SCAN"]),
        _TEXT,
        st.lists(_TEXT, max_size=2).map(tuple),
        _BIG,
    ),
    st.lists(
        st.builds(PolicyGroup, st.none() | _TEXT, _SMALL, st.lists(_SMALL, max_size=3).map(tuple)), max_size=2
    ).map(tuple),
)
_PER_S = st.none() | st.floats(0, 1e9)
SAMPLES = st.builds(
    Sample,
    number=st.integers(20, 2**40),
    monotonic_ns=_BIG,
    wall_s=_WALL,
    threads=_rows(),
    processes=st.dictionaries(st.integers(1, 4), _FACTS).map(
        lambda facts: {pid: replace(one, pid=pid) for pid, one in facts.items()}
    ),
    cpu_ticks=st.dictionaries(st.integers(0, 3), st.builds(CpuTicks, *[_BIG] * 6)),
    nodes=st.dictionaries(st.integers(0, 2), st.builds(NodeCounters, *[_COUNTER] * 6)),
    cgroups=st.dictionaries(
        _TEXT,
        st.builds(CgroupLoad, st.none() | st.floats(0, 999), _TEXT, *[_COUNTER] * 6, pressure_is_own=st.booleans()),
        max_size=2,
    ),
    unseen_ns=st.dictionaries(st.integers(1, 4), _BIG, max_size=2),
    clocks_khz=st.dictionaries(st.integers(0, 3), st.integers(0, 10**7)).map(
        lambda clocks: dict(sorted(clocks.items()))
    ),
    interrupts=st.lists(
        st.builds(Interrupt, st.integers(0, 9), _TEXT, st.integers(0, 3), st.floats(0, 1e6)), max_size=2
    ).map(tuple),
    vanished=st.integers(0, 9),
    denied=st.lists(_TEXT, max_size=2).map(tuple),
    ended=st.booleans(),
    cost_ns=_BIG,
    own_ns=_BIG,
    notes=st.lists(_TEXT, max_size=2).map(tuple),
    memory=st.dictionaries(st.integers(1, 4), _MEMORY, max_size=3).map(lambda memory: dict(sorted(memory.items()))),
    balancing=st.builds(Balancing, st.none() | _SMALL, st.none() | _SMALL, *[_PER_S] * 4),
)


_ASIDES = ("cgroups", "unseen_ns", "clocks_khz", "interrupts", "memory", "balancing")


@st.composite
def _later(draw: st.DrawFn) -> list[Sample]:
    """Samples of which each shares much with the one before, as real ones do."""
    samples = [draw(SAMPLES)]
    for _ in range(draw(st.integers(0, 5))):
        old, other = samples[-1], draw(SAMPLES)
        names = draw(
            st.sets(st.sampled_from(["threads", "processes", "cpu_ticks", "nodes", "denied", "notes", *_ASIDES]))
        )
        new = replace(other, **{name: getattr(old, name) for name in names})
        if draw(st.booleans()) and old.threads.keys:
            row = draw(st.integers(0, len(old.threads.keys) - 1))
            new = replace(new, threads=draw(st.sampled_from([_without, _born_anew, _ran]))(old.threads, row))
        samples.append(new)
    return samples


def _with_keys(threads: Threads, keys: Sequence[ThreadKey]) -> Threads:
    return replace(threads, keys=tuple(keys), row_of={key: row for row, key in enumerate(keys)})


def _without(threads: Threads, row: int) -> Threads:
    cut = {name: getattr(threads, name)[:row] + getattr(threads, name)[row + 1 :] for name in _COLUMNS}
    return _with_keys(replace(threads, **cut), threads.keys[:row] + threads.keys[row + 1 :])


def _born_anew(threads: Threads, row: int) -> Threads:
    keys = list(threads.keys)
    keys[row] = keys[row]._replace(epoch=keys[row].epoch + 7)
    return _with_keys(threads, keys) if len(set(keys)) == len(keys) else threads


def _ran(threads: Threads, row: int) -> Threads:
    times = list(threads.run_ns)
    times[row] = (times[row] or 0) // 2 + 1
    return replace(threads, run_ns=tuple(times))


_STRANGERS = st.lists(
    st.builds(
        Stranger,
        st.integers(1, 9),
        _TEXT,
        st.integers(0, 9),
        st.none() | st.floats(0, 64),
        st.none() | st.integers(1, 9),
        _TEXT,
        st.booleans(),
    ),
    max_size=3,
).map(tuple)


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    """What a recording is written from; the machine comes first and now and then anew."""
    samples = draw(_later())
    return [
        (one, draw(_STRANGERS), draw(st.binary(max_size=9) if at == 0 else st.none() | st.binary(max_size=9)))
        for at, one in enumerate(samples)
    ]
