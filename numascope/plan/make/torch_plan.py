"""A whole plan by one of PyTorch's modes: torch's own answers, and where torch fails a kinder one that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.make.made import Made, NoPlanError, RoleCpus, Share
from numascope.plan.make.near import by_distance
from numascope.plan.make.seats import Seat, Seats
from numascope.plan.make.torch_modes import TorchError, TorchView
from numascope.plan.objects import WHOLE_PROCESS, Note, NoteKind

_NODE_UNTOLD: Final = NoteKind(
    "reading", "info", "bind by launch lines with the node given: numascope plan make --device"
)
_ALL_VISIBLE_COUNT: Final = NoteKind("reading", "info", "hide the others: CUDA_VISIBLE_DEVICES of the launcher")
_CACHES_NOT_WHOLE: Final = NoteKind(
    "reading", "info", "try another mode: numascope plan make --policy balanced keeps caches whole"
)
"""Caches that are shared or cut, or too small to bind to."""


class TorchWish(NamedTuple):
    """What is asked of torch's policies: all devices count for the shares, the first ranks get one each."""

    mode: str
    allowed: CpuSet
    seats: Seats
    ranks: tuple[Seat, ...]
    strict: bool = False
    has_numactl: bool = True


def make_torch(machine: Machine, wish: TorchWish) -> Made:
    """The plan that `torchrun --numa-binding` makes; NoPlanError where torch fails and `strict` is asked, or no CPU is left."""
    if wish.strict and wish.seats.are_dealt:
        raise NoPlanError("torch binds by device, and no accelerator is seen here: give --device 0=PCI-ADDRESS")
    view = TorchView(machine, wish.allowed, wish.seats.seats, has_numactl=wish.has_numactl)
    notes = [*map(str, wish.seats.notes)]
    failure: tuple[Seat, TorchError] | None = None
    bound: dict[int, CpuSet] = {}
    for seat in wish.ranks:
        try:
            bound[seat.number] = view.bound(seat, wish.mode)
        except TorchError as error:
            failure = failure or (seat, error)
    if failure is not None:
        words = f"torchrun --numa-binding={wish.mode} fails here for {failure[0]} ({failure[1]})"
        if wish.strict:
            raise NoPlanError(words)
        bound, more = _kinder(view, wish)
        notes += [f"{words}: bind by launch lines instead, as below", *more]
    shares = tuple(Share(seat, (RoleCpus(WHOLE_PROCESS, bound[seat.number]),)) for seat in wish.ranks)
    notes += map(str, _doubts(view, wish, shares))
    by_torch = failure is None and all(seat.address is not None for seat in view.seats)
    return Made(wish.mode, shares, notes=tuple(notes), torch_mode=wish.mode if by_torch else None)


def torch_notes(machine: Machine, wish: TorchWish, made: Made) -> tuple[Note, ...]:
    """What has to be said of a plan that torch itself makes, as a check judges it."""
    view = TorchView(machine, wish.allowed, wish.seats.seats, has_numactl=wish.has_numactl)
    return (*wish.seats.notes, *_doubts(view, wish, made.shares))


def _kinder(view: TorchView, wish: TorchWish) -> tuple[dict[int, CpuSet], list[str]]:
    """The same modes where devices sit near the nearest node that has CPUs, and a node without any is passed over."""
    usable = {node: cpus for node, cpus in view.node_cpus.items() if cpus & wish.allowed}
    if not usable:
        raise NoPlanError(f"no node of this machine has one of the allowed CPUs ({wish.allowed or 'none'})")
    notes = []
    seats = []
    for seat in view.seats:
        home = (seat.node or 0) if seat.address in view.mute else view.home(seat)
        near = home if home in usable else by_distance(view.machine, home, usable)[0]
        if near != home:
            notes.append(f"{seat}: node {home} has no CPU to use, node {near} is next")
        seats.append(seat._replace(kernel_node=near))
    nodes = tuple(node for node in view.machine.nodes if node.id in usable)
    kinder = TorchView(view.machine._replace(nodes=nodes, nodes_offline=CpuSet()), wish.allowed, seats)
    kinder.mute = set()
    if wish.mode != "socket":
        kinder.untold = CpuSet()
    _refuse_untold(kinder, wish)
    ranks = {seat.number for seat in wish.ranks}
    return {
        seat.number: _shared_core(kinder, seat, notes) if wish.mode == "exclusive" else kinder.bound(seat, wish.mode)
        for seat in seats
        if seat.number in ranks
    }, notes


def _refuse_untold(view: TorchView, wish: TorchWish) -> None:
    """NoPlanError where a mode goes by what the kernel does not tell of a CPU."""
    usable = wish.allowed & union(view.allowed_of(view.home(seat)) for seat in view.seats)
    untold = CpuSet.of(cpu for cpu in usable if cpu not in view.cache_of)
    if wish.mode == "core-complex" and untold:
        raise NoPlanError(f"no cache of CPU {untold} is told here, so core-complex has nothing to go by")
    untold = wish.allowed & view.untold
    if wish.mode == "socket" and untold:
        raise NoPlanError(f"no package of CPU {untold} is told here, so socket has nothing to go by")


def _shared_core(view: TorchView, seat: Seat, notes: list[str]) -> CpuSet:
    """An own share of cores, or where there are fewer cores than devices a core that others have too."""
    peers = view.peers(seat)
    cores = view.cores(view.allowed_of(view.home(seat)))
    if len(cores) >= len(peers):
        return view.bound(seat, "exclusive")
    if peers[0] == seat.number:
        notes.append(f"node {view.home(seat)} has {len(cores)} cores for {len(peers)} devices: cores are shared")
    return cores[peers.index(seat.number) % len(cores)]


def _doubts(view: TorchView, wish: TorchWish, shares: Sequence[Share]) -> list[Note]:
    """What torch does silently and the user should know."""
    found = []
    unknown = [seat for seat in view.seats if seat.kernel_node is None]
    if unknown and len(view.node_cpus) > 1:
        better = [f"{seat.number}=node:{seat.node}" for seat in unknown if seat.node is not None]
        advice = f"; other sources say --device {' --device '.join(better[:4])}" if better else ""
        names = ", ".join(str(seat.number) for seat in unknown)
        text = f"the kernel knows no node of device {names}: torch takes node 0{advice}"
        found.append(Note(None, text, _NODE_UNTOLD))
    given = {seat.address for seat in view.seats}
    vendors = {one.vendor_id for one in view.machine.devices if one.address in given}
    seen = {one.address for one in view.machine.devices if one.kind == "gpu" and one.vendor_id in vendors}
    if given < seen and None not in given:
        text = (
            f"torch counts every device that it sees, {len(seen)} here: it makes this plan where CUDA_VISIBLE_DEVICES names "
            f"these {len(given)} alone"
        )
        found.append(Note(None, text, _ALL_VISIBLE_COUNT))
    if wish.mode == "exclusive":
        cut = [share.seat for share in shares if _cuts_a_cache(view, share.cpus)]
        if cut:
            text = f"exclusive divides by cores, not by cache: {_named(cut)} shares an L3 with another device"
            found.append(Note(None, text, _CACHES_NOT_WHOLE))
        unused = len(view.seats) - len(wish.ranks)
        if unused > 0:
            text = f"torch counts every visible device: {unused} without a rank make the shares smaller"
            found.append(Note(None, text, _ALL_VISIBLE_COUNT))
    if wish.mode == "core-complex":
        found += _complex_doubts(view, shares)
    return found


def _complex_doubts(view: TorchView, shares: Sequence[Share]) -> list[Note]:
    found = []
    small = [share.seat for share in shares if len(view.cores(share.cpus)) < 2]
    if small:
        text = f"core-complex leaves {_named(small)} less than two cores: no larger cache is shared here"
        found.append(Note(None, text, _CACHES_NOT_WHOLE))
    owners: dict[CpuSet, list[Seat]] = {}
    for share in shares:
        owners.setdefault(share.cpus, []).append(share.seat)
    shared = [seat for seats in owners.values() if len(seats) > 1 for seat in seats]
    if shared:
        text = f"there are fewer caches than devices: {_named(shared)} have the same CPUs as another"
        found.append(Note(None, text, _CACHES_NOT_WHOLE))
    return found


def _cuts_a_cache(view: TorchView, cpus: CpuSet) -> bool:
    """Whether a part of a large cache is of this device and another part of a neighbour."""
    home = CpuSet()
    for node in view.node_cpus.values():
        home |= node if node & cpus else home
    caches = {view.cache_of[cpu] for cpu in cpus if cpu in view.cache_of}
    here = [cache & home & view.allowed for cache in caches]
    return any(len(view.cores(cache)) > 1 and not cache <= cpus and not cpus <= cache for cache in here)


def _named(seats: Sequence[Seat]) -> str:
    numbers = CpuSet.of(seat.number for seat in seats)
    return f"device{'' if len(numbers) == 1 else 's'} {numbers}"
