"""The machines of torch's own cases and of the corpus of its answers, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Core, Cpus, Machine, Node, Package
from numascope.plan.make.seats import Seat


def machine_of(topology: Mapping[str, Any]) -> Machine:
    """A topology of the corpus: `cpus` gives of each CPU its node, package, siblings and last-level cache."""
    cpus = {int(cpu): facts for cpu, facts in topology["cpus"].items()}
    nodes = {int(node): CpuSet.parse(text) for node, text in topology["nodes"].items()}
    packages: dict[int, CpuSet] = {}
    for cpu, (_, package, _, _) in cpus.items():
        packages[package] = packages.get(package, EMPTY) | CpuSet.of([cpu])
    siblings = sorted({CpuSet.parse(facts[2]) for facts in cpus.values()}, key=lambda one: one.first)
    thirds = sorted({CpuSet.parse(facts[3]) for facts in cpus.values() if facts[3]}, key=lambda one: one.first)
    online = CpuSet.of(cpus)
    return Machine(
        "corpus", "x86_64", None,
        Cpus(online, online, online, EMPTY, None, EMPTY),
        tuple(Package(number, packages[number]) for number in sorted(packages)),
        (), (), (), (),
        tuple(Node(number, nodes[number], None, None) for number in sorted(nodes)),
        None,
        (*(Cache(2, "Unified", None, one) for one in siblings), *(Cache(3, "Unified", None, one) for one in thirds)),
        tuple(Core(one, None, None, None) for one in siblings),
        (), (),
        nodes_offline=CpuSet.parse(topology["possible"]) - CpuSet.of(nodes),
        node_of={cpu: facts[0] for cpu, facts in cpus.items()},
    )  # fmt: skip


def seats_of(devices: Mapping[str, int]) -> tuple[Seat, ...]:
    """Devices as the kernel tells of them: -1 is no node."""
    return tuple(
        Seat(int(number), None, None if node < 0 else node, None if node < 0 else node)
        for number, node in devices.items()
    )


def regular(topology: Mapping[str, Any]) -> dict[str, Any]:
    """A topology of torch's own test table, in the form of the corpus: everything packed, siblings 2k and 2k+1."""
    nodes = topology["sockets"] * topology["numa_nodes_per_socket"]
    smt, per_l3 = topology["smt"], topology["cores_per_l3"]
    per_node = topology["l3_per_numa_node"] * per_l3 * smt
    cpus = {}
    for cpu in range(nodes * per_node):
        node, l3, core = cpu // per_node, cpu // (per_l3 * smt) * per_l3 * smt, cpu // smt * smt
        package = node // topology["numa_nodes_per_socket"]
        cpus[str(cpu)] = [node, package, f"{core}-{core + smt - 1}", f"{l3}-{l3 + per_l3 * smt - 1}"]
    return {
        "cpus": cpus,
        "nodes": {str(node): f"{node * per_node}-{node * per_node + per_node - 1}" for node in range(nodes)},
        "possible": f"0-{nodes - 1}",
        "devices": {str(at): at // topology["devices_per_numa_node"] for at in range(nodes * topology["devices_per_numa_node"])},
    }  # fmt: skip
