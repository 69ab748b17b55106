"""What the parts of a machine have in common, said once below its tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import CACHE_LETTERS, Cache, Core, Device, Group, Machine, Node
from numascope.machine.walk import is_in_tree
from numascope.machine.within import Within
from numascope.show.topo.words import cache_size, cpu_list, down_columns, gib, plural, tied, wrap

_DEVICE_SORTS: Final = {"nic": "NICs", "nvme": "NVMe drives"}


def machine_name(machine: Machine, unknown: str = "?") -> str:
    """Architecture and model."""
    return f"{machine.arch or f'architecture {unknown}'}, {machine.model or f'model {unknown}'}"


def counts(machine: Machine, unknown: str = "?") -> list[str]:
    """`2 packages`, `8 nodes`, `192 cores`, `192 CPUs`, `2,048 GiB`."""
    known = [node.memory_kib for node in machine.nodes if node.memory_kib is not None]
    memory = f"{gib(sum(known))} GiB" if known else f"memory {unknown}"
    return [
        plural(len(machine.packages), "package") if machine.packages else f"packages {unknown}",
        plural(len(machine.nodes), "node"),
        plural(len(machine.cores), "core") if machine.cores else f"cores {unknown}",
        plural(len(machine.cpus.online), "CPU"),
        memory if len(known) in (0, len(machine.nodes)) else f"at least {memory}",
    ]


def group_lines(machine: Machine) -> list[str]:
    """The levels above packages, which no drawing shows: `drawer 0: 0-7`, `book 0: 0-3`."""
    levels = (("drawer", machine.drawers), ("book", machine.books))
    return [f"{name} {group.id}: {cpu_list(group.cpus)}" for name, groups in levels for group in groups]


def core_lines(machine: Machine) -> list[str]:
    """Cores, hardware threads and clusters: of every node where all are alike, else of the machine."""
    if not machine.cores:
        return []
    nodes = [node for node in machine.nodes if node.cpus]
    if len(nodes) > 1:
        cores, clusters = Within(machine.cores), Within(machine.clusters)
        descriptions = {_describe(cores.of(node.cpus), clusters.of(node.cpus)) for node in nodes}
        if len(descriptions) == 1 and sum(len(node.cpus) for node in nodes) == len(set(machine.node_of)):
            name = "every node" if len(nodes) == len(machine.nodes) else "every node with CPUs"
            return [f"{name}: {descriptions.pop()}{_siblings(machine.cores)}"]
    return [_describe(machine.cores, machine.clusters) + _siblings(machine.cores)]


def _describe(cores: Sequence[Core], clusters: Sequence[Group]) -> str:
    threads = Counter(len(core.cpus) for core in cores)
    parts = [plural(len(cores), "core")]
    if len(threads) == 1:
        parts.append(f"{plural(next(iter(threads)), 'thread')} each")
    else:
        most, *fewer = sorted(threads, reverse=True)
        cpus = plural(sum(size * count for size, count in threads.items()), "CPU")
        parts += [
            f"{cpus}: {threads[most]} with {plural(most, 'thread')}",
            *(f"{threads[size]} with {size}" for size in fewer),
        ]
    members = Within(cores)
    sizes = Counter(len(members.of(cluster.cpus)) for cluster in clusters)
    if len(sizes) == 1 and 1 < next(iter(sizes)) < len(cores):
        parts.append(f"{plural(len(clusters), 'cluster')} of {next(iter(sizes))}")
    return ", ".join(map(tied, parts))


def _siblings(cores: Sequence[Core]) -> str:
    """Which CPUs are threads of one core, where one rule holds for all that have several."""
    steps: set[int] = set()
    for core in cores:
        ids = list(core.cpus)
        steps.update(after - before for before, after in pairwise(ids))
    counts = {len(core.cpus) for core in cores} - {1}
    if len(counts) != 1 or len(steps) != 1:
        return ""
    step = steps.pop()
    names = ["n", *(f"n+{step * number}" for number in range(1, counts.pop()))]
    return "; " + tied(f"threads of a core: CPU {', '.join(names[:-1])} and {names[-1]}")


def kind_lines(machine: Machine) -> list[str]:
    """Kinds of cores with what the kernel says of them."""
    if not machine.kinds:
        return []
    found = []
    for kind in machine.kinds:
        details = (
            kind.kind,
            cpu_list(kind.cpus),
            None if kind.capacity is None else f"capacity {kind.capacity}",
            None if kind.max_khz is None else f"up to {kind.max_khz / 1e6:.1f} GHz",
        )
        found.append(tied(" ".join(filter(None, details))))
    return [f"{len(found)} kinds of cores: {'; '.join(found)}"]


def cache_lines(machine: Machine) -> list[str]:
    """The caches that the tree does not show, the largest first, and memory-side caches."""
    small = [cache for cache in machine.caches if not cache.memory_side and not is_in_tree(cache)]
    cores_of = {cpu: core.cpus for core in machine.cores for cpu in core.cpus}
    alike: list[str] = []
    other: list[str] = []
    for level in sorted({cache.level for cache in small}, reverse=True):
        sorts = _sorts([cache for cache in small if cache.level == level], cores_of)
        for (sharing, size), cpus in sorts.items():
            if len(sorts) == 1 and sharing == "a core":
                alike.append(f"L{level}{size}")
            else:
                mixed = len({shared for shared, _ in sorts}) < len(sorts) or bool(machine.kinds)
                other.append(tied(f"L{level}{size} {sharing}{f' ({cpu_list(cpus)})' if mixed else ''}"))
    lines = ["; ".join([*([tied(f"{', '.join(alike)} a core")] if alike else []), *other])]
    sides = [cache for cache in machine.caches if cache.memory_side]
    if sides:
        sizes = Counter(cache_size(cache.size_kib) for cache in sides)
        lines.append(f"memory-side caches: {', '.join(f'{count} × {size}' for size, count in sizes.items())}")
    return [line for line in lines if line]


def _sorts(caches: Sequence[Cache], cores_of: Mapping[int, CpuSet]) -> dict[tuple[str, str], CpuSet]:
    """(who shares it, size) → CPUs, of the caches of a level; the data and the instruction cache of the same CPUs are one."""
    of_set: dict[CpuSet, dict[str, str]] = {}
    for cache in caches:
        of_set.setdefault(cache.cpus, {})[cache.type] = cache_size(cache.size_kib)
    found: dict[tuple[str, str], CpuSet] = {}
    for cpus, sizes in sorted(of_set.items(), key=lambda entry: _is_last_thread(entry[0], cores_of)):
        key = (_sharing(cpus, cores_of), _sizes(sizes))
        if _is_last_thread(cpus, cores_of) and ("a thread", key[1]) in found:
            key = ("a thread", key[1])
        found[key] = found.get(key, EMPTY) | cpus
    return dict(sorted(found.items(), key=lambda entry: list(entry[1])))


def _is_last_thread(cpus: CpuSet, cores_of: Mapping[int, CpuSet]) -> bool:
    """Whether these are one core with one thread: what such a cache is shared by only other cores can tell."""
    return len(cpus) == 1 and cores_of.get(cpus.first) == cpus


def _sharing(cpus: CpuSet, cores_of: Mapping[int, CpuSet]) -> str:
    own = cores_of.get(cpus.first)
    if own is not None and cpus <= own:
        return "a core" if cpus == own else "a thread"
    cores = {cores_of[cpu] for cpu in cpus if cpu in cores_of}
    if not cores:
        return f"for {plural(len(cpus), 'CPU')}"
    if len(cores) > 1:
        return f"for {plural(len(cores), 'core')}"
    return "a core" if cores.pop() <= cpus else "a thread"


def _sizes(sizes: Mapping[str, str]) -> str:
    """` 32+32 KiB` of data and instructions, `d 16 KiB`, ` 2 MiB`."""
    if set(sizes) == {"Data", "Instruction"}:
        data, instruction = sizes["Data"], sizes["Instruction"]
        unit = data.rpartition(" ")[2]
        same = instruction.rpartition(" ")[2] == unit
        return f" {data.removesuffix(f' {unit}')}+{instruction}" if same else f" {data} + {instruction}"
    return ", ".join(f"{CACHE_LETTERS[kind]} {size}" for kind, size in sizes.items())


def device_lines(machine: Machine, width: int) -> list[str]:
    """Each device's number, PCI address and node, and what the numbers follow."""
    if not machine.devices:
        return []
    cells = [
        f"d{index} {device.address} {'N?' if device.node is None else f'N{device.node}'}"
        for index, device in enumerate(machine.devices)
    ]
    names = Counter(f"{device.vendor or f'vendor {device.vendor_id:04x}'} {device.kind}" for device in machine.devices)
    what = ", ".join(f"{count} × {name}" for name, count in names.items())
    sources = ", ".join(dict.fromkeys(map(_source, machine.devices)))
    return [*down_columns(cells, width), *wrap(f"{_order(machine.devices)}: {what}; {sources}", width)]


def _order(devices: Sequence[Device]) -> str:
    """What the numbers of these devices follow: the sorts that are there one after the other, each by PCI address."""
    sorts = dict.fromkeys(_DEVICE_SORTS.get(device.kind, "accelerators") for device in devices)
    if len(sorts) == 1:
        return "dN is PCI order"
    return tied(f"dN counts {', then '.join(sorts)}") + ", " + tied("each in PCI order")


def _source(device: Device) -> str:
    """What says where a device is, in words."""
    if device.node_source is None:
        return "N? where no file names a node"
    if device.node_source == "only node":
        return "N0 as the only node" if device.node == 0 else "its node as the only one"
    return (
        "node by numa_node of a bridge"
        if device.node_source.startswith("numa_node of")
        else f"node by {device.node_source}"
    )


def distance_lines(machine: Machine, width: int) -> list[str]:
    """The firmware's distances in one line where they follow the packages, else as a matrix, else its range."""
    nodes = [node for node in machine.nodes if node.distances]
    if len(nodes) < 2:
        return []
    classes: dict[str, set[int]] = {}
    for node in nodes:
        for other in nodes:
            if (distance := node.distances.get(other.id)) is not None:
                classes.setdefault(_relation(node, other), set()).add(distance)
    if all(len(values) == 1 for values in classes.values()):
        near, far = classes.get("same package"), classes.get("other package")
        if near and far and near != far and not all(node.packages for node in nodes):
            return _matrix(nodes, width)
        if near is None or far is None or near == far:
            rest = near or far
            return [f"distance: {_one(classes['own node'])} own node, {_one(rest)} other"] if rest else []
        order = ("own node", "same package", "other package")
        return [f"distance: {', '.join(f'{_one(classes.get(name))} {name}' for name in order)}"]
    return _matrix(nodes, width)


def _relation(node: Node, other: Node) -> str:
    if node.id == other.id:
        return "own node"
    return "same package" if set(node.packages) & set(other.packages) else "other package"


def _one(values: set[int] | None) -> str:
    return "?" if not values else str(next(iter(values)))


def _matrix(nodes: Sequence[Node], width: int) -> list[str]:
    numbers = [node.id for node in nodes]
    values = [[node.distances.get(end) for end in numbers] for node in nodes]
    cell = max(len(str(value)) for value in (*numbers, *(value for row in values for value in row)))
    cell = max(cell, len(f"N{numbers[-1]}"))
    head = "distance from"
    margin = max(len(head), len(f"N{numbers[-1]}"))
    if margin + len(numbers) * (cell + 1) > width:
        known = [value for row in values for value in row if value is not None]
        return [f"distance: from {min(known)} to {max(known)}; the matrix is in --json"]
    lines = [" ".join([head.ljust(margin), *(f"N{number}".rjust(cell) for number in numbers)])]
    for number, row in zip(numbers, values, strict=True):
        cells = ("?" if value is None else str(value) for value in row)
        lines.append(" ".join([f"N{number}".rjust(margin), *(text.rjust(cell) for text in cells)]))
    return lines
