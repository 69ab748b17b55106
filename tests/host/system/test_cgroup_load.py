from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import eventually, program
from roots import root_of

from numascope.host.root import HostRoot
from numascope.host.system.cgroup_load import (
    NO_STALLS,
    CgroupLoad,
    CgroupPlace,
    CpuQuota,
    Stalls,
    Throttling,
    cgroup_of,
    parse_cpu_stat,
    parse_pressure,
    parse_quota,
    quota_of,
    read_load,
)
from numascope.host.system.cgroups import Directory

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID_MOUNTS = (
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)
STALLED = "some avg10=1.56 avg60=0.78 avg300=1.61 total={some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n"
OF_THE_MACHINE = {
    "proc/pressure/cpu": STALLED.format(some=9000, full=0),
    "proc/pressure/memory": STALLED.format(some=800, full=70),
}


def stat_v2(periods: int, throttled: int, time_us: int) -> str:
    return (
        "usage_usec 5000\nuser_usec 4000\nsystem_usec 1000\n"
        f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {time_us}\nnr_bursts 0\nburst_usec 0\n"
    )


class Counting(HostRoot):
    """A root that notes what is opened."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.opened: list[str] = []

    def read(self, path: str, limit: int = 1 << 20) -> bytes:
        """Notes the path, then reads."""
        self.opened.append(path.lstrip("/"))
        return super().read(path, limit)


def place(root: HostRoot, pid: int) -> CgroupPlace:
    found = cgroup_of(root, pid)
    assert found is not None
    return found


@pytest.fixture
def pod(tmp_path: Path) -> Counting:
    """A container of a pod in cgroup v2: the pod has the tighter limit."""
    below = "sys/fs/cgroup/kubepods/pod1"
    files = {
        "proc/7/cgroup": "0::/kubepods/pod1/c1\n",
        "proc/self/mountinfo": V2_MOUNT,
        f"{below}/c1/cpu.max": "1600000 100000\n",
        f"{below}/c1/cpu.stat": stat_v2(1, 1, 1),
        f"{below}/c1/cpu.pressure": STALLED.format(some=500, full=400),
        f"{below}/c1/memory.pressure": STALLED.format(some=30, full=20),
        f"{below}/cpu.max": "800000 100000\n",
        f"{below}/cpu.stat": stat_v2(100, 38, 4_120_000),
        "sys/fs/cgroup/kubepods/cpu.max": "max 100000\n",
        **OF_THE_MACHINE,
    }
    root_of(tmp_path, files).close()
    return Counting(str(tmp_path))


def test_v2_counts_the_throttling_where_the_tightest_quota_is_and_the_pressure_of_the_own_cgroup(pod: Counting) -> None:
    where = place(pod, 7)
    quota = quota_of(pod, where)

    assert where.name == "/kubepods/pod1/c1"
    assert quota == CpuQuota(8.0, "/sys/fs/cgroup/kubepods/pod1", "cpu.max")
    assert read_load(pod, where, quota) == CgroupLoad(
        quota_cpus=8.0,
        quota_path="/sys/fs/cgroup/kubepods/pod1/cpu.max",
        periods=100,
        throttled_periods=38,
        throttled_us=4_120_000,
        cpu_some_us=500,
        memory_some_us=30,
        memory_full_us=20,
        pressure_is_own=True,
    )


def test_a_tick_opens_three_files_and_where_there_is_no_quota_two(pod: Counting) -> None:
    where = place(pod, 7)
    quota = quota_of(pod, where)

    pod.opened.clear()
    read_load(pod, where, quota)
    assert pod.opened == [
        "sys/fs/cgroup/kubepods/pod1/cpu.stat",
        "sys/fs/cgroup/kubepods/pod1/c1/cpu.pressure",
        "sys/fs/cgroup/kubepods/pod1/c1/memory.pressure",
    ]

    pod.opened.clear()
    read_load(pod, where, None)
    assert len(pod.opened) == 2


def test_the_slow_look_opens_two_files_and_one_a_level(pod: Counting) -> None:
    where = place(pod, 7)
    assert pod.opened == ["proc/7/cgroup", "proc/self/mountinfo"]

    quota_of(pod, where)
    assert pod.opened[2:] == [
        f"sys/fs/cgroup{path}/cpu.max" for path in ("/kubepods/pod1/c1", "/kubepods/pod1", "/kubepods", "")
    ]


def test_of_two_equal_quotas_the_nearest_is_taken(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "0::/pod/c1\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/pod/cpu.max": "100000 100000\n",
            "sys/fs/cgroup/pod/c1/cpu.max": "50000 50000\n",
        },
    )
    assert quota_of(root, place(root, 7)) == CpuQuota(1.0, "/sys/fs/cgroup/pod/c1", "cpu.max")


def test_on_a_hybrid_host_v1_has_the_quota_and_the_unified_hierarchy_the_pressure(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "4:cpu,cpuacct:/docker/a\n3:cpuset:/x\n0::/docker/a\n",
            "proc/self/mountinfo": HYBRID_MOUNTS,
            "sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us": "20000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/cpu.stat": "nr_periods 42\nnr_throttled 40\nthrottled_time 2702065802\n",
            "sys/fs/cgroup/unified/docker/a/cpu.max": "1000 100000\n",
            "sys/fs/cgroup/unified/docker/a/cpu.pressure": STALLED.format(some=5, full=0),
            "sys/fs/cgroup/unified/docker/a/memory.pressure": STALLED.format(some=3, full=2),
            **OF_THE_MACHINE,
        },
    )
    where = place(root, 7)
    load = read_load(root, where, quota_of(root, where))

    assert where.name == "/docker/a"
    assert (load.quota_cpus, load.quota_path) == (0.2, "/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us")
    assert (load.periods, load.throttled_periods, load.throttled_us) == (42, 40, 2_702_065)
    assert (load.cpu_some_us, load.memory_some_us, load.memory_full_us, load.pressure_is_own) == (5, 3, 2, True)


def test_where_the_hierarchies_differ_the_name_has_both_places(tmp_path: Path) -> None:
    root = root_of(tmp_path, {"proc/7/cgroup": "1:cpu:/\n0::/b\n", "proc/8/cgroup": "1:cpu:/b\n0::/\n"})
    assert place(root, 7).name == "cpu:/ 0::/b"
    assert place(root, 8).name == "cpu:/b 0::/"


def test_a_name_from_outside_is_safe_to_print(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "0::/a\x1b[31m\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/a\x1b[31m/cpu.max": "1000 1000\n",
        },
    )
    where = place(root, 7)
    quota = quota_of(root, where)

    assert where.name == r"/a\x1b[31m"
    assert quota is not None
    assert quota.path == r"/sys/fs/cgroup/a\x1b[31m/cpu.max"


@pytest.mark.parametrize("text", ["1:cpu:/docker/a\n", "0::/\n"])
def test_a_cgroup_without_pressure_of_its_own_shows_that_of_the_machine(tmp_path: Path, text: str) -> None:
    files = {"proc/7/cgroup": text, "proc/self/mountinfo": HYBRID_MOUNTS, **OF_THE_MACHINE}
    for name in ("cpu", "memory"):
        files[f"sys/fs/cgroup/unified/{name}.pressure"] = STALLED.format(some=1, full=1)
    root = root_of(tmp_path, files)
    where = place(root, 7)
    load = read_load(root, where, None)

    assert where.unified is None
    assert not load.pressure_is_own
    assert (load.cpu_some_us, load.memory_some_us, load.memory_full_us) == (9000, 800, 70)


def test_what_a_container_sees_as_root_is_its_own_cgroup(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNT,
            "sys/fs/cgroup/cgroup.events": "populated 1\nfrozen 0\n",
            "sys/fs/cgroup/cpu.max": "400000 100000\n",
            "sys/fs/cgroup/cpu.pressure": STALLED.format(some=6, full=5),
            "sys/fs/cgroup/memory.pressure": STALLED.format(some=4, full=3),
        },
    )
    where = place(root, 7)
    load = read_load(root, where, quota_of(root, where))

    assert load.quota_path == "/sys/fs/cgroup/cpu.max"
    assert (load.cpu_some_us, load.pressure_is_own) == (6, True)


def test_without_pressure_stall_information_the_pressure_is_unknown(tmp_path: Path) -> None:
    root = root_of(tmp_path, {"proc/7/cgroup": "0::/a\n", "proc/self/mountinfo": V2_MOUNT})
    assert read_load(root, place(root, 7), None) == CgroupLoad(
        None, "", None, None, None, None, None, None, pressure_is_own=False
    )


def test_a_process_in_a_part_that_is_not_mounted_here_has_a_name_and_no_directories(tmp_path: Path) -> None:
    root = root_of(tmp_path, {"proc/7/cgroup": "0::/../other\n", "proc/self/mountinfo": V2_MOUNT})
    where = place(root, 7)

    assert where == CgroupPlace("/../other", None, None)
    assert quota_of(root, where) is None


def test_a_v1_controller_that_is_not_mounted_is_not_looked_for_in_the_unified_hierarchy(tmp_path: Path) -> None:
    root = root_of(
        tmp_path,
        {
            "proc/7/cgroup": "1:cpu:/docker/a\n0::/u\n",
            "proc/self/mountinfo": "32 31 0:29 /docker/b /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" + V2_MOUNT,
        },
    )
    where = place(root, 7)

    assert where.cpu is None
    assert where.unified == Directory("v2", "/sys/fs/cgroup", ("u",))


@pytest.mark.parametrize("text", ["", "garbage\n", "3:memory:/a\n"])
def test_a_process_of_no_cgroup_has_no_place(tmp_path: Path, text: str) -> None:
    assert cgroup_of(root_of(tmp_path, {"proc/7/cgroup": text, "proc/self/mountinfo": V2_MOUNT}), 7) is None


def test_a_process_that_is_gone_has_no_place(tmp_path: Path) -> None:
    assert cgroup_of(HostRoot(str(tmp_path)), 7) is None


@pytest.mark.parametrize(
    ("raw", "cpus"),
    [
        (b"800000 100000\n", 8.0), (b"1000 100000", 0.01), (b"max 100000\n", None), (b"100000\n", None), (b"0 100\n", None),
        (b"100 0\n", None), (b"-1 100000", None), (b"", None),
    ],
)  # fmt: skip
def test_a_quota_is_a_share_of_its_period(raw: bytes, cpus: float | None) -> None:
    assert parse_quota(raw) == cpus


def test_cpu_stat_of_a_cgroup_without_the_controller_has_no_throttling() -> None:
    assert parse_cpu_stat(b"usage_usec 5\nuser_usec 3\nsystem_usec 2\n") is None


COUNTERS = st.integers(0, (1 << 64) - 1)


@given(COUNTERS, COUNTERS, COUNTERS)
def test_both_forms_of_cpu_stat_say_the_same(periods: int, throttled: int, time_us: int) -> None:
    told = Throttling(periods, throttled, time_us)
    assert parse_cpu_stat(stat_v2(*told).encode()) == told
    old = f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {time_us * 1000 % (1 << 64)}\n"
    assert parse_cpu_stat(old.encode()) == told._replace(throttled_us=time_us * 1000 % (1 << 64) // 1000)


@given(COUNTERS, COUNTERS)
def test_pressure_is_what_the_kernel_counted(some: int, full: int) -> None:
    whole = STALLED.format(some=some, full=full).encode()
    assert parse_pressure(whole) == Stalls(some, full)
    assert parse_pressure(whole.splitlines()[0] + b"\n") == Stalls(some, None)


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_unknown(raw: bytes) -> None:
    stalls, throttling, cpus = parse_pressure(raw), parse_cpu_stat(raw), parse_quota(raw)
    assert stalls == NO_STALLS or b"total=" in raw
    assert throttling is None or throttling.periods >= 0
    assert cpus is None or cpus > 0


@pytest.mark.live
def test_this_process_stands_somewhere_and_its_counters_are_read() -> None:
    root = HostRoot()
    where = place(root, os.getpid())
    load = read_load(root, where, quota_of(root, where))

    named = {line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()}
    assert where.name in named or where.name.startswith("cpu:")
    assert (load.cpu_some_us is None) == (not Path("/proc/pressure/cpu").exists())


@contextlib.contextmanager
def quota_v1(quota_us: int) -> Iterator[Path]:
    """A cgroup with a quota on its parent, in the v1 hierarchy of the cpu controller; removed at the end."""
    above = Path(f"/sys/fs/cgroup/cpu/numascope-test-{os.getpid()}")
    try:
        above.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup v1 of the cpu controller to make one in: {error.strerror}")
    below = above / "rank"
    try:
        below.mkdir()
        (above / "cpu.cfs_period_us").write_text("100000")
        (above / "cpu.cfs_quota_us").write_text(str(quota_us))
        yield below
    finally:
        for one in (below, above):
            deadline_s = time.monotonic() + 10
            while one.exists() and time.monotonic() < deadline_s:
                with contextlib.suppress(OSError):
                    one.rmdir()


@pytest.mark.live
def test_a_spinner_with_a_fiftieth_of_a_cpu_is_throttled_in_nearly_every_period() -> None:
    """So little that it uses its quota up on a busy machine too."""
    root = HostRoot()
    with quota_v1(2_000) as cgroup, program("ready(); spin()") as child:
        (cgroup / "cgroup.procs").write_text(str(child.pid))
        where = place(root, child.pid)
        quota = quota_of(root, where)
        assert quota == CpuQuota(0.02, str(cgroup.parent), "cpu.cfs_quota_us")

        def counted() -> Throttling:
            load = read_load(root, where, quota)
            return Throttling(load.periods or 0, load.throttled_periods or 0, load.throttled_us or 0)

        assert eventually(lambda: counted().throttled_periods >= 3, 30)
        before = counted()
        assert eventually(lambda: counted().throttled_periods >= before.throttled_periods + 10, 30)
        after = counted()
        child.kill()
        child.wait()

    held = after.throttled_periods - before.throttled_periods
    assert 0.6 * (after.periods - before.periods) <= held <= after.periods - before.periods
    assert after.throttled_us - before.throttled_us > held * 30_000
