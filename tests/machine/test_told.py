from __future__ import annotations

import pytest
from linked_machines import device, machine_of
from smi_texts import FOUR_GPUS, NPU_MAP, NPU_MATRIX, NPU_MESH, NPU_TABLE, TWO_DIES

from numascope.errors import InputError
from numascope.host.pci.kfd import Kfd, KfdGpu
from numascope.host.pci.nodes import NodeClaim
from numascope.host.pci.nvml import NvmlReport
from numascope.host.pci.smi import parse_smi
from numascope.machine.links import Link
from numascope.machine.objects import Claim, Machine
from numascope.machine.told import Told, told_by_kfd, told_by_nvml, told_by_smi, with_claims


def told(machine: Machine, text: str) -> Told:
    return told_by_smi(machine, parse_smi(text.encode(), "topo.txt"))


def gpu_machine(count: int = 4, nodes: tuple[int | None, ...] = (None, None, None, None)) -> Machine:
    """GPUs at 0a, 1a …, one of AMD's between them, and the NICs mlx5_0 and mlx5_1."""
    gpus = [device(f"0000:{at:x}a:00.0", nodes[at], ()) for at in range(count)]
    other = device("0000:0b:00.0", None, (), vendor_id=0x1002)
    nics = [
        device(f"0000:{at}f:00.0", None, (), "nic", 0x15B3)._replace(name=f"mlx5_{at}, ens{at}f0") for at in range(2)
    ]
    return machine_of(gpus[0], other, *gpus[1:], *nics)


def npu_machine() -> Machine:
    return machine_of(*(device(f"0000:{bus}:00.0", None, (), "npu", 0x19E5) for bus in ("01", "02", "c1", "c2")))


def types(found: Told) -> dict[tuple[str, str], str | None]:
    return {(link.a[5:7], link.b[5:7]): link.type for link in found.links}


def test_nvidia_smi_numbers_nvidias_gpus_in_the_order_of_their_addresses() -> None:
    found = told(gpu_machine(), FOUR_GPUS)
    assert [(address, claim.node) for address, claim in found.claims.items()] == [
        ("0000:0a:00.0", 0),
        ("0000:1a:00.0", 0),
        ("0000:2a:00.0", 1),
        ("0000:3a:00.0", None),
    ]
    assert found.claims["0000:2a:00.0"] == Claim("nvidia-smi topo -m", "topo.txt", "GPU2: NUMA Affinity 1", 1)


def test_a_nic_is_found_by_its_rdma_device_and_left_out_where_the_machine_was_read_without() -> None:
    found = types(told(gpu_machine(), FOUR_GPUS))
    assert (found["0a", "0f"], found["1a", "0f"], found["0a", "1a"]) == ("PIX", "NODE", "NV18")
    assert not any("1f" in pair for pair in found)


def test_a_text_of_a_machine_with_other_gpus_is_refused() -> None:
    with pytest.raises(InputError, match="has rows of 4 GPUs, and the machine has 3 from NVIDIA"):
        told(gpu_machine(3), FOUR_GPUS)


def test_npus_go_by_the_addresses_of_the_table_in_the_same_text() -> None:
    found = told(npu_machine(), NPU_MATRIX + NPU_MAP + NPU_TABLE)
    assert types(found)["c1", "01"] == "HCCS"
    assert types(found)["01", "02"] == "PIX"
    assert {address[5:7]: claim.node for address, claim in found.claims.items()} == {"c1": 0, "01": 1, "c2": 0, "02": 1}


def test_npus_without_addresses_are_told_only_where_their_order_does_not_matter() -> None:
    found = told(npu_machine(), NPU_MESH)
    assert set(types(found).values()) == {"HCCS"}
    assert len(found.links) == 6
    assert found.claims == {}
    with pytest.raises(InputError, match="does not tell which NPU is at which PCI address: add the output of npu-smi"):
        told(npu_machine(), NPU_MATRIX)


def test_dies_of_one_card_go_by_their_physical_numbers() -> None:
    machine = machine_of(*(device(f"0000:{bus}:00.0", None, (), "npu", 0x19E5) for bus in ("9d", "9f")))
    assert told(machine, TWO_DIES).links == (Link("0000:9d:00.0", "0000:9f:00.0", "SIO", "npu-smi info -t topo"),)


def test_npus_of_another_machine_are_refused() -> None:
    with pytest.raises(InputError, match=r"names 0000:01:00\.0, where the machine has no NPU"):
        told(gpu_machine(), NPU_MATRIX + NPU_TABLE)
    with pytest.raises(InputError, match="has rows of 4 NPUs, and the machine has 0"):
        told(gpu_machine(), NPU_MATRIX)


def test_a_text_gives_a_node_only_to_a_device_that_has_none() -> None:
    machine = gpu_machine(nodes=(1, None, None, None))
    found = with_claims(machine, told(machine, FOUR_GPUS))
    assert [(one.node, one.node_source) for one in found.devices if one.vendor_id == 0x10DE] == [
        (1, "numa_node"),
        (0, "nvidia-smi topo -m"),
        (1, "nvidia-smi topo -m"),
        (None, None),
    ]
    assert found.devices[0].claims[-1].node == 0


def test_a_text_that_contradicts_the_machines_own_files_is_a_note() -> None:
    own = device("0000:0a:00.0", 1, ())
    own = own._replace(claims=(Claim("numa_node", "/sys/numa_node", "1", 1),))
    said = Told({own.address: Claim("nvml", "nvmlDeviceGetMemoryAffinity", "nodes 0", 0)}, ())
    found = with_claims(machine_of(own), said)
    (note,) = found.notes
    assert note == (
        "sources disagree on the node of 0000:0a:00.0 (1 in /sys/numa_node, nodes 0 in nvmlDeviceGetMemoryAffinity): "
        "taken as node 1"
    )
    assert with_claims(found, Told({}, ())).notes == found.notes


def test_a_node_that_the_machine_does_not_have_is_not_taken() -> None:
    machine = machine_of(device("0000:0a:00.0", None, ()))
    found = with_claims(machine, Told({"0000:0a:00.0": Claim("nvml", "x", "nodes 7", 7)}, ()))
    assert (found.devices[0].node, len(found.devices[0].claims)) == (None, 1)


def test_nvml_tells_nodes_and_nvlinks() -> None:
    claim = NodeClaim("nvml", "nvmlDeviceGetMemoryAffinity", "nodes 1", 1)
    found = told_by_nvml(NvmlReport((("0000:0a:00.0", claim),), (("0000:0a:00.0", "0000:1a:00.0", 12),)))
    assert found == Told({"0000:0a:00.0": Claim(*claim)}, (Link("0000:0a:00.0", "0000:1a:00.0", "NV12", "nvml"),))


def test_kfd_tells_each_pair_of_amds_fabric_once() -> None:
    a, b = "0000:03:00.0", "10000:26:00.0"
    gpus = {one: KfdGpu(one, None, None, None, (other,)) for one, other in ((a, b), (b, a))}
    assert told_by_kfd(Kfd(gpus, (0,))).links == (Link(a, b, "XGMI", "kfd"),)
