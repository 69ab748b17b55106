"""Whom the scan of frequencies asks, and when; the clock is passed in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from roots import CountingRoot, system_root

from numascope.cpuset import CpuSet
from numascope.observe.frequency import FrequencyScan

KHZ = 2_000_000


class Watched:
    """A scan of a machine of 200 CPUs, its clock, and whom it asked in the last scan."""

    def __init__(self, folder: Path, release: str, **lists: str) -> None:
        files = {f"cpu/cpu{cpu}/cpufreq/scaling_cur_freq": f"{KHZ + cpu}\n" for cpu in range(200)}
        files |= {f"cpu/{name}": f"{text}\n" for name, text in {"possible": "0-199", **lists}.items()}
        system_root(folder, files).close()
        (folder / "proc/sys/kernel").mkdir(parents=True)
        (folder / "proc/sys/kernel/osrelease").write_text(release)
        self.root = CountingRoot(str(folder))
        self.now_s = 1000.0
        self.read_costs_s = 0.0
        self.scan = FrequencyScan(self.root, self._clock)

    def _clock(self) -> float:
        return self.now_s + self.read_costs_s * len(list(self.asked()))

    def asked(self) -> Iterator[int]:
        """The CPUs whose frequency was read since the last look began."""
        for path in self.root.seen:
            if path.endswith("scaling_cur_freq"):
                yield int(path.split("/")[4].removeprefix("cpu"))

    def look(self, cpus: str, after_s: float = 1.0) -> tuple[dict[int, int], list[int]]:
        """What a scan tells, that long after the last, and whom it asked."""
        self.root.seen.clear()
        self.now_s += after_s
        told = dict(self.scan.scan(CpuSet.parse(cpus)))
        return told, list(self.asked())


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path, "6.1.0")


def test_only_the_cpus_that_are_busy_are_asked(watched: Watched) -> None:
    assert watched.look("3,7") == ({3: KHZ + 3, 7: KHZ + 7}, [3, 7])


def test_a_cpu_is_asked_every_two_seconds_and_keeps_its_value_meanwhile(watched: Watched) -> None:
    watched.look("3")
    assert watched.look("3", 1.9) == ({3: KHZ + 3}, [])
    assert watched.look("3", 0.1) == ({3: KHZ + 3}, [3])


def test_of_many_64_are_asked_in_one_scan_those_first_that_wait_the_longest(watched: Watched) -> None:
    asked = [watched.look("0-149")[1] for _ in range(4)]

    assert [len(each) for each in asked] == [64, 64, 64, 64]
    assert sorted(asked[0] + asked[1] + asked[2][:22]) == list(range(150))
    assert asked[2][22:] == list(range(42))


def test_a_cpu_that_idled_has_no_old_value_when_it_runs_again(watched: Watched) -> None:
    watched.look("3")
    assert watched.look("7", 0.5)[0] == {7: KHZ + 7}
    assert watched.look("3,7", 0.5)[1] == [3]


def test_tickless_cpus_are_never_asked_and_isolated_ones_are_on_a_new_kernel(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "6.1.0", isolated="4-5", nohz_full="8")
    assert watched.look("3-8")[1] == [3, 4, 5, 6, 7]


def test_before_5_19_isolated_cpus_are_not_asked_nor_one_that_shares_its_clock_with_them(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "5.10.0", isolated="4-5")
    system_root(tmp_path, {"cpu/cpu3/cpufreq/affected_cpus": "3 4\n"}).close()
    assert watched.look("2-6") == ({2: KHZ + 2, 6: KHZ + 6}, [2, 6])


def test_a_kernel_that_sleeps_at_each_read_is_asked_few_and_old_values_are_dropped(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "5.10.0")
    watched.read_costs_s = 0.011

    asked = [watched.look("0-49")[1] for _ in range(12)]
    told, _ = watched.look("0-49")

    assert [len(each) for each in asked] == [2] * 12
    assert len(told) == 2 * 11


def test_without_cpufreq_nothing_is_known_and_that_is_said(tmp_path: Path) -> None:
    system_root(tmp_path, {"cpu/possible": "0-3\n"}).close()
    root = CountingRoot(str(tmp_path))
    now_s = [0.0]
    scan = FrequencyScan(root, lambda: now_s[0])

    assert scan.note == ""
    assert scan.scan(CpuSet.span(0, 3)) == {}
    assert "no cpufreq" in scan.note
    assert not [path for path in root.seen if "cpufreq" in path]

    system_root(tmp_path, {"cpu/cpu0/cpufreq/scaling_cur_freq": "1800000\n"}).close()
    now_s[0] = 60.0
    assert scan.scan(CpuSet.span(0, 3)) == {0: 1_800_000}
    assert scan.note == ""


def test_for_no_cpus_nothing_is_read(watched: Watched) -> None:
    assert watched.scan.scan(CpuSet()) == {}
    assert watched.root.seen == []
