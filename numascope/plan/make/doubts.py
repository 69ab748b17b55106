"""What has to be said of a balanced plan: memory elsewhere, memory nearly full, cores that nobody has, roles too small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.fullness import share_if_nearly_full
from numascope.plan.make.deal import Lot
from numascope.plan.make.made import Share
from numascope.plan.make.near import NO_NODE, has_no_nodes, memory_near, node_words
from numascope.plan.make.room import Room
from numascope.plan.make.seats import Seat, seats_words
from numascope.plan.make.sizes import Piece
from numascope.plan.resolve import PYNATIVE_QUEUES


def running_on(lot: Lot, pieces: Sequence[Piece]) -> int:
    """The node of a device's main thread, else of all its roles: its home where some of these cores are there."""
    main = [core for piece in pieces if piece.role == "main" for core in piece.cores]
    nodes = [core.node for core in main or [core for piece in pieces for core in piece.cores]]
    return lot.home if lot.home in nodes or not nodes else max(nodes, key=nodes.count)


def doubts(
    machine: Machine, room: Room, shares: Sequence[Share], cache_kib: Mapping[int, int], *, actors: int, may_pair: bool
) -> list[str]:
    """The notes, one sentence each; devices of which the same is to be said share one.

    `actors` 0: MindSpore has no part in it; `may_pair`: cores have threads that `--smt pair` would use.
    """
    planned = union(share.cpus for share in shares)
    unused = [
        node for node, cores in room.free.items() if not any(cpu in planned for core in cores for cpu in core.cpus)
    ]
    found = [*_elsewhere(machine, shares), *_full(machine, shares, cache_kib)]
    if unused:
        found.append(f"{_nodes(unused)} near no device of the plan: the cores there stay free")
    return [*found, *(_small(shares, actors, may_pair=may_pair) if actors else ())]


def _elsewhere(machine: Machine, shares: Sequence[Share]) -> Iterator[str]:
    """Memory that is not on the node of main's CPUs."""
    if has_no_nodes(machine):
        yield "memory is not bound: this kernel has no NUMA nodes"
        return
    found: dict[tuple[int, CpuSet | None], list[Seat]] = {}
    for share in shares:
        main = next((one.cpus for one in share.roles if one.role == "main"), share.cpus)
        nodes = machine.nodes_of(main)
        if nodes and (share.memory is None or share.memory.isdisjoint(nodes)):
            found.setdefault((nodes.first, share.memory), []).append(share.seat)
    for (node, memory), seats in found.items():
        nearest = memory_near(machine, node)
        bare = nearest is not None and nearest != memory
        if memory is None:
            why = ": MindSpore binds none to nodes without CPUs" if bare else ""
            yield f"{seats_words(seats)}: memory is not bound, {node_words(node)} has none to use and no other has{why}"
        else:
            why = f", and at node {nearest} without CPUs MindSpore ends" if bare else ""
            yield f"{seats_words(seats)}: {node_words(node)} has no memory to use, node {memory} is next{why}"


def _full(machine: Machine, shares: Sequence[Share], cache_kib: Mapping[int, int]) -> Iterator[str]:
    for number in sorted(union(share.memory or EMPTY for share in shares)):
        node = machine.node(number)
        share = None if node is None else share_if_nearly_full(node, cache_kib.get(number))
        if share is not None:
            beside = "" if number in cache_kib else " and page cache that is not known"
            yield f"node {number} has {share:.0%} of its memory free{beside}: bound ranks fail when it is full"


def _small(shares: Sequence[Share], actors: int, *, may_pair: bool) -> Iterator[str]:
    sizes = {
        role: min((len(one.cpus) for share in shares for one in share.roles if one.role == role), default=None)
        for role in ("runtime", "pynative")
    }
    runtime, pynative = sizes["runtime"], sizes["pynative"]
    if runtime is not None and runtime < actors:
        more = ", --smt pair gives them more" if may_pair else ""
        yield f"runtime={runtime}: MindSpore's {actors} actors share its CPUs, none is fixed to one{more}"
    if pynative is not None and pynative < len(PYNATIVE_QUEUES):
        yield f"pynative={pynative}: its {len(PYNATIVE_QUEUES)} queues take one CPU each by position, give 4"


def _nodes(numbers: Sequence[int]) -> str:
    if list(numbers) == [NO_NODE]:
        return "CPUs without a node are"
    return f"node{'' if len(numbers) == 1 else 's'} {CpuSet.of(numbers)} {'is' if len(numbers) == 1 else 'are'}"
