"""The tree of packages, nodes and large caches, in aligned rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from numascope.machine.objects import Cache, Machine, Node
from numascope.machine.walk import Place, Walk
from numascope.machine.within import Within
from numascope.show.ink import Line, Span
from numascope.show.topo.words import cache_size, columns, cpu_list, gib, plural, wrap

_GAP: Final = "   "
_WIDEST_CPUS: Final = 26
_WIDEST_COLUMN: Final = 24
_FEWEST_TO_FOLD: Final = 2


class Row(NamedTuple):
    """One line of the tree before alignment; `below` are cells in columns under it."""

    lead: str
    label: str
    cpus: str = ""
    memory: str = ""
    cache: str = ""
    devices: str = ""
    below: tuple[str, ...] = ()
    below_lead: str = ""

    @property
    def is_heading(self) -> bool:
        """Whether it names a package and nothing else."""
        return not (self.cpus or self.memory or self.cache or self.devices)


def tree_lines(machine: Machine, walked: Walk, width: int) -> list[Line]:
    """The tree, never wider than `width`."""
    words = _Words(machine)
    rows = [row for place in walked.tops for row in _rows(place, "", "", "", words)]
    rows += [words.node_row("", node, "no CPUs") for node in walked.memory_only]
    lost = words.devices.get(None)
    return [*_align(rows, width), *((Span(text),) for text in wrap(f"node unknown: {lost}", width) if lost)]


class _Words:
    """What the cells of a row say, with the columns that every row needs to know."""

    def __init__(self, machine: Machine) -> None:
        self.cores = Within(machine.cores)
        known = [node for node in machine.nodes if node.memory_kib]
        self.has_memory = any(node.memory_kib is not None for node in machine.nodes)
        self.total_width = max((len(gib(node.memory_kib)) for node in known if node.memory_kib), default=0)
        self.free_width = max((len(_free(node)) for node in known if node.free_kib is not None), default=0)
        self.devices = device_names(machine)

    def node_row(self, lead: str, node: Node, cpus: str, cache: str = "", below_lead: str = "") -> Row:
        """A node with its memory and devices."""
        return Row(
            lead, f"node {node.id}", cpus, self._memory(node), cache, self.devices.get(node.id, ""), (), below_lead
        )

    def _memory(self, node: Node) -> str:
        if not self.has_memory:
            return ""
        if node.memory_kib is None:
            return "memory ?"
        if not node.memory_kib:
            return "no memory"
        total = f"{gib(node.memory_kib):>{self.total_width}} GiB{f' {node.kind}' if node.kind else ''}"
        return total if node.free_kib is None else f"{total}, {_free(node):>{self.free_width}} free"

    def share(self, place: Place) -> str:
        """`8 cores, 16 CPUs`, or the CPUs only where no core is known."""
        cores = len(self.cores.of(place.cpus))
        cpus = plural(len(place.cpus), "CPU")
        return f"{plural(cores, 'core')}, {cpus}" if cores else cpus


def device_names(machine: Machine) -> Mapping[int | None, str]:
    """Node → `npu d0 d1, gpu d2`, None → those of unknown node; dN is the place in the machine's `devices`."""
    found: dict[int | None, dict[str, list[str]]] = {}
    for index, device in enumerate(machine.devices):
        found.setdefault(device.node, {}).setdefault(device.kind, []).append(f"d{index}")
    return {
        node: ", ".join(f"{kind} {' '.join(names)}" for kind, names in kinds.items()) for node, kinds in found.items()
    }


def _free(node: Node) -> str:
    return "" if node.free_kib is None else f"{node.free_kib / (1 << 20):,.1f}"


def _rows(place: Place, lead: str, branch: str, stem: str, words: _Words) -> Iterator[Row]:
    """A place and all below it; `branch` draws its own line, `stem` goes on under it."""
    own_cache, inside = _own_cache(place)
    below_lead = lead + stem
    yield _row(place, lead + branch, own_cache, below_lead, words, has_nodes=_holds_nodes(inside))
    parts = _folded(inside)
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        branch, stem = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        if len(part) == 1 and part[0].kind != "cache":
            yield from _rows(part[0], below_lead, branch, stem, words)
        else:
            yield _fold(part, below_lead + branch, below_lead + stem, words)


def _row(place: Place, lead: str, own_cache: str, below_lead: str, words: _Words, *, has_nodes: bool) -> Row:
    if isinstance(place.thing, Node):
        return words.node_row(lead, place.thing, cpu_list(place.cpus), own_cache, below_lead)
    if isinstance(place.thing, Cache):
        return Row(lead, cache_words(place.thing), cpu_list(place.cpus), below_lead=below_lead)
    cpus = "" if has_nodes and not own_cache else cpu_list(place.cpus)
    return Row(lead, f"{place.kind} {place.number}", cpus, "", own_cache, below_lead=below_lead)


def cache_words(cache: Cache) -> str:
    """`L3 32 MiB`."""
    return f"L{cache.level} {cache_size(cache.size_kib)}"


def _own_cache(place: Place) -> tuple[str, tuple[Place, ...]]:
    """The caches that serve exactly this place, in words, and everything else inside it."""
    own = [part for part in place.inside if isinstance(part.thing, Cache) and part.cpus == place.cpus]
    names = " ".join(cache_words(part.thing) for part in own if isinstance(part.thing, Cache))
    return names, tuple(part for part in place.inside if part not in own)


def _holds_nodes(inside: Iterable[Place]) -> bool:
    return any(part.kind == "node" or _holds_nodes(part.inside) for part in inside)


def _signature(place: Place, size: int) -> object:
    """What places must have in common to be told in one row."""
    if isinstance(place.thing, Cache):
        return (place.kind, cache_words(place.thing), size)
    caches = _caches_in_words(place)
    if caches is None or place.kind in ("node", "die"):
        return (place.kind, place.number, size)
    return (place.kind, caches, size)


def _caches_in_words(place: Place) -> str | None:
    """`L3 16 MiB` or `2 × L3 12 MiB` of a place that holds nothing but caches."""
    own, inside = _own_cache(place)
    names = Counter(cache_words(part.thing) if isinstance(part.thing, Cache) else None for part in inside)
    if None in names:
        return None
    return " ".join(filter(None, [own, *(f"{count} × {name}" for name, count in names.items())]))


def _folded(inside: Sequence[Place]) -> list[list[Place]]:
    """Neighbours that differ in their CPUs only, together."""
    groups: dict[object, list[Place]] = {}
    for place in inside:
        groups.setdefault(_signature(place, len(place.cpus)), []).append(place)
    found: list[list[Place]] = []
    for group in groups.values():
        foldable = len(group) >= _FEWEST_TO_FOLD or group[0].kind == "cache"
        found += [group] if foldable else [[place] for place in group]
    return found


def _fold(group: Sequence[Place], lead: str, below_lead: str, words: _Words) -> Row:
    first = group[0]
    each = " each" if len(group) > 1 else ""
    if isinstance(first.thing, Cache):
        label = f"{len(group)} × {cache_words(first.thing)}: {words.share(first)}{each}"
        cells = tuple(cpu_list(place.cpus) for place in group)
    else:
        caches = _caches_in_words(first)
        label = f"{plural(len(group), first.kind)}: {words.share(first)}{f', {caches}' if caches else ''}{each}"
        cells = tuple(f"{place.number}: {cpu_list(place.cpus)}" for place in group)
    return Row(lead, label, below=cells, below_lead=below_lead)


def _align(rows: Sequence[Row], width: int) -> Iterator[Line]:
    table = [row for row in rows if not row.is_heading]
    label_width = max((len(row.lead + row.label) for row in table), default=0)
    cpus_width = max((len(row.cpus) for row in table if len(row.cpus) <= _WIDEST_CPUS), default=0)
    memory_width = max((len(row.memory) for row in table), default=0)
    cache_width = max((len(row.cache) for row in table), default=0)
    column = max((len(cell) for row in rows for cell in row.below if len(cell) <= _WIDEST_COLUMN), default=0)
    for row in rows:
        if row.is_heading:
            yield from _plain_lines(row, column, width)
            continue
        name = (row.lead + row.label).ljust(label_width)
        rest = [row.memory.ljust(memory_width), row.cache.ljust(cache_width), row.devices]
        cells = [row.cpus.ljust(cpus_width), *(cell for cell in rest if cell)]
        text = _GAP.join([name, *cells]).rstrip()
        if len(text) <= width and len(row.cpus) <= cpus_width:
            yield _inked(row, text)
        else:
            yield from _tall(row, name, width, cpus_width, memory_width)


def _plain_lines(row: Row, column: int, width: int) -> Iterator[Line]:
    for number, text in enumerate(wrap(row.lead + row.label, width, row.below_lead)):
        yield _inked(row, text) if not number else (Span(text),)
    for text in columns(row.below, column, width, row.below_lead):
        yield (Span(text),)


def _tall(row: Row, name: str, width: int, cpus_width: int, memory_width: int) -> Iterator[Line]:
    """A row that is too long for one line: its cells in order, each on the next line where it does not fit.

    Memory stands below the CPUs in every row if it does so in one, so that its figures are a column.
    """
    margin = row.below_lead + " " * (len(name) + len(_GAP) - len(row.below_lead))
    first, *others = wrap(row.cpus, width - len(margin), "")
    lines = [name + _GAP + first, *(margin + other for other in others)]
    beside = len(name) + cpus_width + memory_width + 2 * len(_GAP) <= width
    for cell in filter(None, (row.memory, row.cache, row.devices)):
        start = lines[-1].ljust(len(margin) + cpus_width) if len(lines) == 1 else lines[-1]
        if len(start + _GAP + cell) <= width and (beside or cell is not row.memory):
            lines[-1] = start + _GAP + cell
        else:
            lines += [margin + piece for piece in wrap(cell, width - len(margin), "")]
    yield _inked(row, lines[0].rstrip())
    for line in lines[1:]:
        yield (Span(line[: len(row.below_lead)], "dim"), Span(line[len(row.below_lead) :]))


def _inked(row: Row, text: str) -> Line:
    """The lines of the tree dim, the name bold, the rest plain."""
    start, end = len(row.lead), len(row.lead) + len(row.label)
    is_name = row.label[:4] in ("node", "pack", "die ")
    return (Span(text[:start], "dim"), Span(text[start:end], bold=is_name and not row.below), Span(text[end:]))
