"""The text of `numascope topo`: header, tree, and what all parts have in common."""

from __future__ import annotations

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.machine.walk import Walk, walk
from numascope.show.ink import Line, Span
from numascope.show.topo.asides import overlap_words, stepped_words
from numascope.show.topo.details import detail_lines, isolation_words, offline_node_words, platform_words
from numascope.show.topo.facts import (
    cache_lines,
    core_lines,
    counts,
    device_lines,
    distance_lines,
    group_lines,
    kind_lines,
    machine_name,
)
from numascope.show.topo.tree import tree_lines
from numascope.show.topo.words import cpu_list, plural, tied, wrap


def topo_lines(machine: Machine, width: int = 80) -> list[Line]:
    """The machine as lines of text, none wider than `width` cells."""
    walked = walk(machine)
    facts = [line for text in _facts(machine, walked, width) for line in wrap(text, width)]
    devices = device_lines(machine, width)
    distances = [line for text in distance_lines(machine, width) for line in wrap(text, width)]
    found: list[Line] = [*head_lines(machine, width), (), *tree_lines(machine, walked, width)]
    found += [(Span(text),) for text in [*facts, *([""] if devices else []), *devices, *distances]]
    asides = [*stepped_words(span.text for line in found for span in line), *(f"- {note}" for note in machine.notes)]
    return found + [(Span(text, "dim"),) for aside in asides for text in wrap(aside, width)]


def head_lines(machine: Machine, width: int) -> list[Line]:
    """What the machine is and how much of it there is, and its state."""
    return [(Span(line),) for text in (_header(machine), _state(machine)) for line in wrap(text, width)]


def _header(machine: Machine) -> str:
    packages, *others = counts(machine)
    dies = [plural(len(machine.dies), "die")] if len(machine.dies) > len(machine.packages) else []
    return f"{machine_name(machine)}: {', '.join(map(tied, [packages, *dies, *others]))}"


def _state(machine: Machine) -> str:
    cpus = machine.cpus
    parts = [] if machine.part is None else [machine.part.words]
    parts.append(f"offline: {cpu_list(cpus.offline)}" if cpus.offline else "all CPUs online")
    if cpus.allowed is None:
        parts.append("allowed ?")
    elif cpus.allowed == cpus.online:
        parts.append("all allowed")
    else:
        parts.append(f"allowed: {cpu_list(cpus.allowed) or 'none'} ({len(cpus.allowed)} of {len(cpus.online)})")
    every_node = CpuSet.of(node.id for node in machine.nodes)
    if machine.nodes_allowed is not None and machine.nodes_allowed != every_node:
        word = "no node" if not machine.nodes_allowed else "node" if len(machine.nodes_allowed) == 1 else "nodes"
        parts.append(f"memory of {word} {machine.nodes_allowed}".rstrip() + " only")
    isolated = "?" if "isolated" in machine.untold else cpu_list(cpus.isolated)
    parts.append(
        f"isolated {isolated}" if isolated == "?" else f"isolated: {isolated}" if isolated else "none isolated"
    )
    parts += [*isolation_words(machine), *offline_node_words(machine), *platform_words(machine)]
    return ("; " if any(":" in part for part in parts) else ", ").join(map(tied, parts))


def _facts(machine: Machine, walked: Walk, width: int) -> list[str]:
    cores, caches = core_lines(machine), cache_lines(machine)
    if cores and caches and len(cores[-1]) + len(caches[0]) + 2 <= width:
        cores, caches = [*cores[:-1], f"{cores[-1]}; {caches[0]}"], caches[1:]
    return [
        *overlap_words(walked.overlaps),
        *group_lines(machine),
        *cores,
        *kind_lines(machine),
        *caches,
        *detail_lines(machine),
    ]
