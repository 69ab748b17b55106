"""Evidence is about what threads do: enough of them, together, and never more than it can say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.observe.roles import Planned, ProcessView, Role, ThreadFacts, roles_of

WIDE, MAIN, DATA = CpuSet.parse("0-7"), CpuSet.parse("0-3"), CpuSet.parse("4-7")
MS = 1_000_000


def thread(tid: int, start: int = 0, run_ns: int = 0, allowed: CpuSet = MAIN, comm: str = "python") -> ThreadFacts:
    return ThreadFacts(tid, comm, start, run_ns, allowed)


def told(threads: list[ThreadFacts], **more: object) -> list[str]:
    given = {"framework": "mindspore", "kind": "rank", "rank_allowed": MAIN, **more}
    view = ProcessView(pid=100, comm="python", cmdline=("python", "train.py"), **given)  # type: ignore[arg-type]  # of one test each
    return [role.name for role in roles_of(view, threads)]


def test_three_that_start_together_are_no_pipeline() -> None:
    assert told([thread(101 + at, 500, 9 * MS) for at in range(3)]) == ["unnamed"] * 3


def test_those_that_wait_belong_to_the_pipeline_of_those_that_work_if_they_started_at_once() -> None:
    at_once = [thread(101 + at, 500 + at, 9 * MS if at < 2 else 0) for at in range(8)]

    assert told([*at_once, thread(120, 530)]) == ["minddata"] * 8 + ["unnamed"]


def test_one_worker_among_many_that_wait_is_alone() -> None:
    assert told([thread(101 + at, 500, 9 * MS if at == 0 else 0) for at in range(8)]) == ["minddata"] + ["unnamed"] * 7


def test_the_pool_that_numpy_starts_is_no_pipeline_and_the_burst_after_it_is() -> None:
    pool = [thread(101 + at, 20 + at, 9 * MS, WIDE) for at in range(7)]
    pipeline = [thread(120 + at, 900 + at, 9 * MS, DATA) for at in range(7)]

    assert told([*pool, *pipeline]) == ["unnamed"] * 7 + ["minddata"] * 7
    assert told(pool, omp_threads=1) == ["minddata"] * 7, "OpenBLAS starts none then"
    assert told(pool[:6]) == ["minddata"] * 6, "that is not one less than its CPUs"


def test_numpy_starts_64_threads_at_most() -> None:
    many = CpuSet.parse("0-191")
    assert told([thread(101 + at, 20, 9 * MS, many) for at in range(63)]) == ["unnamed"] * 63
    assert told([thread(101 + at, 20, 9 * MS, many) for at in range(64)]) == ["minddata"] * 64


def test_threads_that_bound_themselves_are_the_pipeline_before_they_ran() -> None:
    assert told([thread(101 + at, 500, allowed=DATA) for at in range(4)]) == ["minddata"] * 4


def test_the_wider_set_of_before_is_not_a_set_of_their_own() -> None:
    assert told([thread(101 + at, 500, allowed=WIDE) for at in range(4)]) == ["unnamed"] * 4


def test_the_planned_set_tells_a_single_thread() -> None:
    planned = Planned(DATA, "the plan")

    assert told([thread(101, allowed=DATA), thread(102)], minddata=planned) == ["minddata", "unnamed"]
    assert told([thread(101)], minddata=Planned(MAIN, "the plan")) == ["unnamed"], "main's own set tells nothing"


@given(starts=st.lists(st.integers(0, 300), max_size=40))
def test_a_worked_thread_is_of_a_pipeline_exactly_where_four_started_within_half_a_second(starts: list[int]) -> None:
    threads = [thread(101 + at, start, 9 * MS) for at, start in enumerate(starts)]
    ordered = sorted(starts)

    def in_burst(start: int) -> bool:
        return any(
            ordered[at] <= start <= ordered[at + 3] and ordered[at + 3] - ordered[at] <= 50
            for at in range(len(ordered) - 3)
        )

    assert told(threads) == ["minddata" if in_burst(start) else "unnamed" for start in starts]


def omp(threads: list[ThreadFacts], count: int | None) -> list[str]:
    main = thread(100, 0, 1000 * MS)
    return told([main, *threads], framework="torch", omp_threads=count)[1:]


def test_as_many_as_openmp_was_asked_for_are_its_pool() -> None:
    team = [thread(101 + at, 500, 600 * MS) for at in range(3)]

    assert omp([*team, thread(110)], 4) == ["omp"] * 3 + ["unnamed"]


@pytest.mark.parametrize("count", [None, 1, 2, 3, 8])
def test_any_other_number_is_no_pool(count: int | None) -> None:
    team = [thread(101 + at, 500 + 90 * at, 600 * MS) for at in range(3)]

    assert omp(team, count) == ["unnamed"] * 3


def test_a_pool_that_started_at_once_is_told_from_other_busy_threads() -> None:
    team = [thread(101 + at, 500, 600 * MS) for at in range(3)]

    assert omp([*team, thread(110, 900, 700 * MS)], 4) == ["omp"] * 3 + ["unnamed"]


def test_a_busy_thread_on_another_set_is_not_of_the_pool() -> None:
    assert omp([thread(101, 500, 600 * MS, DATA)], 2) == ["unnamed"]


def cleaner(run_ns: int | None, busiest_ns: int | None, allowed: CpuSet = MAIN, *, was: bool = False) -> Role:
    view = ProcessView(
        "mindspore", "helper", 200, "python", ("python", "train.py"), MAIN, was, ("python", "train.py"), busiest_ns
    )
    return roles_of(view, [ThreadFacts(200, "python", 1, run_ns, allowed)])[0]


def test_a_single_thread_on_its_ranks_set_is_a_cleaner_only_while_it_works_less_than_its_siblings() -> None:
    assert cleaner(30 * MS, 1190 * MS).name == "cleaner"
    assert cleaner(1130 * MS, 1190 * MS).name == "minddata"
    assert cleaner(900 * MS, 80_000 * MS).name == "cleaner", "it wakes up every now and then, for hours"
    assert cleaner(90 * MS, 90 * MS).name == "cleaner", "nobody has worked yet"
    assert cleaner(None, None).name == "cleaner"


def test_a_cleaner_stays_one_when_its_ranks_set_changes_unless_it_works() -> None:
    assert cleaner(1 * MS, 1000 * MS, DATA).name == "minddata"
    assert cleaner(1 * MS, 1000 * MS, DATA, was=True).name == "cleaner"
    assert cleaner(900 * MS, 1000 * MS, DATA, was=True).name == "minddata"


def test_a_child_with_another_command_line_is_no_dataset_process() -> None:
    view = ProcessView(
        "mindspore", "helper", 200, "npu-smi", ("npu-smi", "info"), MAIN, parent_cmdline=("python", "t.py")
    )

    assert roles_of(view, [thread(200, comm="npu-smi")])[0].name == "main"
