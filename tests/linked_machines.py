"""Machines made by hand out of devices and the bridges above them."""

from __future__ import annotations

from shapes import Shape, machine

from numascope.machine.objects import Device, Machine


def device(address: str, node: int | None, path: tuple[str, ...], kind: str = "gpu", vendor_id: int = 0x10DE) -> Device:
    """A device of that node below those bridges."""
    source = None if node is None else "numa_node"
    return Device(address, 0x030200, kind, vendor_id, 0x2330, "NVIDIA", None, node, source, None, (), path)


def machine_of(*devices: Device) -> Machine:
    """A machine of two nodes with four CPUs each, and these devices."""
    return machine(Shape(packages=2, nodes=1, l3s=1, cores=4))._replace(devices=devices)


def eight_and_eight() -> Machine:
    """Eight GPUs and eight NICs, each pair below a switch of its own, four pairs a node."""
    gpus: list[Device] = []
    nics: list[Device] = []
    for number in range(8):
        bus = 0x10 * number + 0x0A
        above = (f"pci0000:{bus:02x}", f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0")
        for at, found in ((0, gpus), (1, nics)):
            address = f"0000:{bus + 3 + at:02x}:00.0"
            path = (*above, f"0000:{bus + 2:02x}:0{at}.0", address)
            found.append(device(address, number // 4, path, "nic" if at else "gpu", 0x15B3 if at else 0x10DE))
    nics = [nic._replace(name=f"mlx5_{number}, ens{number}f0") for number, nic in enumerate(nics)]
    return machine_of(*gpus, *nics)
