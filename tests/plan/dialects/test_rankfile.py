from __future__ import annotations

import pytest
from plan.dialects.reading import PAIRED, given_cpus, notes, plan_in, refusal


def test_a_rankfile_names_logical_cores_with_all_their_threads() -> None:
    plan = plan_in("# from the cluster\nrank 0=node7 slot=0-1,3\nrank 1=node7 slots=1:0-1  # second\n", PAIRED)
    assert given_cpus(plan) == {"device0 any": "0-1,3,8-9,11", "device1 any": "4-5,12-13"}
    assert str(plan.rules[1].place) == "file:3:20"
    by_thread = plan_in("# --map-by rankfile:file=x:hwtcpus\nrank 0=a slot=0-1", PAIRED)
    assert given_cpus(by_thread) == {"device0 any": "0,8"}


def test_only_the_first_host_of_a_rankfile_is_read_by_local_rank() -> None:
    plan = plan_in("rank 3=b slot=0\nrank 1=a slot=1\nrank 2=b slot=2\n")
    assert given_cpus(plan) == {"device0 any": "2", "device1 any": "0"}
    assert '2 hosts are named: only the ranks of "b" are read here' in notes(plan)[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rank 0=a slot=16", '1:15: "16": this machine has 16 of them, counted from 0'),
        ("rank 0=a slot=2:0", '1:15: "2:0": this machine has 2 packages, counted from 0'),
        ("rank 0=a slot=1:0:0", "hardware threads are given with hwtcpus"),
        ("rank 0=a slot=0\nrank 0=a slot=1", "2:1: rank 0 is there twice, first in line 1"),
        ("rank 0=a slot=0\nhost a", '2:1: "host a" is no line of a rankfile'),
        ("rank 0=a slot=3-1", '"3-1" runs backwards, did you mean "1-3"'),
        ("rank 0=a slot=p9", '1:15: "9": this machine has 2 of them, counted from 0'),
        ("rank 0=a slot=,;", '",;": expected cores such as 0-3'),
        ("rank 0=a slot=*", '"*": expected cores such as 0-3'),
        ("rank 0=a slot=0, 1", '1:15: "0, 1": mpirun takes slots without blanks and quotes'),
        ('rank 0=a slot="0"', "mpirun takes slots without blanks and quotes"),
        ("rank 0=a slot=0:0-1,3", 'misreads a list with ranges in a package, write "0:0-1;0:3"'),
        ("rank 0=a slot=0:0-8", '"0-8": this package has 8 of them'),
        ("rank 0=a slot=0-1000000000", '"0-1000000000": expected cores'),
        ("rank 0=a", '"rank 0=a" is no line of a rankfile'),
        ("rank 0=a slot=x", '"x": expected cores such as 0-3'),
    ],
)
def test_a_rankfile_that_names_no_cores_of_this_machine(text: str, problem: str) -> None:
    assert problem in refusal(text)


def test_ranks_that_share_a_core_are_told_of() -> None:
    assert "mpirun refuses without overload-allowed" in notes(plan_in("rank 0=a slot=0-1\nrank 1=a slot=1"))[0]


@pytest.mark.parametrize(
    ("slot", "cpus"),
    [
        ("0:*", "0-3,8-11"),
        ("1:0-2", "4-6,12-14"),
        ("1:c0", "4,12"),
        ("s1", "4-7,12-15"),
        ("S0-1", "0-15"),
        ("s*", "0-15"),
        ("s0:1", "1,9"),
        ("0:0;1:3;2", "0,2,7-8,10,15"),
        ("0:0-1,1:0-1", "0-1,4-5,8-9,12-13"),
        ("0:0,1", "0-1,8-9"),
        ("7,0", "0,7-8,15"),
        ("7,,0,;", "0,7-8,15"),
        ("p1:0", "4,12"),
    ],
)
def test_every_form_of_a_slot_list(slot: str, cpus: str) -> None:
    assert given_cpus(plan_in(f"rank 0=a slot={slot}", PAIRED)) == {"device0 any": cpus}


def test_a_package_s_cores_are_cores_whatever_a_plain_number_is() -> None:
    threads = "# --map-by rankfile:file=x:hwtcpus\n"
    assert given_cpus(plan_in(threads + "rank 0=a slot=1:0", PAIRED)) == {"device0 any": "4,12"}
    physical = "# mpirun --mca rmaps_rank_file_physical 1\n"
    assert given_cpus(plan_in(physical + "rank 0=a slot=9", PAIRED)) == {"device0 any": "1,9"}
    assert given_cpus(plan_in(physical + "rank 0=a slot=1:1", PAIRED)) == {"device0 any": "5,13"}


def test_what_versions_of_open_mpi_read_differently_is_told() -> None:
    assert (
        'Open MPI 5 reads one package of "0:0-1,1:0-1": write "0:0-1;1:0-1"'
        in notes(plan_in("rank 0=a slot=0:0-1,1:0-1"))[0]
    )
    assert 'Open MPI 4 reads one core of "0:0,1": write "0:0;0:1"' in notes(plan_in("rank 0=a slot=0:0,1"))[0]
    assert "is a package to Open MPI 5, and core 0 to Open MPI 4" in notes(plan_in("rank 0=a slot=p1"))[0]
    assert notes(plan_in("rank 0=a slot=0:0;0:1")) == []


def test_hosts_comments_and_gaps_are_as_mpirun_has_them() -> None:
    text = "// by hand\nrank 0 = me@node7 slots = 0  // first\n\n  rank 2=+n0 slot=1#last\nrank 3=node7 slot=2\n"
    plan = plan_in(text)
    assert given_cpus(plan) == {"device0 any": "0", "device1 any": "2"}
    assert '2 hosts are named: only the ranks of "node7"' in notes(plan)[0]
    assert "rank 1 is missing: mpirun ends" in notes(plan)[1]
