"""A machine as an XML file of hwloc 2, which lstopo and every program on top of hwloc can open (hwloc2.dtd)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.hwloc.devices import OWN_NODE, node_near
from numascope.machine.hwloc.locality import own_cpus
from numascope.machine.hwloc.nodes import OWN_CPUS, OWN_DISTANCES
from numascope.machine.objects import Access, Cache, Core, Device, Group, Machine, Node, Package
from numascope.show.topo.hwloc_tree import Branch, hwloc_tree
from numascope.show.topo.words import cpus_named

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
)
_GROUPS: Final = {
    "Cluster": {"subtype": "Cluster", "kind": "222", "subkind": "0"},
    "Book": {"subtype": "Book", "kind": "110", "subkind": "0"},
    "Drawer": {"subtype": "Drawer", "kind": "110", "subkind": "1"},
    "Group": {"kind": "1001", "subkind": "0"},
}
"""What hwloc itself writes for these groups (its private HWLOC_GROUP_KIND_*)."""

_CACHE_TYPES: Final = {"Unified": "0", "Data": "1", "Instruction": "2"}
_CORE_TYPES: Final = {"P": "IntelCore", "E": "IntelAtom"}
_MEMORY_VALUES: Final = (
    ("ReadBandwidth", "5", "read_bandwidth_mib"),
    ("WriteBandwidth", "5", "write_bandwidth_mib"),
    ("ReadLatency", "6", "read_latency_ns"),
    ("WriteLatency", "6", "write_latency_ns"),
)
"""hwloc's name, its flags (1 higher is better, 2 lower is better, 4 measured from CPUs) and our field."""

_LARGEST_BASE_PAGE_KIB: Final = 64
_WORDS_A_LINE: Final = 10


def hwloc_xml(machine: Machine) -> str:
    """The XML text; what does not fit into hwloc's tree is told in comments behind it, where hwloc's own small parser does not look."""
    return _Writer(machine).text()


class _Writer:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.tree = hwloc_tree(machine)
        self.left_out = [f"left out: {what}" for what in self.tree.left_out]
        self.lines: list[str] = []
        self.indexes = 0
        self.node_index: dict[int, int] = {}
        self.localities: dict[int, CpuSet] = {}
        self._gather(self.tree.root)
        numbers = {node.id for node in machine.nodes}
        self.has_matrix = len(numbers) > 1 and all(set(node.distances) == numbers for node in machine.nodes)
        self.own = own_cpus(self.localities.items())
        self.sides: dict[int, list[Cache]] = {}
        self._place_side_caches()

    def _gather(self, branch: Branch) -> None:
        self.localities |= {node.id: branch.cpus for node in branch.nodes}
        for child in branch.inside:
            self._gather(child)

    def _place_side_caches(self) -> None:
        """A memory-side cache stands before the one node with its CPUs."""
        for cache in self.machine.caches:
            if cache.memory_side:
                nodes = [
                    node.id for node in self.machine.nodes if node.cpus == cache.cpus and node.id in self.localities
                ]
                if len(nodes) == 1:
                    self.sides.setdefault(nodes[0], []).append(cache)
                else:
                    self.left_out.append(
                        f"left out: memory-side cache of {cpus_named(cache.cpus)}: whose it is does not show"
                    )

    def text(self) -> str:
        """The whole file."""
        self._branch(self.tree.root, EMPTY, 1)
        self._distances()
        self._memory_values()
        self._kinds()
        comments = [f"<!-- {what.replace('--', '- -')} -->\n" for what in self.left_out]
        return "".join([_HEAD, *self.lines, "</topology>\n", *comments])

    def _tag(self, depth: int, tag: str, attributes: Mapping[str, str], *, is_open: bool = False) -> None:
        written = "".join(f' {name}="{_escaped(value)}"' for name, value in attributes.items())
        self.lines.append(f"{'  ' * depth}<{tag}{written}{'' if is_open else '/'}>\n")

    def _info(self, depth: int, name: str, value: str | None) -> None:
        if value is not None:
            self._tag(depth, "info", {"name": name, "value": value})

    def _index(self) -> dict[str, str]:
        self.indexes += 1
        return {"gp_index": str(self.indexes)}

    def _branch(self, branch: Branch, above: CpuSet, depth: int) -> None:
        """One object and all inside it; `above` are the nodes of the objects around it, which are its nodes too."""
        reach = above | CpuSet.of(node.id for node in branch.nodes)
        near = reach | branch.numbers
        sets = _set_attributes(branch.cpus, near)
        attributes = {"type": "Group" if branch.type in _GROUPS else branch.type} | sets | self._index()
        if branch.type == "Machine":
            attributes |= self._root_sets()
        self._tag(depth, "object", attributes | _own_attributes(branch), is_open=True)
        if branch.type == "Machine":
            self._info(depth + 1, "Architecture", self.machine.arch)
        if branch.type == "Package" or (branch.type == "Machine" and not self.machine.packages):
            self._info(depth + 1, "CPUModel", self.machine.model)
        for node in branch.nodes:
            self._node(node, branch.cpus, depth + 1)
        for child in branch.inside:
            self._branch(child, reach, depth + 1)
        for device in branch.devices:
            self._device(device, [node for node in self.machine.nodes if node.id in near], depth + 1)
        self.lines.append(f"{'  ' * depth}</object>\n")

    def _root_sets(self) -> dict[str, str]:
        cpus, nodes = self.machine.cpus, CpuSet.of(self.localities)
        found = {
            "os_index": "0",
            "complete_cpuset": bitmap(cpus.present | cpus.online),
            "complete_nodeset": bitmap(nodes | self.machine.nodes_offline),
        }
        allowed = {"allowed_cpuset": cpus.allowed, "allowed_nodeset": self.machine.nodes_allowed}
        for name, ids in allowed.items():
            if ids is not None and ids & (cpus.online if name == "allowed_cpuset" else nodes):
                found[name] = bitmap(ids)
            elif ids is not None:
                self.left_out.append(f"left out: {name}, which is empty: hwloc wants one at least")
        return found

    def _node(self, node: Node, cpus: CpuSet, depth: int) -> None:
        sides = sorted(self.sides.get(node.id, ()), key=lambda side: -side.level)
        sets = _set_attributes(cpus, CpuSet.of([node.id]))
        for inner, side in enumerate(sides):
            attributes = {"type": "MemCache"} | sets | self._index() | _cache_attributes(side)
            self._tag(depth + inner, "object", attributes, is_open=True)
        below = depth + len(sides)
        attributes = {"type": "NUMANode", "os_index": str(node.id)} | sets | self._index()
        self.node_index[node.id] = self.indexes
        if node.memory_kib is not None:
            attributes["local_memory"] = str(node.memory_kib * 1024)
        self._tag(below, "object", attributes, is_open=True)
        if (
            min((pages.size_kib for pages in node.huge_pages), default=_LARGEST_BASE_PAGE_KIB + 1)
            <= _LARGEST_BASE_PAGE_KIB
        ):
            self._tag(
                below + 1, "page_type", {"size": "4096", "count": "0"}
            )  # or 64 KiB would be read as the base page
        for pages in node.huge_pages:
            self._tag(below + 1, "page_type", {"size": str(pages.size_kib * 1024), "count": str(pages.total)})
        if self.own[node.id] != node.cpus:
            self._info(below + 1, OWN_CPUS, str(node.cpus))
        if node.distances and not self.has_matrix:
            pairs = " ".join(f"{number}:{distance}" for number, distance in node.distances.items())
            self._info(below + 1, OWN_DISTANCES, pairs)
        self.lines += [f"{'  ' * at}</object>\n" for at in range(below, depth - 1, -1)]

    def _device(self, device: Device, near: Sequence[Node], depth: int) -> None:
        if len(device.address.partition(":")[0]) > 4:
            self.left_out.append(f"left out: device {device.address}: hwloc has no PCI domains above ffff")
            return
        ids = f"{device.class_code >> 8:04x} [{device.vendor_id:04x}:{device.device_id:04x}] [0000:0000] 00"
        attributes = {"type": "PCIDev"} | self._index() | {"pci_busid": device.address, "pci_type": ids}
        self._tag(depth, "object", attributes, is_open=True)
        self._info(depth + 1, "PCIDevice", device.name)
        if node_near(near) != device.node:
            self._info(depth + 1, OWN_NODE, "" if device.node is None else str(device.node))
        self.lines.append(f"{'  ' * depth}</object>\n")

    def _distances(self) -> None:
        """One matrix, where every node has a distance to every other; hwloc takes none of a single node."""
        if not self.has_matrix:
            return
        nodes = self.machine.nodes
        numbers = [node.id for node in nodes]
        kind = {"type": "NUMANode", "nbobjs": str(len(nodes)), "kind": "5", "name": "NUMALatency", "indexing": "os"}
        self._tag(1, "distances2", kind, is_open=True)
        self._numbers("indexes", numbers)
        self._numbers("u64values", [node.distances[number] for node in nodes for number in numbers])
        self.lines.append("  </distances2>\n")

    def _numbers(self, tag: str, numbers: Sequence[int]) -> None:
        for at in range(0, len(numbers), _WORDS_A_LINE):
            text = "".join(f"{number} " for number in numbers[at : at + _WORDS_A_LINE])
            self.lines.append(f'    <{tag} length="{len(text)}">{text}</{tag}>\n')

    def _memory_values(self) -> None:
        cpus_of = {node.id: node.cpus for node in self.machine.nodes}
        best: dict[tuple[int, CpuSet], Access] = {}
        for node in self.machine.nodes:
            for access in sorted(node.access):
                initiators = EMPTY
                for start in access.initiators:
                    initiators |= cpus_of.get(start, EMPTY)
                if initiators and node.id in self.node_index:
                    best[node.id, initiators] = access
        for name, flags, value_name in _MEMORY_VALUES:
            values = [(at, getattr(access, value_name)) for at, access in best.items()]
            values = [(at, value) for at, value in values if value is not None]
            if not values:
                continue
            self._tag(1, "memattr", {"name": name, "flags": flags}, is_open=True)
            for (number, initiators), value in values:
                target = {"target_obj_type": "NUMANode", "target_obj_gp_index": str(self.node_index[number])}
                self._tag(2, "memattr_value", target | {"value": str(value), "initiator_cpuset": bitmap(initiators)})
            self.lines.append("  </memattr>\n")

    def _kinds(self) -> None:
        for kind in self.machine.kinds:
            self._tag(1, "cpukind", {"cpuset": bitmap(kind.cpus)}, is_open=True)
            self._info(2, "CoreType", _CORE_TYPES.get(kind.kind or ""))
            self._info(2, "LinuxCapacity", None if kind.capacity is None else str(kind.capacity))
            self._info(2, "FrequencyMaxMHz", None if kind.max_khz is None else str(kind.max_khz // 1000))
            self.lines.append("  </cpukind>\n")


def _own_attributes(branch: Branch) -> dict[str, str]:
    """What an object of its type has besides its sets."""
    thing = branch.object
    if branch.type == "PU":
        return {"os_index": str(branch.cpus.first)}
    if isinstance(thing, Cache):
        return _cache_attributes(thing)
    found = dict(_GROUPS.get(branch.type, {}))
    if isinstance(thing, Package | Group):
        found["os_index"] = str(thing.id)
    if isinstance(thing, Core) and thing.core_id is not None:
        found["os_index"] = str(thing.core_id)
    return found


def _cache_attributes(cache: Cache) -> dict[str, str]:
    size = {} if cache.size_kib is None else {"cache_size": str(cache.size_kib * 1024)}
    return size | {"depth": str(cache.level), "cache_type": _CACHE_TYPES[cache.type]}


def _set_attributes(cpus: CpuSet, nodes: CpuSet) -> dict[str, str]:
    cpuset, nodeset = bitmap(cpus), bitmap(nodes)
    return {"cpuset": cpuset, "complete_cpuset": cpuset, "nodeset": nodeset, "complete_nodeset": nodeset}


def bitmap(ids: CpuSet) -> str:
    """A set as hwloc writes it: words of 32 bits, the highest first; a word without bits is empty, `0x0` at the end."""
    bits, at = ids.bits, 0
    text = "" if bits & 0xFFFFFFFF else "0x0"
    while bits:
        empty = (bits & -bits).bit_length() - 1 >> 5
        bits >>= empty << 5
        text = f"0x{bits & 0xFFFFFFFF:08x}{',' * (empty + bool(at))}{text}"
        bits >>= 32
        at += 1
    return text


def _escaped(text: str) -> str:
    return escape(text, {'"': "&quot;"})
