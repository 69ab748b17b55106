"""The formats of /proc, as the kernel writes them and as nobody should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.host.parse_proc import (
    SchedStat,
    parse_cmdline,
    parse_environ,
    parse_numastat,
    parse_policy,
    parse_schedstat,
    parse_stat,
)

STAT = (
    b"812 (%s) S 811 812 800 0 -1 4194304 1 2 3 4 17 5 6 7 20 0 9 0 88412 1 2 3 4 5 6 7 8 9 10 11 12 13 0 0 17 37 0 0 0"
    b" 0 0 0 0 0 0 0 0 0 0\n"
)


@pytest.mark.parametrize("name", [b"python", b"a b) R (x", b")", b"", b" ", b"((", b"x\ny", b"Plex New Transc"])
def test_the_name_in_stat_ends_at_the_last_bracket(name: bytes) -> None:
    record = parse_stat(STAT.replace(b"%s", name))

    assert record is not None
    assert (record.pid, record.state, record.ppid, record.sid) == (812, "S", 811, 800)
    assert (record.utime_ticks, record.stime_ticks, record.threads) == (17, 5, 9)
    assert (record.starttime_ticks, record.cpu) == (88412, 37)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_none(raw: bytes) -> None:
    parse_stat(raw)
    parse_schedstat(raw)
    parse_numastat(raw)
    parse_policy(raw)
    parse_cmdline(raw)


def test_a_short_stat_is_no_record() -> None:
    assert parse_stat(b"812 (python) S 1 2 3") is None


def test_schedstat_is_run_time_wait_and_slices() -> None:
    assert parse_schedstat(b"46080210 2905959 27\n") == SchedStat(46080210, 2905959, 27)
    assert parse_schedstat(b"") is None


def test_numastat_is_a_table_of_pages() -> None:
    assert parse_numastat(b"numa_hit 10\nnuma_miss 0\nother_node 3\n") == {
        "numa_hit": 10,
        "numa_miss": 0,
        "other_node": 3,
    }


@pytest.mark.parametrize(
    ("line", "policy"),
    [
        (b"55d0c0 default file=/usr/bin/python3", "default"),
        (b"55d0c0 bind:0-1 heap", "bind:0-1"),
        (b"55d0c0 prefer (many):1 anon=3", "prefer (many):1"),
        (b"55d0c0 bind=static:1 anon=3", "bind=static:1"),
        (b"55d0c0 weighted interleave:0-1 x", "weighted interleave:0-1"),
        (b"", None),
        (b"no hex", None),
    ],
)
def test_the_policy_is_the_second_word_of_numa_maps(line: bytes, policy: str | None) -> None:
    assert parse_policy(line) == policy


def test_only_wanted_variables_of_an_environment_are_kept() -> None:
    raw = b"RANK=3\0AWS_SECRET=x\0OMP_NUM_THREADS=4\0broken\0RANK=9\0"

    assert parse_environ(raw, ("RANK", "OMP_")) == {"RANK": "3", "OMP_NUM_THREADS": "4"}


def test_a_wanted_name_with_an_asterisk_is_the_end_of_names() -> None:
    raw = b"CUDA_VISIBLE_DEVICES=0\0_VISIBLE_DEVICES=1\0VISIBLE_DEVICES_X=2\0OMP_X=3\0"

    assert parse_environ(raw, ("OMP_", "*_VISIBLE_DEVICES")) == {
        "CUDA_VISIBLE_DEVICES": "0",
        "_VISIBLE_DEVICES": "1",
        "OMP_X": "3",
    }
    assert parse_environ(raw, ("OMP_",)) == {"OMP_X": "3"}


def test_arguments_keep_their_places() -> None:
    assert parse_cmdline(b"python\0\0-u\0") == ("python", "", "-u")
    assert parse_cmdline(b"") == ()
