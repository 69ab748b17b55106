"""Pages moved from one node to another and back: where they lie before and after is counted by the kernel (numa_maps)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from machine_vm.guest import SLOW_S
from memory_programs import PLACING
from processes import eventually, program, tell

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.observe.memory_look import walk

pytestmark = [pytest.mark.vm("four-node", "memory-only")]

ROOT = HostRoot()
FAR = 2
"""Of four-node one of the far nodes, of memory-only the one without CPUs."""

HOME = 1
"""Where the memory is at first: node 0 is the kernel's own, and has little to give."""

HOLD = "\nready(); time.sleep(100_000)"
PLACE_200 = f"place(200 * MIB, [{HOME}])"
SLOW = ("--limit", "0.02")


class Said(NamedTuple):
    """How a verb ended, what it printed, and where its journal is."""

    code: int
    out: str


class Mover(NamedTuple):
    """numascope with a journal of its own."""

    folder: Path

    def run(self, *words: str, wanted: int | None = 0, drop: bool = True) -> Said:
        """A verb, which is to end so."""
        if drop:
            drop_page_cache()
        done = subprocess.run(
            self.command(*words), capture_output=True, text=True, check=False, timeout=2 * SLOW_S, env=self.environ(),
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert wanted in (None, done.returncode), (done.returncode, done.stdout, done.stderr)
        return Said(done.returncode, done.stdout + done.stderr)

    def command(self, *words: str) -> list[str]:
        """How a verb is started."""
        return [sys.executable, "-c", "from numascope.cli import main; main()", *words]

    def environ(self) -> dict[str, str]:
        """With the journal in the test's own folder."""
        return {**os.environ, "NUMASCOPE_STATE": str(self.folder), "PYTHONUNBUFFERED": "1"}

    def move(self, pid: int, *more: str, to: int = FAR, wanted: int | None = 0, drop: bool = True) -> Said:
        """Moves the memory of a process."""
        words = ("apply", "--memory", "move", str(pid), "--to", str(to), "--yes", *more)
        return self.run(*words, wanted=wanted, drop=drop)

    def pages(self, pid: int, *more: str, to: int = FAR, wanted: int | None = 0) -> dict[str, int]:
        """Moves it, and gives its pages by what became of them."""
        said = self.move(pid, "--json", *more, to=to, wanted=wanted)
        (result,) = json.loads(said.out)["results"]
        pages: dict[str, int] = result["pages"]
        return {**pages, "large": result["large_pages"]}

    @contextlib.contextmanager
    def moving(self, pid: int, *more: str) -> Iterator[subprocess.Popen[str]]:
        """A slow move, given as soon as pages of it have moved."""
        drop_page_cache()
        before = mib_on(pid)[FAR]
        command = self.command("apply", "--memory", "move", str(pid), "--to", str(FAR), "--yes", *SLOW, *more)
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environ(),
        ) as mover:  # fmt: skip
            try:
                assert eventually(lambda: mib_on(pid)[FAR] > before + 10, SLOW_S)
                yield mover
            finally:
                mover.kill()


@pytest.fixture
def mover(tmp_path: Path) -> Mover:
    return Mover(tmp_path)


def drop_page_cache() -> None:
    """What tests before this one read would take the room of these small nodes."""
    Path("/proc/sys/vm/drop_caches").write_text("1")


def mib_on(pid: int) -> dict[int, float]:
    """Node → MiB of a process there."""
    return {
        **dict.fromkeys(range(8), 0.0),
        **{one.node: (one.kib or 0) / 1024 for one in walk(ROOT, pid).total.nodes or ()},
    }


def policy_of(pid: int) -> str:
    return Path(f"/proc/{pid}/numa_maps").read_text().split()[1]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """NUMA balancing would move pages too; and what a process reads and takes at its start lies where it runs."""
    switch = Path("/proc/sys/kernel/numa_balancing")
    before, cpus = switch.read_text(), os.sched_getaffinity(0)
    switch.write_text("0")
    os.sched_setaffinity(0, CpuSet.parse(Path(f"/sys/devices/system/node/node{HOME}/cpulist").read_text().strip()))
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)
        switch.write_text(before)


def test_200_mib_move_and_come_back(mover: Mover) -> None:
    with program(PLACING + PLACE_200 + HOLD) as child:
        before = mib_on(child.pid)
        dry = mover.run("apply", "--memory", "move", str(child.pid), "--to", str(FAR), "--dry-run", wanted=1)
        assert mib_on(child.pid)[FAR] == before[FAR]
        assert not (mover.folder / "numascope").exists()

        done = mover.move(child.pid)
        moved = mib_on(child.pid)
        assert moved[FAR] > 200
        assert moved[HOME] < before[HOME] - 199
        assert policy_of(child.pid) == "default"

        listed = mover.run("revert", "--list")
        undone_dry = mover.run("revert", "--dry-run", wanted=1)
        assert mib_on(child.pid)[FAR] == pytest.approx(moved[FAR], abs=1)
        undone = mover.run("revert", "--yes")
        after = mib_on(child.pid)
        nothing = mover.run("revert", "--yes")

    print(dry.out, done.out, listed.out, undone_dry.out, undone.out)  # noqa: T201  (with -s: how it looks)
    assert after[FAR] < 1
    assert after[HOME] > before[HOME] - 1
    assert "would move" in dry.out
    assert "listing every page" in dry.out
    assert "room above the kernel's watermarks" in dry.out
    for text in (dry.out, done.out):
        assert "go where its policy says (default" in " ".join(text.split())
        assert "a policy of another process cannot be set" in text
    assert "MiB moved" in listed.out
    assert "can be reverted" in listed.out
    assert "nothing of ours is left to put back" in nothing.out


def test_the_plan_says_where_the_memory_of_a_rank_belongs(mover: Mover, tmp_path: Path) -> None:
    plan = tmp_path / "bind.json"
    binding = {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"}
    document = {"bind_config": binding, "bind_cpu": {"device0": {"main": "0-3"}}, "bind_memory": {"device0": FAR}}
    plan.write_text(json.dumps(document))
    with program(PLACING + f"place(40 * MIB, [{HOME}])" + HOLD) as child:
        said = mover.run("apply", str(plan), f"{child.pid}=device0", "--memory", "move", "--yes", "--json")
        assert mib_on(child.pid)[FAR] > 40
    document = json.loads(said.out)
    (move,) = document["moves"]
    assert (move["to_nodes"], move["why_there"]) == (str(FAR), "the plan binds its memory there")
    assert document["entries"][0]["plan"] == str(plan)


def test_what_two_ranks_share_stays_and_what_one_has_alone_moves(mover: Mover, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    code = f"""
set_mempolicy(BIND, [{HOME}])
with open({str(path)!r}, "wb") as file: file.write(bytes(40 * MIB))
file = os.open({str(path)!r}, os.O_RDONLY)
address = mapped(40 * MIB, SHARED, 1, file)
place(20 * MIB, [{HOME}])
reading, writing = os.pipe()
def look():
    for at in range(0, 40 * MIB, 4096): ctypes.string_at(address + at, 1)
if os.fork() == 0:
    look(); os.write(writing, b"x"); time.sleep(100_000)
os.read(reading, 1); look()
"""
    with program(PLACING + code + HOLD) as child:
        files = file_pages(child.pid, "weights")
        pages = mover.pages(child.pid)
        assert file_pages(child.pid, "weights") == files == {HOME: 40 * 256}
        assert mib_on(child.pid)[FAR] < 40
    # The child was forked after its parent had touched these 20 MiB: both map them.
    assert pages["shared"] >= 60 * 256
    assert pages["busy"] < 256


def file_pages(pid: int, name: str) -> dict[int, int]:
    """Node → pages of a mapped file."""
    lines = Path(f"/proc/{pid}/numa_maps").read_text().splitlines()
    words = next(line for line in lines if name in line).split()
    return {
        int(word[1:].partition("=")[0]): int(word.partition("=")[2])
        for word in words
        if word.startswith("N") and "=" in word
    }


def test_locked_pages_move_and_pinned_ones_stay(mover: Mover) -> None:
    code = f"""
locked = place(20 * MIB, [{HOME}])
done(libc.mlock(ctypes.c_void_p(locked), ctypes.c_size_t(20 * MIB)))
pinned = place(20 * MIB, [{HOME}])
ring = libc.syscall(425, 1, (ctypes.c_char * 120)())
if ring < 0: raise OSError(ctypes.get_errno(), "io_uring_setup")
buffer = (ctypes.c_uint64 * 2)(pinned, 20 * MIB)
done(libc.syscall(427, ring, 0, buffer, 1))
"""
    with program(PLACING + code + HOLD) as child:
        before = mib_on(child.pid)
        said = mover.move(child.pid, "--json", wanted=1)
        after = mib_on(child.pid)
        undone = json.loads(mover.run("revert", "--yes", "--json", wanted=None).out)
        back = mib_on(child.pid)
    pages = json.loads(said.out)["results"][0]["pages"]
    assert 20 * 256 <= pages["busy"] < 21 * 256, pages
    assert after[FAR] > before[FAR] + 19
    assert after[HOME] > 19
    assert back[HOME] > before[HOME] - 1
    assert undone["undone_pages"][0]["pages"]["moved"] >= 19 * 256


def test_ctrl_c_ends_it_between_two_batches_and_what_was_done_can_be_put_back(mover: Mover) -> None:
    with program(PLACING + PLACE_200 + HOLD) as child:
        before = mib_on(child.pid)
        with mover.moving(child.pid) as running:
            running.send_signal(signal.SIGINT)
            told, _ = running.communicate(timeout=SLOW_S)
        half = mib_on(child.pid)
        assert running.returncode == 130, told
        assert 10 < half[FAR] < 190
        undone = mover.run("revert", "--yes")
        after = mib_on(child.pid)
    print(told, undone.out)  # noqa: T201  (with -s)
    assert "interrupted" in told
    assert "not tried" in told
    assert "undo: numascope revert 1" in told
    assert after[FAR] < 1
    assert after[HOME] > before[HOME] - 1


def test_a_killed_move_is_put_back_from_the_journal(mover: Mover) -> None:
    with program(PLACING + PLACE_200 + HOLD) as child:
        before = mib_on(child.pid)
        with mover.moving(child.pid) as running:
            running.kill()
            running.communicate()
        assert mib_on(child.pid)[FAR] > 10
        mover.run("revert", "--yes")
        after = mib_on(child.pid)
    assert after[FAR] < 1
    assert after[HOME] > before[HOME] - 1


def test_a_process_that_ends_meanwhile_is_gone(mover: Mover) -> None:
    with program(PLACING + PLACE_200 + HOLD) as child, mover.moving(child.pid) as running:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        told, _ = running.communicate(timeout=SLOW_S)
        undone = mover.run("revert", "--yes", wanted=4)
    assert running.returncode == 4, told
    assert "gone" in told
    assert "gone" in undone.out


def test_another_program_of_the_same_process_is_left_alone(mover: Mover) -> None:
    code = "ready(); sys.stdin.readline(); os.execv('/bin/sleep', ['sleep', '100000'])"
    with program(PLACING + PLACE_200 + "\n" + code) as child, mover.moving(child.pid) as running:
        tell(child, "go")
        told, _ = running.communicate(timeout=SLOW_S)
        assert running.returncode == 1, told
        assert "another program" in told
        assert mib_on(child.pid)[FAR] < 1
        undone = mover.run("revert", "--yes", wanted=1)
        assert mib_on(child.pid)[FAR] < 1
    assert "another program" in undone.out


def test_page_cache_makes_room_where_it_is_to_be_pushed_out(mover: Mover) -> None:
    read_there = f"""
set_mempolicy(PREFERRED, [{FAR}])
def free(): return int(next(l for l in open("/sys/devices/system/node/node{FAR}/meminfo") if "MemFree" in l).split()[3]) >> 10
for one in os.scandir("/usr/lib/x86_64-linux-gnu"):
    if free() < 100: break
    if one.is_file() and one.stat().st_size > MIB: open(one.path, "rb").read()
"""
    with program(PLACING + PLACE_200 + HOLD) as child:
        drop_page_cache()
        subprocess.run(
            [sys.executable, "-c", "import os, sys\n" + PLACING + read_there], check=True, timeout=2 * SLOW_S
        )
        if free_mib(FAR) > 180:
            pytest.skip("the guest has not enough files to fill a node with")
        kept = mover.move(child.pid, wanted=1, drop=False)
        half = mib_on(child.pid)[FAR]
        pushed = mover.move(child.pid, "--push-out-cache", wanted=0, drop=False)
        after = mib_on(child.pid)[FAR]
    drop_page_cache()
    print(kept.out, pushed.out)  # noqa: T201  (with -s)
    assert "--push-out-cache has the kernel drop page cache for it" in " ".join(kept.out.split())
    assert half < 150
    assert "room, with page cache that can be dropped" in " ".join(pushed.out.split())
    assert after > 199


def free_mib(node: int) -> int:
    """Free memory of a node."""
    lines = Path(f"/sys/devices/system/node/node{node}/meminfo").read_text().splitlines()
    return next(int(line.split()[3]) >> 10 for line in lines if "MemFree" in line)


def test_a_full_node_ends_it_with_a_sentence(mover: Mover) -> None:
    fill = f"""
def free(): return int(next(l for l in open("/sys/devices/system/node/node{FAR}/meminfo") if "MemFree" in l).split()[3]) >> 10
while free() > 90: place(10 * MIB, [{FAR}])
"""
    with program(PLACING + PLACE_200 + HOLD) as child, program(PLACING + fill + HOLD):
        before = mib_on(child.pid)
        dry = mover.run("apply", "--memory", "move", str(child.pid), "--to", str(FAR), "--dry-run", wanted=1)
        said = mover.move(child.pid, wanted=1)
        after = mib_on(child.pid)
        mover.run("revert", "--yes")
        back = mib_on(child.pid)
    print(dry.out, said.out)  # noqa: T201  (with -s)
    assert "not all of it has room" in dry.out
    assert f"node {FAR} has no more room" in said.out
    assert 10 < after[FAR] < 95
    assert after[HOME] > 100
    assert back[HOME] > before[HOME] - 1


def test_transparent_huge_pages_move_as_a_whole(mover: Mover) -> None:
    code = f"""
address = mapped(62 * MIB)
start = (address + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)
libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(60 * MIB), 14)
mbind(start, 60 * MIB, BIND, [{HOME}]); touch(start, 60 * MIB)
"""
    with program(PLACING + code + HOLD) as child:
        had = huge_kib(child.pid)
        pages = mover.pages(child.pid)
        assert huge_kib(child.pid) == had
        assert mib_on(child.pid)[FAR] > 60
    assert had >= 40 * 1024
    assert pages["large"] >= had // 2048
    assert pages["busy"] < 64


def huge_kib(pid: int) -> int:
    """Transparent huge pages of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))


def test_huge_pages_of_hugetlbfs_need_free_ones_on_the_other_node(mover: Mover) -> None:
    pools = [
        Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages") for node in (HOME, FAR)
    ]
    try:
        pools[0].write_text("20")
        pools[1].write_text("8")
        if [int(one.read_text()) for one in pools] != [20, 8]:
            pytest.skip("the guest has no room for these huge pages")
        with program(PLACING + f"place(40 * MIB, [{HOME}], flags=PRIVATE | ANONYMOUS | HUGE)" + HOLD) as child:
            dry = mover.run("apply", "--memory", "move", str(child.pid), "--to", str(FAR), "--dry-run", wanted=1)
            pages = mover.pages(child.pid, wanted=1)
            mover.run("revert", "--yes")
            hugetlb = Path(f"/proc/{child.pid}/numa_maps").read_text()
    finally:
        for one in pools:
            one.write_text("0")
    print(dry.out)  # noqa: T201  (with -s)
    assert "huge pages of 2 MiB (hugetlbfs): 20 would move, 8 are free" in " ".join(dry.out.split())
    assert pages["no-room"] == 12 * 512
    assert pages["moved"] >= 8 * 512
    assert f"N{HOME}=20" in next(line for line in hugetlb.splitlines() if "huge" in line)


def test_interleaved_pages_come_back_to_the_nodes_that_they_came_from(mover: Mover) -> None:
    with program(PLACING + "place(60 * MIB, [0, 1], mode=INTERLEAVE)" + HOLD) as child:
        before = mib_on(child.pid)
        mover.move(child.pid)
        moved = mib_on(child.pid)
        mover.run("revert", "--yes")
        after = mib_on(child.pid)
    assert moved[FAR] > 60
    assert after[0] == pytest.approx(before[0], abs=1)
    assert after[1] == pytest.approx(before[1], abs=1)


def test_who_may_not_move_is_told_before_anything_is_done(mover: Mover) -> None:
    with program(PLACING + f"place(10 * MIB, [{HOME}])" + HOLD) as child:
        command = ["setpriv", "--reuid=65534", "--clear-groups", *mover.command()]
        done = subprocess.run(
            [*command, "apply", "--memory", "move", str(child.pid), "--to", str(FAR), "--yes"],
            capture_output=True, text=True, check=False, env={**mover.environ(), "NUMASCOPE_STATE": "/tmp"},
        )  # fmt: skip
        assert mib_on(child.pid)[FAR] < 1
    assert done.returncode == 2, done.stdout + done.stderr
    assert "nothing is changed" in done.stderr
    assert "as root" in done.stderr
