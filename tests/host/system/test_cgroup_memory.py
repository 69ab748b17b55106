"""`memory.numa_stat`, and whose cgroup it is, in roots made for it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from numascope.host.root import HostRoot
from numascope.host.system.cgroup_memory import (
    cgroup_v2_of,
    parse_numa_stat,
    processes_in,
    read_cgroup_memory,
)

TEXT = b"""anon N0=104857600 N1=4096
file N0=8192 N1=20971520
kernel_stack N0=16384 N1=0
shmem N0=4096 N1=0
file_mapped N0=0 N1=8192
"""


def root_with(tmp_path: Path, group: str, **files: str) -> HostRoot:
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/cgroup").write_text(f"1:cpu:/elsewhere\n0::{group}\n")
    directory = tmp_path / "sys/fs/cgroup" / group.strip("/")
    directory.mkdir(parents=True)
    for name, text in files.items():
        (directory / name.replace("_", ".", 1)).write_text(text)
    return HostRoot(str(tmp_path))


def test_memory_is_told_by_kind_and_node_and_shared_memory_is_no_file() -> None:
    found = parse_numa_stat(TEXT)
    assert found is not None
    assert found.anonymous_kib == {0: 102_400, 1: 4}
    assert found.file_kib == {0: 4, 1: 20_480}
    assert found.shared_kib == {0: 4, 1: 0}
    assert [found.on(node) for node in found.nodes] == [102_408, 20_484]


def test_what_lacks_a_counter_tells_nothing() -> None:
    assert parse_numa_stat(b"anon N0=4096\nfile N0=4096\n") is None
    assert parse_numa_stat(b"") is None


@given(st.lists(st.sampled_from(TEXT.splitlines()) | st.binary(max_size=60), max_size=12))
def test_whatever_the_bytes_no_size_is_negative(lines: list[bytes]) -> None:
    found = parse_numa_stat(b"\n".join(lines))
    assert found is None or all(found.on(node) >= 0 for node in found.nodes)


def test_a_cgroup_is_read_where_its_process_is(tmp_path: Path) -> None:
    root = root_with(
        tmp_path, "/job/rank0", cgroup_procs="7\n9\n", cgroup_stat="nr_descendants 0\n", memory_numa_stat=TEXT.decode()
    )
    cgroup = cgroup_v2_of(root, 7)
    assert cgroup == "sys/fs/cgroup/job/rank0"
    assert processes_in(root, cgroup) == frozenset({7, 9})
    memory = read_cgroup_memory(root, cgroup)
    assert memory is not None
    assert memory.nodes == [0, 1]


def test_the_topmost_cgroup_counts_nothing_and_one_with_others_below_is_nobodys_own(tmp_path: Path) -> None:
    root = root_with(tmp_path, "/job", cgroup_procs="7\n", cgroup_stat="nr_descendants 2\nnr_dying_descendants 0\n")
    assert processes_in(root, "sys/fs/cgroup/job") is None
    assert read_cgroup_memory(root, "sys/fs/cgroup/job") is None
    (tmp_path / "proc/7/cgroup").write_text("0::/\n")
    assert cgroup_v2_of(root, 7) is None
    (tmp_path / "proc/7/cgroup").write_text("0::/../outside\n")
    assert cgroup_v2_of(root, 7) is None
