"""Lists of the kernel's command line, and isolated cpuset partitions of both ages of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.isolation import boot_list, read_isolation, read_partitioned, read_rcu_nocbs

POSSIBLE = CpuSet.span(0, 31)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("all", "0-31"),
        ("1-3,8", "1-3,8"),
        ("8-N", "8-31"),
        ("N", "31"),
        ("0-15:2/4", "0-1,4-5,8-9,12-13"),
        ("0-31:1/2,1", "0-1,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30"),
        ("3-1", ""),
        ("0-99", ""),
        ("x", ""),
        ("0-3:5/4", ""),
    ],
)
def test_a_boot_list_is_read_as_the_kernel_reads_it_and_a_wrong_one_is_none(text: str, cpus: str) -> None:
    assert boot_list(text, POSSIBLE) == CpuSet.parse(cpus)


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    assert boot_list(text, POSSIBLE) <= POSSIBLE


def test_rcu_nocbs_is_taken_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    root = HostRoot(str(tmp_path))
    for line, cpus in (("quiet rcu_nocbs=2-3 x", "2-3"), ("rcu_nocbs", "0-31"), ("nohz_full=2-3", "")):
        (tmp_path / "proc/cmdline").write_text(f"{line}\n")
        assert read_rcu_nocbs(root, POSSIBLE) == CpuSet.parse(cpus)


def command_line(folder: Path, words: str) -> HostRoot:
    (folder / "proc").mkdir(exist_ok=True)
    (folder / "proc/cmdline").write_text(f"{words}\n")
    return HostRoot(str(folder))


@pytest.mark.parametrize(
    ("words", "isolated", "nohz_full"),
    [
        ("quiet", "", ""),
        ("isolcpus=2-3", "2-3", ""),
        ("isolcpus=domain,2-3 nohz_full=4-7", "2-3", "4-7"),
        ("isolcpus=managed_irq,domain,2-3", "2-3", ""),
        ("isolcpus=managed_irq,2-3", "", ""),
        ("isolcpus=nohz,2-3", "", "2-3"),
        ("isolcpus=nohz,domain,2-3", "2-3", "2-3"),
        ("isolcpus=later_flag,2-3", "2-3", ""),
        ("isolcpus=2-3,zzz nohz_full", "", ""),
        ("nohz_full=8-N", "", "8-31"),
        ("-- isolcpus=2-3", "", ""),
    ],
)
def test_where_sys_has_no_list_the_command_line_tells_who_is_isolated(
    tmp_path: Path, words: str, isolated: str, nohz_full: str
) -> None:
    found = read_isolation(command_line(tmp_path, words), None, None, POSSIBLE)
    assert found == (CpuSet.parse(isolated), CpuSet.parse(nohz_full))


def test_the_lists_of_sys_outrank_the_command_line(tmp_path: Path) -> None:
    root = command_line(tmp_path, "isolcpus=2-3 nohz_full=4-7")
    assert read_isolation(root, CpuSet(), None, POSSIBLE) == (CpuSet(), CpuSet.parse("4-7"))
    assert read_isolation(root, CpuSet(), CpuSet(), POSSIBLE) == (CpuSet(), CpuSet())


def test_without_lists_and_without_a_command_line_isolation_is_unknown(tmp_path: Path) -> None:
    root = HostRoot(str(tmp_path))
    assert read_isolation(root, None, None, POSSIBLE) == (None, None)
    assert read_rcu_nocbs(root, POSSIBLE) is None


def cgroup(folder: Path, **files: str) -> HostRoot:
    top = folder / "sys/fs/cgroup"
    for name, text in {"cgroup.controllers": "cpuset cpu\n", **files}.items():
        path = top / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostRoot(str(folder))


def test_a_kernel_that_lists_isolated_cpus_is_asked_for_its_list(tmp_path: Path) -> None:
    assert read_partitioned(cgroup(tmp_path, **{"cpuset.cpus.isolated": "8-9\n"})) == CpuSet.parse("8-9")


def test_an_older_kernel_is_asked_partition_by_partition(tmp_path: Path) -> None:
    files = {
        "a__cpuset.cpus.partition": "isolated\n",
        "a__cpuset.cpus.effective": "4-5\n",
        "b__cpuset.cpus.partition": "member\n",
        "b__cpuset.cpus.effective": "0-3\n",
        "c__cpuset.cpus.partition": "isolated invalid (Parent is not a partition root)\n",
        "c__cpuset.cpus.effective": "6-7\n",
    }
    assert read_partitioned(cgroup(tmp_path, **files)) == CpuSet.parse("4-5")


def test_without_a_cpuset_controller_there_is_no_partition(tmp_path: Path) -> None:
    files = {"cgroup.controllers": "cpu\n", "a__cpuset.cpus.partition": "isolated\n", "a__cpuset.cpus.effective": "1\n"}
    assert read_partitioned(cgroup(tmp_path, **files)) == CpuSet()
