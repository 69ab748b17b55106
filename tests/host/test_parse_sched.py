"""How a thread is scheduled, and what the kernel counts of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.host.parse_sched import (
    UNKNOWN,
    SchedCounters,
    SchedRecord,
    Scheduling,
    parse_sched,
    parse_switches,
    scheduling_of,
)

KERNEL_6_1 = b"""python (812, #threads: 9)
-------------------------------------------------------------------
se.exec_start                                :      12220027.138949
se.vruntime                                  :         64512.386478
se.sum_exec_runtime                          :             0.000000
se.nr_migrations                             :                   42
nr_switches                                  :                   30
nr_voluntary_switches                        :                   24
nr_involuntary_switches                      :                    6
se.load.weight                               :              1048576
policy                                       :                    0
prio                                         :                  120
mm->numa_scan_seq                            :                    5
numa_pages_migrated                          :                  900
numa_preferred_nid                           :                    1
total_numa_faults                            :                 1234
current_node=0, numa_group_id=0
numa_faults node=0 task_private=0 task_shared=0 group_private=0 group_shared=0
"""


def test_migrations_switches_and_numa_faults_are_the_kernels_counts() -> None:
    assert parse_sched(KERNEL_6_1) == SchedRecord(
        42, SchedCounters(voluntary=24, involuntary=6, numa_faults=1234, numa_pages_moved=900, preferred_node=1)
    )


def test_a_kernel_without_numa_balancing_leaves_its_counts_unknown() -> None:
    raw = KERNEL_6_1[: KERNEL_6_1.index(b"mm->numa")]

    assert parse_sched(raw) == SchedRecord(42, SchedCounters(24, 6))


def test_no_preferred_node_is_minus_one() -> None:
    raw = KERNEL_6_1.replace(
        b"numa_preferred_nid                           :                    1", b"numa_preferred_nid : -1"
    )

    assert parse_sched(raw).counters.preferred_node == -1


def test_a_name_in_sched_cannot_fake_a_count() -> None:
    raw = b"nr_migrations : (1, #threads: 7)\n-----\nse.nr_migrations : 3\nnr_switches : 2\nnr_voluntary_switches : 2\n"

    assert parse_sched(raw) == SchedRecord(3, SchedCounters(voluntary=2))


@given(st.permutations(KERNEL_6_1.splitlines(keepends=True)[2:]))
def test_the_order_of_the_lines_does_not_matter(lines: list[bytes]) -> None:
    assert parse_sched(b"x (1, #threads: 1)\n---\n" + b"".join(lines)) == parse_sched(KERNEL_6_1)


@given(st.binary(max_size=300))
def test_any_bytes_are_counts_or_unknown(raw: bytes) -> None:
    parse_sched(raw)
    parse_sched(KERNEL_6_1[: len(raw)] + raw)
    parse_switches(raw)


def test_status_has_the_switches_too() -> None:
    raw = b"Name:\tpython\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t5\n"

    assert parse_switches(raw) == SchedRecord(None, SchedCounters(voluntary=150, involuntary=5))
    assert parse_switches(b"Name:\tpython\n") == UNKNOWN


@pytest.mark.parametrize(
    ("policy", "priority", "nice", "text"),
    [
        (b"0", b"0", b"0", "other"),
        (b"0", b"0", b"-5", "other nice -5"),
        (b"1", b"50", b"0", "fifo 50"),
        (b"2", b"10", b"0", "rr 10"),
        (b"5", b"0", b"0", "idle"),
        (b"6", b"0", b"0", "deadline"),
        (b"99", b"0", b"0", "policy 99"),
    ],
)
def test_a_policy_reads_as_chrt_names_it(policy: bytes, priority: bytes, nice: bytes, text: str) -> None:
    assert str(scheduling_of(policy, priority, nice)) == text


def test_only_what_nobody_changed_is_usual() -> None:
    assert Scheduling("other").is_usual
    assert not Scheduling("other", 0, 5).is_usual
    assert not Scheduling("fifo", 1).is_usual


@pytest.mark.live
def test_this_kernels_sched_has_what_its_status_has() -> None:
    folder = Path(f"/proc/{os.getppid()}")  # sleeps while it is read
    sched = folder / "sched"
    if not sched.exists():
        pytest.skip("this kernel has no sched (CONFIG_SCHED_DEBUG)")
    counters, status = parse_sched(sched.read_bytes()).counters, (folder / "status").read_text()
    found = re.search(r"nonvoluntary_ctxt_switches:\s*(\d+)", status)

    assert found is not None
    assert counters.involuntary is not None
    assert abs(counters.involuntary - int(found[1])) < 100
