"""What is there and cannot be read is said with its path, makes the machine partial, and is never taken as nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest
from roots import system_root

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine
from numascope.show.topo.document import topo_document

SHAPE: Final = {
    "cpu/online": "0-3\n",
    "cpu/present": "0-3\n",
    "cpu/possible": "0-3\n",
    "cpu/isolated": "\n",
    "cpu/nohz_full": "  (null)\n",
    **{f"cpu/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(4)},
    **{f"cpu/cpu{cpu}/topology/core_id": f"{cpu}\n" for cpu in range(4)},
    **{f"cpu/cpu{cpu}/topology/core_cpus_list": f"{cpu}\n" for cpu in range(4)},
    **{f"cpu/cpu{cpu}/cache/index0/{name}": text for cpu in range(4) for name, text in (
        ("level", "1\n"), ("type", "Data\n"), ("size", "32K\n"), ("shared_cpu_list", f"{cpu}\n")
    )},
    **{f"node/node{node}/cpulist": f"{2 * node}-{2 * node + 1}\n" for node in range(2)},
    **{f"node/node{node}/meminfo": f"Node {node} MemTotal: 1024 kB\nNode {node} MemFree: 8 kB\n" for node in range(2)},
    "node/node0/distance": "10 20\n",
    "node/node1/distance": "20 10\n",
    "node/possible": "0-1\n",
    "node/online": "0-1\n",
}  # fmt: skip


def root_of(folder: Path, changes: dict[str, str | None], command_line: str | None = "quiet") -> HostRoot:
    """A machine of two nodes; None takes a file away, and a word in angle brackets puts something else in its place."""
    system_root(folder, SHAPE)
    (folder / "proc").mkdir()
    (folder / "proc/cpuinfo").write_text("model name : One\n")
    if command_line is not None:
        (folder / "proc/cmdline").write_text(command_line)
    (folder / "sys/bus/pci/devices/0000:00:00.0").mkdir(parents=True)
    for name, text in changes.items():
        path = folder / name if name.startswith("proc/") else folder / "sys/devices/system" / name
        path.unlink(missing_ok=True)
        if text == "<fifo>":
            os.mkfifo(path)
        elif text == "<link>":
            path.symlink_to("/dev/zero")
        elif text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return HostRoot(str(folder))


def built(folder: Path, changes: dict[str, str | None], command_line: str | None = "quiet") -> Machine:
    return build_machine(root_of(folder, changes, command_line), details=True)


def test_a_machine_of_which_all_can_be_read_is_whole(tmp_path: Path) -> None:
    machine = built(tmp_path, {})
    assert (machine.notes, machine.partial, machine.untold) == ((), False, ())


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"cpu/online": "<fifo>"}, "/sys/devices/system/cpu/online cannot be read"),
        ({"cpu/online": "<link>"}, "/sys/devices/system/cpu/online is a link that leads to no file"),
        ({"cpu/online": ""}, "/sys/devices/system/cpu/online is empty"),
        ({"cpu/online": "\n", "cpu/cpu2/online": "off"}, '/sys/devices/system/cpu/cpu2/online holds "off"'),
        ({"cpu/possible": "0-99999999999999999999999\n"}, "/sys/devices/system/cpu/possible holds"),
        ({"cpu/isolated": "0-3,zzz\n"}, '/sys/devices/system/cpu/isolated holds "0-3,zzz"'),
        ({"cpu/nohz_full": "x"}, '/sys/devices/system/cpu/nohz_full holds "x"'),
        ({"cpu/cpu999999999/online": "1\n"}, "/sys/devices/system/cpu/cpu999999999: left out"),
        ({"node/node70000/cpulist": "1\n"}, "/sys/devices/system/node/node70000: left out"),
        ({"proc/cpuinfo": "<fifo>"}, "/proc/cpuinfo cannot be read"),
        ({"proc/cmdline": "<fifo>"}, "/proc/cmdline cannot be read"),
        ({"node/node1/distance": "10 99999999999\n"}, '/sys/devices/system/node/node1/distance holds "10 99999999999"'),
        ({"node/node0/distance": "10 -5\n"}, '/sys/devices/system/node/node0/distance holds "10 -5"'),
        ({"node/node1/cpulist": "2-x\n"}, '/sys/devices/system/node/node1/cpulist holds "2-x"'),
        ({"node/node1/meminfo": "Node 1 MemTotal: 99999999999999999 kB\n"}, "/sys/devices/system/node/node1/meminfo holds"),
        ({"node/online": "zzz\n"}, '/sys/devices/system/node/online holds "zzz"'),
    ],
)  # fmt: skip
def test_what_is_there_and_tells_nothing_is_noted_once_and_makes_the_machine_partial(
    tmp_path: Path, changes: dict[str, str | None], path: str
) -> None:
    machine = built(tmp_path, changes)
    assert machine.partial
    assert sum(path in note for note in machine.notes) == 1


@pytest.mark.parametrize("name", ["cpu/possible", "cpu/present", "cpu/online", "cpu/isolated", "cpu/nohz_full"])
def test_a_list_that_an_old_kernel_has_not_is_no_fault(tmp_path: Path, name: str) -> None:
    machine = built(tmp_path, {name: None})
    assert (machine.notes, machine.partial, str(machine.cpus.online)) == ((), False, "0-3")


def test_an_empty_list_of_online_cpus_gives_way_to_each_cpus_own_file(tmp_path: Path) -> None:
    cpus = built(tmp_path, {"cpu/online": "", "cpu/cpu1/online": "1\n", "cpu/cpu3/online": "0\n"}).cpus
    assert (str(cpus.online), str(cpus.offline)) == ("0-2", "3")


def test_a_node_whose_list_is_garbage_says_that_its_cpus_are_unknown_unless_its_mask_tells(tmp_path: Path) -> None:
    without = built(tmp_path / "without", {"node/node1/cpulist": "zzz\n"})
    masked = built(tmp_path / "masked", {"node/node1/cpulist": "zzz\n", "node/node1/cpumap": "c\n"})
    assert any(note.endswith("the node's CPUs are unknown") for note in without.notes)
    assert str(masked.nodes[1].cpus) == "2-3"
    assert [note for note in masked.notes if "node1/cpulist" in note and note.endswith("its other files are asked")]


def test_distances_that_one_node_lacks_are_noted_and_those_that_all_lack_are_not(tmp_path: Path) -> None:
    one = built(tmp_path / "one", {"node/node1/distance": None})
    both = built(tmp_path / "both", {"node/node0/distance": None, "node/node1/distance": None})
    assert ["/sys/devices/system/node/node1/distance" in note for note in one.notes] == [True]
    assert (one.partial, both.notes, both.partial) == (False, (), False)


def test_files_that_are_bad_alike_are_one_note(tmp_path: Path) -> None:
    machine = built(tmp_path, {f"node/node{node}/distance": "x\n" for node in range(2)})
    assert ["(and 1 more like it)" in note for note in machine.notes] == [True]


def test_a_node_with_a_directory_is_not_offline_whatever_the_list_says(tmp_path: Path) -> None:
    machine = built(tmp_path, {"node/online": "0\n", "node/possible": "0-2\n"})
    assert [node.id for node in machine.nodes] == [0, 1]
    assert machine.nodes_offline == CpuSet.of([2])
    assert [
        "/sys/devices/system/node/online" in note and "/sys/devices/system/node/node1" in note
        for note in machine.notes
    ] == [True]  # fmt: skip


def test_isolation_that_no_file_tells_is_null_and_garbage_gives_way_to_the_command_line(tmp_path: Path) -> None:
    unknown = built(tmp_path / "unknown", {"cpu/isolated": None, "cpu/nohz_full": None}, None)
    told = built(tmp_path / "told", {"cpu/isolated": "zzz\n", "cpu/nohz_full": None}, "isolcpus=2-3 nohz_full=1")
    none = built(tmp_path / "none", {})

    def isolation(machine: Machine) -> list[str | None]:
        cpus = json.loads(json.dumps(topo_document(machine)))["machine"]["cpus"]
        return [cpus[name] for name in ("isolated", "nohz_full", "rcu_nocbs")]

    assert isolation(unknown) == [None, None, None]
    assert isolation(told) == ["2-3", "1", ""]
    assert isolation(none) == ["", "", ""]
