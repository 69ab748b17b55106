"""Columns of facts about packages, dies, nodes, caches and devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from numascope.cpuset import CpuSet
from numascope.machine.objects import Cache, Device, Machine, Node, Package
from numascope.machine.walk import is_in_tree
from numascope.show.topo.columns import UNKNOWN, Column
from numascope.show.topo.tree import cache_words, device_names
from numascope.show.topo.words import cache_size, cpu_list, tied

_NONE: Final = "–"
MOST_DISTANCES: Final = 8
"""Nodes whose distances are columns of the table of nodes; more are told below it."""

_Thing = TypeVar("_Thing")


def or_unknown(value: object) -> str:
    """A value as it is, `?` for what is not known."""
    return UNKNOWN if value is None else str(value)


def _columns(things: Sequence[_Thing], *facts: tuple[str, Callable[[_Thing], object]], names: int = 1) -> list[Column]:
    """A column for each fact, the first ones being names; what is a size or a count stands at the right."""
    return [
        Column(
            head,
            tuple(or_unknown(fact(thing)) for thing in things),
            is_number=head in ("cores", "GiB", "free GiB", "from"),
            is_name=at < names,
        )
        for at, (head, fact) in enumerate(facts)
    ]


def package_columns(machine: Machine) -> list[Column]:
    """A row a package."""
    cores, devices = _core_counter(machine), device_names(machine)

    def dies(package: Package) -> object:
        return sum(1 for die in machine.dies if die.package == package.id) or None

    def nodes(package: Package) -> str:
        return str(CpuSet.of(node.id for node in machine.nodes if package.id in node.packages)) or _NONE

    return _columns(
        machine.packages,
        ("package", lambda package: package.id),
        ("CPUs", lambda package: cpu_list(package.cpus)),
        ("cores", lambda package: cores(package.cpus)),
        ("dies", dies),
        ("nodes", nodes),
        ("caches", lambda package: _caches(machine, package.cpus)),
        ("devices", lambda package: _devices(devices, [node for node in machine.nodes if node.packages == (package.id,)])),
    )  # fmt: skip


def die_columns(machine: Machine) -> list[Column]:
    """A row a die."""
    cores = _core_counter(machine)
    return _columns(
        machine.dies,
        ("package", lambda die: die.package),
        ("die", lambda die: die.id),
        ("CPUs", lambda die: cpu_list(die.cpus)),
        ("cores", lambda die: cores(die.cpus)),
        ("nodes", lambda die: _nodes_of(machine, die.cpus)),
        ("caches", lambda die: _caches(machine, die.cpus)),
        names=2,
    )


def node_columns(machine: Machine) -> list[Column]:
    """A row a node, with its distance to each node where these are few."""
    cores, devices = _core_counter(machine), device_names(machine)
    nodes = machine.nodes
    others = sorted({other for node in nodes for other in node.distances}) if len(nodes) <= MOST_DISTANCES else []

    def packages(node: Node) -> str | None:
        return str(CpuSet.of(node.packages)) if node.packages else None if node.cpus else _NONE

    found = _columns(
        nodes,
        ("node", lambda node: node.id),
        ("CPUs", lambda node: cpu_list(node.cpus) or "none"),
        ("cores", lambda node: cores(node.cpus) if node.cpus else _NONE),
        ("package", packages),
        ("GiB", lambda node: _gib(node.memory_kib)),
        ("free GiB", lambda node: _gib(node.free_kib)),
        ("kind", lambda node: node.kind),
        ("tier", lambda node: node.tier),
        ("huge pages", _huge_pages),
        ("memory allowed", lambda node: _allowed(machine, node)),
        ("caches", lambda node: _caches(machine, node.cpus) if node.cpus else _NONE),
        ("devices", lambda node: _devices(devices, [node])),
    )
    return [
        *found,
        *(
            Column(f"N{other}", tuple(or_unknown(node.distances.get(other)) for node in nodes), is_number=True)
            for other in others
        ),
    ]


def cache_columns(machine: Machine, level: int) -> list[Column]:
    """A row a cache of that level."""
    cores = _core_counter(machine)
    caches = [cache for cache in machine.caches if cache.level == level and not cache.memory_side]
    return _columns(
        sorted(caches, key=lambda cache: (cache.cpus.first, cache.type)),
        ("CPUs", lambda cache: cpu_list(cache.cpus)),
        ("size", lambda cache: None if cache.size_kib is None else cache_size(cache.size_kib)),
        ("type", lambda cache: cache.type),
        ("cores", lambda cache: cores(cache.cpus)),
        ("nodes", lambda cache: _nodes_of(machine, cache.cpus)),
        ("package", lambda cache: str(CpuSet.of(one.id for one in machine.packages if one.cpus & cache.cpus)) or None),
    )


def device_columns(machine: Machine) -> list[Column]:
    """A row a device, numbered as everywhere: dN in the order of the PCI addresses."""
    numbers = {device: f"d{number}" for number, device in enumerate(machine.devices)}
    return _columns(
        machine.devices,
        ("device", lambda device: numbers[device]),
        ("address", lambda device: device.address),
        ("kind", lambda device: device.kind),
        ("vendor", lambda device: device.vendor),
        ("id", lambda device: f"{device.vendor_id:04x}:{device.device_id:04x}"),
        ("name", lambda device: device.name),
        ("node", lambda device: device.node),
        ("node by", lambda device: device.node_source),
        ("local CPUs", _local_cpus),
    )


def _local_cpus(device: Device) -> str | None:
    return None if device.local_cpus is None else cpu_list(device.local_cpus) or "none"


def _core_counter(machine: Machine) -> Callable[[CpuSet], int | None]:
    """How many cores have a CPU in a set, by looking each CPU up once: rows × cores would be too many."""
    core_of = {cpu: number for number, core in enumerate(machine.cores) for cpu in core.cpus}
    return lambda cpus: len({core_of[cpu] for cpu in cpus if cpu in core_of}) if core_of else None


def _gib(kib: int | None) -> str | None:
    return None if kib is None else f"{kib / (1 << 20):,.1f}"


def _huge_pages(node: Node) -> str:
    sizes = [f"{one.total} of {cache_size(one.size_kib)}" for one in node.huge_pages if one.total]
    return ", ".join(map(tied, sizes)) or ("0" if node.huge_pages else UNKNOWN)


def _allowed(machine: Machine, node: Node) -> str | None:
    if machine.nodes_allowed is None:
        return None
    return "yes" if node.id in machine.nodes_allowed else "no"


def _nodes_of(machine: Machine, cpus: CpuSet) -> str | None:
    return str(CpuSet.of(node.id for node in machine.nodes if node.cpus & cpus)) or None


def _caches(machine: Machine, cpus: CpuSet) -> str | None:
    """`12 × L3 32 MiB` of the large caches that these CPUs use."""
    return counted_caches(cache for cache in machine.caches if is_in_tree(cache) and cache.cpus & cpus)


def counted_caches(caches: Iterable[Cache]) -> str | None:
    """Caches in words, those of one sort counted."""
    counts = Counter(map(cache_words, caches))
    return ", ".join(tied(word if count == 1 else f"{count} × {word}") for word, count in counts.items()) or None


def _devices(names: Mapping[int | None, str], nodes: Iterable[Node]) -> str:
    return ", ".join(names[node.id] for node in nodes if node.id in names) or _NONE
