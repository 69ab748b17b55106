"""What others use of a planned CPU is exact, never overstated, and named as far as a scan has names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reports import placement, rank_view

from numascope.cpuset import CpuSet
from numascope.observe.strangers import Stranger
from numascope.review.report import Finding, Placement
from numascope.review.strangers import has_shared, others_on, shared
from numascope.show.remedy_lines import remedy_parts

RANK = rank_view("A", 100, 0, "0-3", (), 0, "0")


def thread(
    tid: int, cpu: int, busy: float, wait: float = 0.0, allowed: str = "0-3", migrations: float = 0.0
) -> Placement:
    one = placement(tid, "main", "main", 0, "0-3", allowed, cpu, busy=busy, wait=wait, pid=100)
    return replace(one, migrations_per_s=migrations)


def found(share: float, *strangers: Stranger, irq: float = 0.0, wait: float = 0.0) -> Finding:
    """What is said of CPU 2, where a thread of the job runs too."""
    (one,) = shared([RANK], [thread(101, 2, 0.4, wait=wait)], [], {2: share}, strangers, {2: irq})
    return one


@pytest.mark.parametrize(
    ("threads", "others"),
    [
        ([thread(101, 2, 0.4)], 0.6),  # settled: exactly the rest
        ([thread(101, 2, 0.4, migrations=3.0)], 0.6),  # it roams here: the rest at least
        ([thread(101, 5, 0.4, migrations=3.0)], 0.6),  # it may have been here, though it is seen elsewhere
        ([thread(101, 5, 0.4, allowed="5")], 1.0),  # it cannot have been here
        ([thread(101, 2, 0.4), thread(102, 2, 0.7)], 0.0),  # never below nothing
    ],
)
def test_what_others_use_is_never_overstated(threads: list[Placement], others: float) -> None:
    roaming = [replace(one, allowed=CpuSet.parse("0-7")) if one.migrations_per_s else one for one in threads]

    assert others_on(roaming, {2: 1.0}, 0.0)[2] == pytest.approx(others)


def test_numascope_itself_is_no_stranger() -> None:
    assert others_on([], {2: 0.3}, own_busy=0.3)[2] == 0.0


def test_interrupts_are_no_stranger() -> None:
    assert others_on([thread(101, 2, 0.4)], {2: 0.9}, 0.0, {2: 0.08})[2] == pytest.approx(0.42)
    assert shared([RANK], [], [], {2: 0.02}, [], {2: 0.5}) == []


def test_an_unknown_load_says_nothing_of_others() -> None:
    assert others_on([], {2: None}, 0.0) == {}


def test_names_are_worth_looking_for_only_where_others_use_a_planned_cpu() -> None:
    assert has_shared([RANK], {2: 0.1})
    assert not has_shared([RANK], {2: 0.09})
    assert not has_shared([RANK], {4: 1.0})
    assert has_shared([RANK], {2: 0.0}, {2: 0.9}), "ksoftirqd's time is under interrupts"


def test_a_stranger_is_named_where_it_runs_and_can_be_given_other_cpus_by_hand() -> None:
    one = found(0.41, Stranger(2871, "fluent-bit", 2, 0.41), Stranger(7, "elsewhere", 3, 1.0), wait=212.0)

    assert one.severity == "warning"
    assert one.text == "others use 41 % of it: fluent-bit 2871 41 % busy"
    assert one.evidence == "main 101 waits 212 ms/s there"
    assert one.remedy == "not of this job, so numascope does not touch it; by hand: taskset -acp CPUS 2871"


def test_of_a_stranger_with_threads_the_busy_thread_is_named() -> None:
    one = found(0.41, Stranger(2871, "fluent-bit", 2, 0.41, 2893, "flb-pipeline"))

    assert one.text == "others use 41 % of it: fluent-bit 2871 (thread flb-pipeline 2893) 41 % busy"
    assert "fluent-bit 2871 (main thread) 41 %" in found(0.41, Stranger(2871, "fluent-bit", 2, 0.41, 2871, "x")).text


def test_the_two_busiest_have_names_and_the_rest_is_counted() -> None:
    four = [Stranger(10 + at, f"s{at}", 2, 0.1 * (at + 1)) for at in range(4)]

    one = found(1.0, *four)

    assert one.text == "others use 100 % of it: s3 13 40 % busy, s2 12 30 % busy and 2 more"
    assert "taskset -acp CPUS 13; taskset -acp CPUS 12" in one.remedy


def test_what_has_no_name_yet_is_unattributed() -> None:
    assert found(0.41).text == "others use 41 % of it: unattributed"
    assert found(0.53, Stranger(7, "a", 2, 0.41)).text.endswith("a 7 41 % busy, 12 % unattributed")
    assert found(0.50, Stranger(7, "a", 2, 0.41)).text.endswith("a 7 41 % busy"), "ten points are rounding"


def test_one_that_was_seen_once_has_a_name_but_no_number_and_so_has_what_is_missing() -> None:
    assert found(0.9, Stranger(7, "a", 2, None)).text == "others use 90 % of it: a 7 runs here now"


def test_interrupts_are_said_beside_strangers() -> None:
    assert found(0.41, Stranger(7, "a", 2, 0.41), irq=0.08).text.endswith("a 7 41 % busy, 8 % interrupts")


@pytest.mark.parametrize(
    ("comm", "words"),
    [
        ("ksoftirqd/2", "rps_cpus"),
        ("kworker/u16:3-events_unbound", "/sys/devices/virtual/workqueue/cpumask moves unbound work"),
        ("kworker/2:1-events", "bound work (kworker)"),
        ("jbd2/sda1-8", "most of such work"),
    ],
)
def test_for_a_kernel_thread_there_is_no_command_but_what_moves_its_work(comm: str, words: str) -> None:
    one = found(0.3, Stranger(99, comm, 2, 0.3, is_kernel=True))

    assert f"kernel thread {comm} 99 30 % busy" in one.text
    assert words in one.remedy
    assert not any(is_command for _, is_command in remedy_parts(one.remedy))


def test_beside_a_kernel_thread_the_command_for_a_process_can_be_copied_whole() -> None:
    one = found(0.9, Stranger(7, "a", 2, 0.5), Stranger(99, "kworker/2:1-events", 2, 0.4, is_kernel=True))

    assert [text for text, is_command in remedy_parts(one.remedy) if is_command] == ["taskset -acp CPUS 7"]


def test_the_thread_that_serves_interrupts_late_is_a_stranger_though_its_time_is_counted_as_interrupts() -> None:
    """By `irqtime_account_process_tick` of kernel/sched/cputime.c."""
    one = found(0.02, Stranger(99, "ksoftirqd/2", 2, 0.5, is_kernel=True), irq=0.58)

    assert one.text == "others use 52 % of it: kernel thread ksoftirqd/2 99 50 % busy, 8 % interrupts"


def test_a_stranger_that_costs_nobody_anything_is_a_note() -> None:
    assert found(0.41).severity == "info"
    assert found(0.41).evidence == "nobody of the job waits there"


def test_a_thread_that_starves_there_makes_it_a_warning() -> None:
    (one,) = shared([RANK], [], [thread(101, 2, 0.0)], {2: 0.99}, [])

    assert (one.severity, one.evidence) == ("warning", "main 101 starves there")
