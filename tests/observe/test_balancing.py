"""NUMA balancing as rates between two looks at /proc/vmstat, and what is told where it is off or unknown."""

from __future__ import annotations

from pathlib import Path

from roots import CountingRoot

from numascope.observe.balancing import UNTOLD, Balancing, BalancingScan


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


def machine(folder: Path, updates: int, faults: int, local: int, moved: int, balancing: str = "1") -> CountingRoot:
    files = {
        "proc/vmstat": f"nr_free_pages 7\nnuma_pte_updates {updates}\nnuma_hint_faults {faults}\n"
        f"numa_hint_faults_local {local}\nnuma_pages_migrated {moved}\n",
        "proc/sys/vm/zone_reclaim_mode": "0\n",
        "proc/sys/kernel/numa_balancing": f"{balancing}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return CountingRoot(str(folder))


def test_rates_are_those_between_two_looks(tmp_path: Path) -> None:
    clock = Clock()
    scan = BalancingScan(machine(tmp_path, 1000, 100, 50, 10), clock)
    assert scan.scan() == Balancing(0, 1)

    clock.now_s += 0.5
    machine(tmp_path, 3000, 600, 450, 20)
    assert scan.scan() == Balancing(0, 1, 4000.0, 1000.0, 800.0, 20.0)


def test_after_the_second_look_it_is_read_every_five_seconds(tmp_path: Path) -> None:
    clock = Clock()
    root = machine(tmp_path, 1000, 100, 50, 10)
    scan = BalancingScan(root, clock)
    reads = []
    for _ in range(21):
        scan.scan()
        reads.append(root.seen.count("proc/vmstat"))
        clock.now_s += 0.5
    assert reads[:3] == [1, 2, 2]
    assert reads[10:12] == [2, 3]
    assert reads[20] == 3


def test_where_balancing_is_off_there_are_no_rates(tmp_path: Path) -> None:
    clock = Clock()
    scan = BalancingScan(machine(tmp_path, 1000, 100, 50, 10, "0"), clock)
    scan.scan()
    clock.now_s += 10
    assert scan.scan() == Balancing(0, 0)


def test_a_counter_that_ran_backward_or_is_not_there_is_unknown(tmp_path: Path) -> None:
    clock = Clock()
    scan = BalancingScan(machine(tmp_path, 1000, 100, 50, 10), clock)
    scan.scan()
    clock.now_s += 10
    machine(tmp_path, 10, 200, 50, 10)
    found = scan.scan()
    assert (found.pte_updates_per_s, found.hint_faults_per_s, found.pages_migrated_per_s) == (None, 10.0, 0.0)
    (tmp_path / "proc/vmstat").write_text("")
    clock.now_s += 10
    assert scan.scan() == Balancing(0, 1)


def test_a_kernel_that_tells_nothing_is_unknown(tmp_path: Path) -> None:
    assert BalancingScan(CountingRoot(str(tmp_path)), Clock()).scan() == UNTOLD
