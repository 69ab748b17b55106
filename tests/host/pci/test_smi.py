from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smi_texts import FOUR_GPUS, NPU_MAP, NPU_MATRIX, NPU_TABLE, OLD_NAMES, TWO_DIES

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.pci.smi import MOST_BYTES, SmiTopology, parse_smi
from numascope.host.pci.smi_chips import NpuChip


def parse(text: str) -> SmiTopology:
    return parse_smi(text.encode(), "topo.txt")


def link(topology: SmiTopology, a: str, b: str) -> str | None:
    (found,) = [one.type for one in topology.links if {one.a, one.b} == {a, b}]
    return found


def test_gpus_and_nics_of_nvidia_smi_with_their_links_once_each() -> None:
    topology = parse(FOUR_GPUS)
    assert topology.tool == "nvidia-smi topo -m"
    assert [(row.label, row.sort, row.number, row.name) for row in topology.devices] == [
        ("GPU0", "GPU", 0, None),
        ("GPU1", "GPU", 1, None),
        ("GPU2", "GPU", 2, None),
        ("GPU3", "GPU", 3, None),
        ("NIC0", "NIC", 0, "mlx5_0"),
        ("NIC1", "NIC", 1, "mlx5_bond_0"),
    ]
    assert len(topology.links) == 15
    assert [link(topology, *pair) for pair in (("GPU0", "GPU3"), ("NIC0", "GPU1"), ("NIC1", "GPU2"))] == [
        "NV18",
        "NODE",
        "PXB",
    ]


def test_affinities_are_sets_and_a_nic_has_none() -> None:
    rows = {row.label: (row.cpus, row.nodes) for row in parse(FOUR_GPUS).devices}
    assert rows["GPU2"] == (CpuSet.span(4, 7), CpuSet.of([1]))
    assert rows["GPU3"] == (CpuSet.span(4, 7), CpuSet.of([0, 1]))
    assert rows["NIC0"] == (None, None)


def test_affinities_that_are_not_available_or_negative_are_not_known() -> None:
    text = FOUR_GPUS.replace("\t0-3\t0\t\tN/A", "\tN/A\t-1\t\tN/A", 1)
    assert (parse(text).devices[0].cpus, parse(text).devices[0].nodes) == (None, None)


def test_a_row_with_fewer_affinities_than_headings_tells_none() -> None:
    text = FOUR_GPUS.replace("\t0-3\t0\t\tN/A", "\t0\t\tN/A", 1)
    assert (parse(text).devices[0].cpus, parse(text).devices[0].nodes) == (None, None)


def test_old_drivers_name_nics_and_call_sys_soc() -> None:
    topology = parse(OLD_NAMES)
    assert [(row.sort, row.name) for row in topology.devices] == [("GPU", None), ("GPU", None), ("NIC", "mlx4_0")]
    assert (link(topology, "GPU0", "GPU1"), link(topology, "GPU0", "mlx4_0")) == ("SYS", "PHB")
    assert topology.devices[1].cpus == CpuSet.parse("10-19,30-39")


def test_npus_and_their_fabric() -> None:
    topology = parse(NPU_MATRIX)
    assert topology.tool == "npu-smi info -t topo"
    assert (link(topology, "NPU0", "NPU1"), link(topology, "NPU1", "NPU3")) == ("HCCS", "PIX")
    assert topology.devices[1].cpus == CpuSet.span(4, 7)


def test_a_link_that_the_tool_does_not_know_is_none() -> None:
    text = NPU_MATRIX.replace("HCCS", "NA  ")
    assert link(parse(text), "NPU0", "NPU1") is None


@pytest.mark.parametrize("word", ["SYS", "PHB", "HCCS", "PXB", "PIX", "SIO", "HCCS_SW", "UB"])
def test_every_word_of_npu_smi_is_a_link(word: str) -> None:
    assert link(parse(NPU_MATRIX.replace("HCCS", word)), "NPU0", "NPU1") == word


def test_the_last_node_that_a_kernel_could_number_is_one() -> None:
    (row,) = parse("\tGPU0\tNUMA Affinity\nGPU0\tX\t65535\n").devices
    assert row.nodes == CpuSet.of([65535])


def test_the_map_lists_chips_without_their_controllers() -> None:
    topology = parse(NPU_MAP)
    assert topology.devices == ()
    assert topology.chips == (
        NpuChip(0, 0, 0, None, "Ascend 910B3", None),
        NpuChip(1, 0, 1, None, "Ascend 910B3", None),
    )


def test_the_table_gives_addresses_and_its_processes_are_no_chips() -> None:
    chips = parse(NPU_TABLE).chips
    assert [(chip.npu, chip.address) for chip in chips] == [
        (0, "0000:c1:00.0"),
        (1, "0000:01:00.0"),
        (2, "0000:c2:00.0"),
        (3, "0000:02:00.0"),
    ]


def test_matrix_map_and_table_of_one_file_are_joined() -> None:
    topology = parse(TWO_DIES)
    assert [row.label for row in topology.devices] == ["Phy-ID12", "Phy-ID13"]
    assert link(topology, "Phy-ID12", "Phy-ID13") == "SIO"
    assert topology.chips == (
        NpuChip(6, 0, 0, 12, "Ascend910", "0000:9d:00.0"),
        NpuChip(6, 1, 1, 13, "Ascend910", "0000:9f:00.0"),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "topo.txt: no matrix found"),
        ("GPU 0: NVIDIA H100 (UUID: GPU-0)\n", "topo.txt: no matrix found"),
        ("\tGPU0\tGPU1\tCPU Affinity\n", "topo.txt:1:1: no rows below the heading with GPU0: the output is cut off"),
        ("\tGPU0\tGPU0\n", "topo.txt:1:1: a heading of 2 devices"),
        ("\tGPU0\tGPU1\nGPU0\t X \n", "topo.txt:2:8: GPU0 has 1 of 2 cells: the output is cut off"),
        ("\tGPU0\tGPU1\nGPU0\t X \t12%\n", 'topo.txt:2:10: "12%" is no link'),
        ("\tGPU0\tGPU1\nGPU0\t X \tP\x07IX\n", r'topo.txt:2:10: "P\x07IX" is no link'),
        ("\tGPU0\tGPU1\nGPU0\t PIX \tX\n", "topo.txt:2:7: GPU0 has no X in its own column"),
        ("\tGPU0\tGPU1\nGPU0\tX\tX\n", "topo.txt:2:8: GPU0 has an X in the column of GPU1"),
        ("\tGPU0\tGPU1\nGPU0\tX\t\x1b[31mEVIL\n", 'topo.txt:2:8: "EVIL" is no link: expected a word of the legend'),
        ("\tGPU0\tGPU1\nGPU0\tX\tNV0\n", 'topo.txt:2:8: "NV0" is no link'),
        ("\tGPU0\tGPU1\nGPU0\tX\tPIXB\n", 'topo.txt:2:8: "PIXB" is no link'),
        (
            "\tGPU0\tNUMA Affinity\nGPU0\tX\t9999999999999999\n",
            'topo.txt:2:8: "9999999999999999" is no NUMA Affinity: expected numbers from 0 to 65535',
        ),
        ("\tGPU0\tNUMA Affinity\nGPU0\tX\t65536\n", 'topo.txt:2:8: "65536" is no NUMA Affinity'),
        ("\tGPU0\tCPU Affinity\nGPU0\tX\t5-2\n", 'topo.txt:2:8: "5-2" is no CPU Affinity'),
        ("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU0\tX\tPIX\n", "topo.txt:3:1: a second row for GPU0"),
        ("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tSYS\tX\n", "topo.txt:3:1: GPU1 to GPU0 is SYS here and PIX in line 2"),
    ],
)
def test_what_does_not_fit_is_one_error_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        parse(text)
    assert str(raised.value).startswith(problem)


def test_cells_that_run_together_are_not_taken_for_one() -> None:
    with pytest.raises(InputError, match=r'topo\.txt:7:14: "PXBPHB" is no link'):
        parse(FOUR_GPUS.replace("PXB\tPHB", "PXBPHB"))


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="is over 1024 KiB"):
        parse_smi(b" " * (MOST_BYTES + 1), "topo.txt")


def test_more_devices_than_any_machine_has_are_refused() -> None:
    heading = "\t".join(f"GPU{number}" for number in range(513))
    with pytest.raises(InputError, match="a heading of 513 devices"):
        parse(heading)


def test_more_chips_than_any_machine_has_are_refused() -> None:
    rows = "".join(f"{number} 0 {number} Ascend\n" for number in range(1025))
    with pytest.raises(InputError, match="over 1024 chips"):
        parse(f"NPU ID Chip ID Chip Logic ID Chip Name\n{rows}")


@given(st.binary(max_size=400))
def test_any_bytes_are_parsed_or_refused(raw: bytes) -> None:
    try:
        parse_smi(raw, "topo.txt")
    except InputError:
        return


@given(st.sampled_from([FOUR_GPUS, OLD_NAMES, NPU_MATRIX, TWO_DIES]), st.data())
def test_any_damage_to_a_real_text_is_parsed_or_refused(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, len(text)))
    damaged = text[:at] + data.draw(st.text(max_size=8)) + text[end:]
    try:
        topology = parse(damaged)
    except InputError:
        return
    labels = {row.label for row in topology.devices}
    assert all(one.a in labels or one.b in labels for one in topology.links)
