"""An object by its name, what it is taken for, and the files behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from large_machines import epyc

from numascope.errors import UsageError
from numascope.host.root import HostRoot
from numascope.host.system.provenance import Evidence, evidence_of_cpu, evidence_of_device, evidence_of_node
from numascope.machine.build import build_machine
from numascope.show.ink import plain
from numascope.show.topo.explain import Subject, explain_lines, subject_of

ONE = epyc()


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("cpu17", Subject("cpu", 17)),
        ("node1", Subject("node", 1)),
        ("package0", Subject("package", 0)),
        ("d7", Subject("device", 7)),
        ("0000:23:00.0", Subject("device", 1)),
        ("23:00.0", Subject("device", 1)),
        ("00000000:E3:00.0", Subject("device", 7)),
        ("D1", Subject("device", 1)),
        ("CPU3 ", Subject("cpu", 3)),
        ("N1", Subject("node", 1)),
        (" Node1", Subject("node", 1)),
        ("23:0.0", Subject("device", 1)),
    ],
)
def test_an_object_is_named_as_the_map_names_it(text: str, subject: Subject) -> None:
    assert subject_of(text, ONE) == subject


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cpu384", "this machine has CPUs 0-383"),
        ("node2", "this machine has nodes 0, 1"),
        ("d8", "this machine has the devices d0 to d7"),
        ("N2", "N2: this machine has nodes 0, 1"),
        ("99:00.0", "99:00.0: no accelerator, network card or NVMe drive of this machine has this PCI address"),
        ("0000:23:00", "0000:23:00: a PCI address ends in a function, .*: 0000:23:00.0"),
        ("23:00", "23:00: a PCI address ends in a function"),
        ("gpu\x1b0", r"gpu\\x1b0: name an object as cpu17"),
        ("", "name an object as cpu17"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        subject_of(text, ONE)


def test_a_machine_without_devices_has_none_of_any_sort() -> None:
    with pytest.raises(UsageError, match="d0: this machine has no accelerator, network card or NVMe drive"):
        subject_of("d0", ONE._replace(devices=()))


def test_files_of_a_directory_stand_together_with_their_values_in_a_column() -> None:
    found = [Evidence("/sys/a/core_id", "5"), Evidence("/sys/a/die_cpus_list", ""), Evidence("/sys/b/x", None)]
    lines = [plain(line) for line in explain_lines(ONE, Subject("cpu", 5), found, 80)]
    assert lines == [
        "cpu5: core of CPUs 5,197, package 0, node 0, L2 1 MiB of CPUs 5,197, L3 32 MiB",
        "  of CPUs 0-7,192-199",
        "",
        "/sys/a",
        "  core_id        5",
        "  die_cpus_list  (empty)",
        "/sys/b",
        "  x  ?",
    ]


def test_a_note_that_speaks_of_such_objects_comes_last() -> None:
    machine = ONE._replace(notes=("CPUs 3 are in no node", "no PCI files: accelerators are unknown"))
    assert plain(explain_lines(machine, Subject("cpu", 3), [], 80)[-1]) == "- CPUs 3 are in no node"


def test_each_fact_of_a_real_machine_has_its_file(stored_root: Callable[[str], Path]) -> None:
    root = HostRoot(str(stored_root("hwloc-32em64t-mic-dax")))
    machine = build_machine(root)
    cpu = {one.path: one.value for one in evidence_of_cpu(root, 9)}
    node = {one.path: one.value for one in evidence_of_node(root, 1)}
    device = {one.path: one.value for one in evidence_of_device(root, machine.devices[0].address)}
    root.close()
    assert cpu["/sys/devices/system/cpu/cpu9/topology/physical_package_id"] == "1"
    assert cpu["/sys/devices/system/node/node1/cpulist"] == "8-15"
    assert "/sys/devices/system/node/node0/cpulist" not in cpu
    assert node["/sys/devices/system/node/node1/distance"] == "21 10"
    assert device["/sys/bus/pci/devices/0000:83:00.0/numa_node"] == "1"
    assert device["/sys/devices/pci0000:80/0000:80:03.0/numa_node"] == "1"
