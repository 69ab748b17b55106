from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from roots import system_root

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.frequency import has_cpufreq, read_khz, read_left_alone, read_policy_cpus


def kernel(folder: Path, release: str | None, **lists: str) -> HostRoot:
    """A root of that kernel release with these lists of CPUs."""
    if release is not None:
        (folder / "proc/sys/kernel").mkdir(parents=True)
        (folder / "proc/sys/kernel/osrelease").write_text(f"{release}\n")
    return system_root(folder, {f"cpu/{name}": f"{text}\n" for name, text in {"possible": "0-15", **lists}.items()})


@pytest.mark.parametrize(("text", "khz"), [("2600000\n", 2_600_000), ("0\n", None), ("<unknown>\n", None), ("", None)])
def test_a_frequency_is_khz_and_what_the_kernel_does_not_know_is_unknown(
    tmp_path: Path, text: str, khz: int | None
) -> None:
    root = system_root(tmp_path, {"cpu/cpu3/cpufreq/scaling_cur_freq": text})

    assert read_khz(root, 3) == khz
    assert read_khz(root, 4) is None


@given(st.binary(max_size=40))
def test_hostile_bytes_are_a_frequency_or_unknown(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    folder = tmp_path_factory.mktemp("root")
    root = system_root(folder, {"cpu/cpu0/cpufreq/scaling_cur_freq": ""})
    (folder / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").write_bytes(raw)

    khz = read_khz(root, 0)
    root.close()
    assert khz is None or 0 < khz <= 100_000_000


def test_a_policy_has_the_cpu_itself_and_those_that_it_affects(tmp_path: Path) -> None:
    root = system_root(tmp_path, {"cpu/cpu2/cpufreq/affected_cpus": "0 1 2 3\n"})

    assert (read_policy_cpus(root, 2), read_policy_cpus(root, 9)) == (CpuSet.span(0, 3), CpuSet.of([9]))


def test_cpufreq_is_there_where_a_policy_or_a_cpus_own_directory_is(tmp_path: Path) -> None:
    assert not has_cpufreq(system_root(tmp_path, {"cpu/cpufreq/boost": "1\n"}), 0)
    assert has_cpufreq(system_root(tmp_path, {"cpu/cpu0/cpufreq/scaling_cur_freq": "1\n"}), 0)
    assert has_cpufreq(system_root(tmp_path, {"cpu/cpufreq/policy4/scaling_cur_freq": "1\n"}), 9)


@pytest.mark.parametrize(
    ("release", "left_alone"),
    [
        ("6.1.0-57-amd64", "8-9"),
        ("5.19.0", "8-9"),
        ("5.18.19", "2-5,8-9"),
        ("5.10.0-60.18.0.50.oe2203.x86_64", "2-5,8-9"),
        ("4.19.90", "2-5,8-9"),
        ("strange", "2-5,8-9"),
        (None, "2-5,8-9"),
    ],
)
def test_isolated_cpus_are_asked_from_linux_5_19_on_and_tickless_ones_never(
    tmp_path: Path, release: str | None, left_alone: str
) -> None:
    root = kernel(tmp_path, release, isolated="2-5", nohz_full="8-9")
    assert read_left_alone(root) == CpuSet.parse(left_alone)


def test_where_nothing_is_isolated_every_cpu_may_be_asked(tmp_path: Path) -> None:
    assert read_left_alone(kernel(tmp_path, "5.10.0", isolated="", nohz_full="(null)")) == CpuSet()


@pytest.mark.parametrize(
    ("machine", "cpu", "khz", "policy"),
    [
        ("lscpu-arm-A510-A710-A715-X3", 5, 1_056_000, "3-6"),
        ("lscpu-arm-A510-A710-A715-X3", 7, 864_000, "7"),
        ("hwloc-20em64t-hybrid", 11, 400_000, "11"),
    ],
)
def test_a_real_machine_tells_the_clock_of_a_cpus_policy(
    stored_root: Callable[[str], Path], machine: str, cpu: int, khz: int, policy: str
) -> None:
    root = HostRoot(str(stored_root(machine)))

    assert has_cpufreq(root, cpu)
    assert read_khz(root, cpu) == khz
    assert read_policy_cpus(root, cpu) == CpuSet.parse(policy)
