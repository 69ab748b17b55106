from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupt_files import ARM, interrupts_text

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.interrupts import (
    InterruptTable,
    device_name,
    growth,
    parse_table,
    read_irq_cpus,
    read_irq_node,
    read_table,
)


def table(text: str) -> InterruptTable:
    found = parse_table(text.encode())
    assert found is not None
    return found


def test_a_column_is_the_cpu_that_the_first_line_names_so_offline_cpus_leave_a_gap() -> None:
    found = table(interrupts_text((0, 1, 4, 7), {87: ("mlx5_comp3", {4: 12})}))

    assert found.cpus == (0, 1, 4, 7)
    assert list(found.lines) == [87]


def test_named_lines_are_of_no_device() -> None:
    assert set(table(interrupts_text((0,), {8: ("rtc0", {}), 9: ("acpi", {})})).lines) == {8, 9}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("8:  7  0   IO-APIC   8-edge      rtc0", "rtc0"),
        ("24: 7  0   PCI-MSI 25165824-edge      PCIe PME, aerdrv, pciehp", "PCIe PME, aerdrv, pciehp"),
        ("99: 7  0  IR-PCI-MSIX-0000:18:00.0   0-edge      megasas1-msix0", "megasas1-msix0"),
        ("88: 7  0  IR-PCI-MSI-edge      mlx5_comp3@pci:0000:5e:00.0", "mlx5_comp3@pci:0000:5e:00.0"),
        ("43: 7  0     GICv3  33 Level     uart-pl011", "uart-pl011"),
        ("49: 7  0   ITS-MSI 65536001 Edge      hns3-0000:7d:00.0-TxRx-0", "hns3-0000:7d:00.0-TxRx-0"),
        ("50: 7  0      GPIO  38 Edge    -davinci_gpio  spi1.0", "spi1.0"),
        ("13: 7  0     GICv3 412 Level     1004b800.serial:rx err", "1004b800.serial:rx err"),
        ("21: 7  0   xen-dyn     Edge    -event     xenbus", "xenbus"),
        ("21: 7  0   xen-dyn    -event     xenstored", "xenstored"),
        ("10: 7  0  SiFive PLIC   9 Edge      virtio0", "virtio0"),
        ("25: 7  0     GIC-0 318 Edge", "GIC-0"),
        ("21: 7  0  spmi-pmic-arb  pmic_pwrkey", "pmic_pwrkey"),
        ("21: 7  0", "?"),
        ("21: 7  0   PCI-MSI 3-edge      a\x1b[31m", "a\\x1b[31m"),
    ],
)
def test_a_device_is_named_by_what_follows_chip_number_and_trigger(line: str, name: str) -> None:
    assert device_name(line.encode(), 2) == name


@pytest.mark.parametrize("number", [16, 27, 30, 1056, 1119])
def test_what_each_cpu_of_an_arm_machine_has_for_itself_is_no_device(number: int) -> None:
    """The timer would be told on every busy CPU."""
    assert device_name(f"11: 104 191     GICv3 {number} Level     arch_timer".encode(), 2) is None


@pytest.mark.parametrize("number", [32, 1055, 1120])
def test_the_neighbours_of_those_numbers_are_devices(number: int) -> None:
    assert device_name(f"11: 104 191     GICv3 {number} Level     eth0".encode(), 2) == "eth0"


def test_growth_is_by_column_and_leaves_out_what_stood_still_or_ran_backward() -> None:
    before = table(interrupts_text((0, 1, 4), {87: ("eth0", {0: 5, 1: 4_294_967_290, 4: 7})})).lines[87]
    after = table(interrupts_text((0, 1, 4), {87: ("eth0", {0: 5, 1: 3, 4: 107})})).lines[87]

    assert growth(before, after, 3) == {2: 100}


def test_a_number_that_another_device_has_now_grew_by_nothing() -> None:
    before = table(interrupts_text((0,), {87: ("eth0", {0: 5})})).lines[87]
    after = table(interrupts_text((0,), {87: ("nvme0q1", {0: 900})})).lines[87]

    assert growth(before, after, 1) == {}


@pytest.mark.parametrize("columns", [1, 3])
def test_a_line_of_other_cpus_than_the_first_line_names_is_not_counted(columns: int) -> None:
    """A CPU went or came between the two reads of one file."""
    assert growth(b"87: 1 5  PCI-MSI 3-edge  eth0", b"87: 9 5  PCI-MSI 3-edge  eth0", columns) == {}


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n", b"CPU0 CPU0\n8: 1 2 x\n", b"CPU0 cpu1\n", b"CPU65536\n8: 1 x\n", b"CPU0", b"\xff\xfe\n", b"Linux\n"],
)
def test_what_names_no_cpus_is_no_table(raw: bytes) -> None:
    found = parse_table(raw)
    assert found is None or found.lines == {}


def test_a_file_that_was_cut_loses_its_last_line_and_no_more() -> None:
    text = interrupts_text((0, 1), {8: ("rtc0", {}), 9: ("acpi", {0: 3})})
    assert set(table(text[: text.index("acpi") + 2]).lines) == {8}


@given(st.binary(max_size=400), st.binary(max_size=400), st.integers(1, 5))
def test_hostile_bytes_are_read_without_an_error(before: bytes, after: bytes, columns: int) -> None:
    parse_table(before)
    parse_table(b"CPU0 CPU3\n" + before + b"\n")
    assert all(more > 0 and 0 <= at < columns for at, more in growth(before, after, columns).items())
    assert (device_name(before, columns) or "x").isprintable()


@given(
    st.lists(st.integers(0, 9_999), min_size=1, max_size=12, unique=True),
    st.dictionaries(
        st.integers(32, 1_055), st.lists(st.integers(0, (1 << 32) - 1), min_size=2, max_size=2), max_size=6
    ),
    st.sampled_from(["eth0", "PCIe PME, aerdrv", "mlx5_comp3@pci:0000:5e:00.0"]),
)
def test_what_the_kernel_writes_is_what_is_read(cpus: list[int], counts: dict[int, list[int]], name: str) -> None:
    first, second = (
        table(interrupts_text(cpus, {irq: (name, {cpus[-1]: pair[at]}) for irq, pair in counts.items()}, ARM))
        for at in (0, 1)
    )
    assert first.cpus == tuple(cpus)
    for irq, (old, new) in counts.items():
        expected = {len(cpus) - 1: new - old} if new > old else {}
        assert growth(first.lines[irq], second.lines[irq], len(cpus)) == expected
        assert device_name(first.lines[irq], len(cpus)) == name


@pytest.mark.parametrize(
    ("machine", "cpus", "devices", "names"),
    [
        ("openshift-worker1", 80, 542, {0: "timer", 30: "PCIe PME", 603: "i40e-ens7f1-TxRx-79"}),
        ("openshift-worker2", 32, 233, {24: "PCIe PME, pciehp", 36: "megasas0-msix0", 276: "nvme0q32"}),
    ],
)
def test_every_line_of_a_real_server_is_understood(
    stored_root: Callable[[str], Path], machine: str, cpus: int, devices: int, names: dict[int, str]
) -> None:
    found = read_table(HostRoot(str(stored_root(machine))))

    assert found is not None
    assert (found.cpus, len(found.lines)) == (tuple(range(cpus)), devices)
    assert {irq: device_name(found.lines[irq], cpus) for irq in names} == names
    for line in found.lines.values():
        grown = line.replace(b" 0 ", b" 9 ", 1)
        assert growth(line, grown, cpus) == (
            {} if grown == line else {line[line.find(b":") + 1 :].split().index(b"0"): 9}
        )


def affinity(folder: Path, **files: str) -> HostRoot:
    (folder / "proc/irq/87").mkdir(parents=True)
    for name, text in files.items():
        (folder / "proc/irq/87" / name).write_text(text)
    return HostRoot(str(folder))


@pytest.mark.parametrize(
    ("files", "cpus", "node"),
    [
        ({"effective_affinity_list": "12\n", "smp_affinity_list": "0-15\n", "node": "1\n"}, CpuSet.of([12]), 1),
        ({"effective_affinity_list": "\n", "smp_affinity_list": "0-15\n", "node": "-1\n"}, CpuSet.span(0, 15), None),
        ({"smp_affinity_list": "0-15\n"}, CpuSet.span(0, 15), None),
        ({"smp_affinity_list": "-\n", "node": "x\n"}, None, None),
    ],
)
def test_where_an_interrupt_goes_is_its_effective_list_else_the_one_asked_for(
    tmp_path: Path, files: dict[str, str], cpus: CpuSet | None, node: int | None
) -> None:
    root = affinity(tmp_path, **files)
    assert (read_irq_cpus(root, 87), read_irq_node(root, 87)) == (cpus, node)


def test_an_interrupt_that_is_gone_goes_nowhere_known(tmp_path: Path) -> None:
    root = HostRoot(str(tmp_path))
    assert (read_irq_cpus(root, 5), read_irq_node(root, 5)) == (None, None)
