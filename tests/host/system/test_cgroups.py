from __future__ import annotations

import os
from pathlib import Path

import pytest
from roots import root_of

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.cgroups import NO_LIMITS, CpusetLimits, cpuset_of, limits_of_reader


def limits(cpus: str, mems: str, source: str) -> CpusetLimits:
    return CpusetLimits(CpuSet.parse(cpus), CpuSet.parse(mems), source)


V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNTS = (
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)


def test_v2_takes_the_nearest_directory_that_has_the_controller(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "0::/job/rank0/leaf\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/job/rank0/leaf/cgroup.procs": "7\n",
            "sys/fs/cgroup/job/cpuset.cpus.effective": "0-23\n",
            "sys/fs/cgroup/job/cpuset.mems.effective": "0\n",
            "sys/fs/cgroup/cpuset.cpus.effective": "0-191\n",
        },
    )
    assert cpuset_of(root, 7) == limits("0-23", "0", "/sys/fs/cgroup/job/cpuset.cpus.effective")


def test_on_a_hybrid_host_the_v1_hierarchy_holds_the_cpusets(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "3:cpuset:/a\n1:cpu,cpuacct:/b\n0::/c\n",
            "proc/self/mountinfo": V1_MOUNTS,
            "sys/fs/cgroup/cpuset/a/cpuset.effective_cpus": "4-7\n",
            "sys/fs/cgroup/cpuset/a/cpuset.cpus": "4-9\n",
            "sys/fs/cgroup/cpuset/a/cpuset.effective_mems": "1\n",
            "sys/fs/cgroup/unified/c/cpuset.cpus.effective": "0\n",
        },
    )
    assert cpuset_of(root, 7) == limits("4-7", "1", "/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus")


def test_v1_without_effective_files_takes_the_configured_ones(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/self/cgroup": "2:cpuset:/a\n",
            "proc/self/mounts": "none /my\\040cgroups cgroup rw,cpuset 0 0\n",
            "my cgroups/a/cpuset.cpus": "0-3",
            "my cgroups/a/cpuset.mems": "0",
        },
    )
    assert cpuset_of(root, None) == limits("0-3", "0", "/my cgroups/a/cpuset.cpus")


def test_a_container_sees_the_part_of_the_hierarchy_that_is_mounted(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "3:cpuset:/docker/abc/inner\n",
            "proc/self/mountinfo": "34 31 0:31 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n",
            "sys/fs/cgroup/cpuset/cpuset.cpus": "8-15",
            "sys/fs/cgroup/cpuset/cpuset.mems": "0-1",
        },
    )
    assert cpuset_of(root, 7) == limits("8-15", "0-1", "/sys/fs/cgroup/cpuset/cpuset.cpus")


@pytest.mark.parametrize("options", ["cpuset cpuset rw", "none cgroup rw,cpuset,noprefix"])
def test_the_old_dev_cpuset_has_files_without_prefix(tmp_path: Path, options: str) -> None:
    source, filesystem, *rest = options.split()
    mounts = f"{source} /dev/cpuset {filesystem} {' '.join(rest)} 0 0\n"
    root = root_of(
        tmp_path,
        {
            "proc/self/cpuset": "/batch\n",
            "proc/mounts": mounts,
            "dev/cpuset/batch/cpus": "0-3\n",
            "dev/cpuset/batch/mems": "1\n",
        },
    )
    assert cpuset_of(root, None) == limits("0-3", "1", "/dev/cpuset/batch/cpus")


def test_without_a_mount_table_the_usual_places_are_tried(tmp_path: Path) -> None:
    root = root_of(tmp_path, {"proc/7/cgroup": "0::/x\n", "sys/fs/cgroup/x/cpuset.cpus.effective": "2\n"})
    assert cpuset_of(root, 7).cpus == CpuSet.of([2])


@pytest.mark.parametrize("text", ["", "0::/../../elsewhere\n", "garbage\n", "3:memory:/a\n"])
def test_a_place_that_cannot_be_seen_is_unknown(tmp_path: Path, text: str) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": text,
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/cpuset.cpus.effective": "0-191\n",
        },
    )
    assert cpuset_of(root, 7) == NO_LIMITS


def test_a_capture_without_proc_knows_no_limits(tmp_path: Path) -> None:
    assert limits_of_reader(HostRoot(str(tmp_path))) == NO_LIMITS


def test_a_process_of_this_machine_may_run_at_most_where_its_cpuset_says() -> None:
    found = cpuset_of(HostRoot(), os.getpid())
    assert found.cpus is None or CpuSet.of(os.sched_getaffinity(0)) <= found.cpus
    assert limits_of_reader(HostRoot()).cpus == CpuSet.of(os.sched_getaffinity(0))
