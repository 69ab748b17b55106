"""The cgroups of the watched: found seldom, read at every look, forgotten when nobody is in them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import eventually, program
from roots import CountingRoot

from numascope.host.root import HostRoot
from numascope.observe.cgroups import CgroupWatch
from numascope.observe.sampler import Sampler

MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"


def stalled(some: int) -> str:
    return f"some avg10=0.00 avg60=0.00 avg300=0.00 total={some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


def cgroup(folder: Path, name: str, quota: str = "max 100000", throttled_us: int = 0, some: int = 0) -> None:
    path = folder / "sys/fs/cgroup" / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "cpu.max").write_text(quota + "\n")
    (path / "cpu.stat").write_text(f"usage_usec 1\nnr_periods 10\nnr_throttled 2\nthrottled_usec {throttled_us}\n")
    (path / "cpu.pressure").write_text(stalled(some))
    (path / "memory.pressure").write_text(stalled(some // 2))
    (path / "cgroup.events").write_text("populated 1\n")


def process(folder: Path, pid: int, name: str) -> None:
    put(folder, **{f"proc__{pid}__cgroup": f"0::/{name}\n", "proc__self__mountinfo": MOUNT})


@pytest.fixture
def job(tmp_path: Path) -> CountingRoot:
    cgroup(tmp_path, "job", "400000 100000", 7, 100)
    cgroup(tmp_path, "other", some=5)
    process(tmp_path, 10, "job")
    process(tmp_path, 11, "job")
    process(tmp_path, 12, "other")
    return CountingRoot(str(tmp_path))


def test_processes_of_one_cgroup_have_one_load(job: CountingRoot) -> None:
    watch = CgroupWatch(job)
    names = {watch.find(pid) for pid in (10, 11, 12)}
    loads = watch.loads({name for name in names if name})

    assert list(loads) == ["/job", "/other"]
    assert (loads["/job"].quota_cpus, loads["/job"].throttled_us, loads["/job"].cpu_some_us) == (4.0, 7, 100)
    assert (loads["/other"].quota_cpus, loads["/other"].throttled_us, loads["/other"].cpu_some_us) == (None, None, 5)
    assert all(one.pressure_is_own for one in loads.values())


def test_a_look_reads_counters_and_neither_places_nor_quotas(job: CountingRoot) -> None:
    watch = CgroupWatch(job)
    watch.find(10)
    job.seen.clear()
    watch.loads({"/job"})

    assert {path.rpartition("/")[2] for path in job.seen} == {"cpu.stat", "cpu.pressure", "memory.pressure"}


def test_a_quota_that_was_changed_holds_from_the_next_finding_on(job: CountingRoot) -> None:
    watch = CgroupWatch(job)
    watch.find(10)
    cgroup(Path(job.path), "job", "200000 100000", 9, 100)
    assert watch.loads({"/job"})["/job"].quota_cpus == 4.0
    watch.find(11)

    assert watch.loads({"/job"})["/job"].quota_cpus == 2.0


def test_a_cgroup_that_nobody_is_in_any_more_is_forgotten(job: CountingRoot) -> None:
    watch = CgroupWatch(job)
    watch.find(10)
    watch.find(12)
    process(Path(job.path), 12, "job")

    assert list(watch.loads({"/job"})) == ["/job"]
    assert list(watch.loads({"/job", "/other"})) == ["/job"]
    assert list(watch.loads(set())) == []


def test_of_a_process_that_is_gone_and_a_cgroup_that_was_removed_nothing_is_made_up(job: CountingRoot) -> None:
    watch = CgroupWatch(job)
    assert watch.find(99) is None
    watch.find(10)
    for name in os.listdir(Path(job.path) / "sys/fs/cgroup/job"):
        (Path(job.path) / "sys/fs/cgroup/job" / name).unlink()
    load = watch.loads({"/job"})["/job"]

    assert (load.throttled_us, load.cpu_some_us, load.pressure_is_own) == (None, None, False)


@contextlib.contextmanager
def own_cgroup(name: str) -> Iterator[Path]:
    """A cgroup of the cpu controller, v2 or v1, that is removed again."""
    for base in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/cpu")):
        if (base / "cgroup.procs").exists():
            folder = base / name
            try:
                folder.mkdir()
            except OSError:
                continue
            try:
                yield folder
            finally:
                for _ in range(50):
                    with contextlib.suppress(OSError):
                        folder.rmdir()
                        break
                    time.sleep(0.05)
            return
    pytest.skip("needs root and a cgroup hierarchy with the cpu controller")


@pytest.mark.live
def test_a_process_that_is_held_back_shows_it_in_its_samples() -> None:
    with own_cgroup("numascope-test-held") as folder, program("ready(); spin()") as child:
        try:
            if (folder / "cpu.max").exists():
                (folder / "cpu.max").write_text("10000 100000")
            else:
                (folder / "cpu.cfs_quota_us").write_text("10000")
            (folder / "cgroup.procs").write_text(str(child.pid))
        except OSError:
            pytest.skip("needs the right to set a CPU quota")
        sampler = Sampler(HostRoot(), [child.pid])
        name = sampler.sample().processes[child.pid].cgroup
        assert name is not None

        def held_us() -> int:
            return sampler.sample().cgroups[name].throttled_us or 0

        first = held_us()
        assert sampler.sample().cgroups[name].quota_cpus == pytest.approx(0.1)
        assert eventually(lambda: held_us() > first + 100_000)
        sampler.close()
        child.kill()
        child.wait()
