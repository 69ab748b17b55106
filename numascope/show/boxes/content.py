"""What stands in each box of the picture: the walk's places merged where one only wraps another, with their cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Cache, Machine, Node
from numascope.machine.walk import Place, Walk
from numascope.show.boxes.box import Box, More
from numascope.show.boxes.cores import Cells, offline_run
from numascope.show.topo.tree import cache_words
from numascope.show.topo.words import cache_size, cpu_list, gib

_MOST_OFFLINE_DRAWN: Final = 64
_A_CORE: Final = " a core"


def boxes_of(machine: Machine, walked: Walk, lit: CpuSet | None = None) -> tuple[Box, ...]:
    """All boxes from the outermost in: places, memory-only nodes, CPUs of no place, offline CPUs."""
    return _Content(machine, walked, lit).boxes()


class _Content:
    """Says what each place holds; a core belongs to the smallest place that holds it whole."""

    def __init__(self, machine: Machine, walked: Walk, lit: CpuSet | None) -> None:
        self._machine = machine
        self._walked = walked
        self._cells = Cells(machine, lit)
        self._has_memory = any(node.memory_kib is not None for node in machine.nodes)
        self._sides = {cache.cpus: cache for cache in machine.caches if cache.memory_side and cache.cpus}
        self._cores_of = _claimed(self._cells.cores, walked.tops)
        self._crossing = {id(overlap.place.thing) for overlap in walked.overlaps}

    def boxes(self) -> tuple[Box, ...]:
        """The outermost boxes."""
        found = [_named(self._box(place), place) for place in self._walked.tops]
        found += [
            Box(
                (f"node {node.id}",),
                EMPTY,
                "no CPUs",
                (),
                self._memory(node),
                self._devices_of((node,)),
                self._devices_of((node,)),
                nodes=(node,),
            )
            for node in self._walked.memory_only
        ]
        if loose := self._cores_of.get(None):
            cpus = CpuSet.of(cpu for core in loose for cpu in core)
            found.append(Box(("of no package or node",), cpus, cpu_list(cpus), runs=self._cells.runs(loose)))
        if offline := self._machine.cpus.offline:
            runs = (offline_run(offline),) if len(offline) <= _MOST_OFFLINE_DRAWN else ()
            found.append(Box(("offline, place unknown",), EMPTY, cpu_list(offline), runs=runs))
        return _evened(found)

    def _box(self, place: Place) -> Box:
        chain, own_caches, inside = _merged(place)
        inside = [part for part in inside if not (id(part.thing) in self._crossing and id(part) not in self._cores_of)]
        each = self._one_core_caches(inside)
        links = (*chain, *own_caches, *(inside if each else ()))
        cores = sorted(
            (core for link in links for core in self._cores_of.get(id(link), ())), key=lambda core: core.first
        )
        inside = [] if each else inside
        boxes = [self._box(part) for part in inside]
        nodes = tuple(link.thing for link in chain if isinstance(link.thing, Node))
        tells_cpus = bool(nodes) or not any(box.nodes for box in boxes)
        all_nodes = (*nodes, *(node for box in boxes for node in box.nodes))
        shared, boxes = _caches_told_once(inside, boxes)
        is_cache = isinstance(place.thing, Cache)
        return Box(
            tuple(f"{link.kind} {link.number}" for link in chain if not isinstance(link.thing, Cache)),
            place.cpus,
            cpu_list(place.cpus) if tells_cpus and not is_cache else "",
            (*(cache_words(link.thing) for link in own_caches if isinstance(link.thing, Cache)), *each, *shared),
            tuple(text for node in nodes for text in self._memory(node)),
            self._devices_of(nodes),
            self._devices_of(all_nodes),
            self._cells.runs(cores),
            tuple(boxes),
            all_nodes,
            _labels(place.cpus, cores) if is_cache else (),
        )

    def _one_core_caches(self, inside: Sequence[Place]) -> tuple[str, ...]:
        """`L3 6 MiB a core`, where what lies inside is nothing but a cache for each core: no boxes are drawn then."""
        words = {cache_words(part.thing) if isinstance(part.thing, Cache) else "" for part in inside}
        if len(words) != 1 or "" in words or any(len(self._cores_of.get(id(part), ())) != 1 for part in inside):
            return ()
        return (words.pop() + _A_CORE,)

    def _memory(self, node: Node) -> tuple[str, ...]:
        """`256 GiB, 182.4 free`, and the memory-side cache."""
        found = [memory_words(node)] if self._has_memory else []
        if (side := self._sides.get(node.cpus)) is not None:
            found.append(f"memory-side cache {cache_size(side.size_kib)}")
        return tuple(found)

    def _devices_of(self, nodes: Sequence[Node]) -> str:
        """`gpu d0 d1, npu d2`; dN counts the machine's devices in the order of their PCI addresses."""
        ids = {node.id for node in nodes}
        kinds: dict[str, list[str]] = {}
        for number, device in enumerate(self._machine.devices):
            if device.node in ids:
                kinds.setdefault(device.kind, []).append(f"d{number}")
        return ", ".join(f"{kind} {' '.join(names)}" for kind, names in kinds.items())


def _named(box: Box, place: Place) -> Box:
    """A cache of no package and no node, where these contradict each other, has a name of its own."""
    if not isinstance(place.thing, Cache):
        return box
    return replace(box, names=(cache_words(place.thing),), cpu_words=cpu_list(place.cpus), labels=())


def _labels(cpus: CpuSet, cores: Sequence[CpuSet]) -> tuple[str, ...]:
    if not cores:
        return (cpu_list(cpus),)
    return cpu_list(cpus), cpu_list(CpuSet.of(core.first for core in cores)), str(cores[0].first)


def _caches_told_once(inside: Sequence[Place], boxes: Sequence[Box]) -> tuple[list[str], list[Box]]:
    """`12 × L3 32 MiB` for the box around, where the boxes inside are caches, or say the same of theirs."""
    things = [part.thing for part in inside]
    words = [cache_words(thing) if isinstance(thing, Cache) else None for thing in things]
    told = [", ".join(box.caches) if word is None else word for word, box in zip(words, boxes, strict=True)]
    if len(boxes) < 2 or not all(told) or not all(box.is_cell for box in boxes):
        return [], list(boxes)
    counts = Counter(told)
    if len(counts) > 1:
        return [], [
            replace(box, labels=tuple(f"{label} · {word}" for label in box.labels)) if box.labels else box
            for box, word in zip(boxes, told, strict=True)
        ]
    shared = [word if word.endswith(_A_CORE) else f"{count} × {word}" for word, count in counts.items()]
    return shared, [replace(box, caches=()) for box in boxes]


def _evened(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """The boxes with the widths that those of one kind have in common."""
    kinds: dict[object, list[Box]] = {}
    for box in _all_boxes(boxes):
        kinds.setdefault(_kind(box), []).append(box)
    widths = {
        kind: tuple(max(map(len, form)) for form in zip(*(one.forms for one in alike), strict=True))
        for kind, alike in kinds.items()
    }
    cpu_widths = {kind: max(len(box.cpu_words) for box in alike) for kind, alike in kinds.items()}

    def evened(box: Box) -> Box:
        kind = _kind(box)
        inside = tuple(evened(part) if isinstance(part, Box) else part for part in box.inside)
        return replace(box, inside=inside, label_widths=widths[kind], cpu_width=cpu_widths[kind])

    return tuple(map(evened, boxes))


def _kind(box: Box) -> object:
    return tuple(name.split(" ")[0] for name in box.names), len(box.labels), bool(box.cpus)


def _all_boxes(boxes: Iterable[Box | More]) -> Iterator[Box]:
    for box in boxes:
        if isinstance(box, Box):
            yield box
            yield from _all_boxes(box.inside)


def memory_words(node: Node, like: Node | None = None) -> str:
    """A node's memory with its kind; beside a node of equal size what is free only."""
    if node.memory_kib is None:
        return "memory ?"
    if not node.memory_kib:
        return "no memory"
    total = f"{gib(node.memory_kib)} GiB"
    named = " ".join(filter(None, [total, node.kind]))
    free = "" if node.free_kib is None else f"{node.free_kib / (1 << 20):,.1f} free"
    if like is not None and like.memory_kib and total == f"{gib(like.memory_kib)} GiB" and node.kind == like.kind:
        return free
    return ", ".join(filter(None, [named, free]))


def _merged(place: Place) -> tuple[list[Place], list[Place], list[Place]]:
    """A place with all that it only wraps, the caches that serve exactly it, and what lies inside."""
    chain = [place]
    own_caches: list[Place] = []
    while True:
        inside = [part for part in chain[-1].inside if not _is_own_cache(part, place.cpus)]
        own_caches += [part for part in chain[-1].inside if _is_own_cache(part, place.cpus)]
        if len(inside) != 1 or inside[0].cpus != place.cpus:
            return chain, own_caches, inside
        chain.append(inside[0])


def _is_own_cache(part: Place, cpus: CpuSet) -> bool:
    return isinstance(part.thing, Cache) and part.cpus == cpus


def _claimed(cores: Sequence[CpuSet], tops: Iterable[Place]) -> Mapping[int | None, list[CpuSet]]:
    """Place (by its identity; None: no place) → the cores that no smaller place holds whole."""
    places = sorted(_all(tops), key=lambda place: -len(place.cpus))
    holders: dict[int, list[Place]] = {}
    for place in places:
        for cpu in place.cpus:
            holders.setdefault(cpu, []).append(place)
    found: dict[int | None, list[CpuSet]] = {}
    for core in cores:
        around = holders.get(core.first, [])
        holder = next((place for place in reversed(around) if core <= place.cpus), None)
        found.setdefault(None if holder is None else id(holder), []).append(core)
    return found


def _all(places: Iterable[Place]) -> Iterable[Place]:
    for place in places:
        yield place
        yield from _all(place.inside)
