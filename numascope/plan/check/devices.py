"""Devices of a plan and of the machine: far from their CPUs, not there, or not named."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, plural
from numascope.plan.make.near import by_distance
from numascope.plan.make.seats import Seat
from numascope.plan.objects import Place, Subject
from numascope.plan.owners import Owners

_BY_ORDER: Final = ("numactl", "taskset", "rankfile", "slurm")
"""Dialects that name ranks and no devices, of which there may be more or fewer."""

_STARTS: Final = {
    "torch": "no rank is started on it",
    "torch_npu": "a rank there gets a slice by its number, which may be another's",
}
"""What a rank on a device that is not named gets, where that is not nothing."""


def far_devices(question: Question) -> tuple[CheckFinding, ...]:
    """`dev-far`: no CPU of a device's main is on the node that the device is near; and which devices had better swap."""
    owners = question.owners
    online = owners.machine.cpus.online
    homes = {
        subject: nodes
        for subject in owners.of_subject
        if subject.device is not None and (nodes := owners.machine.nodes_of(owners.process_cpus(subject) & online))
    }
    hits = []
    far: dict[Subject, Seat] = {}
    for subject, nodes in homes.items():
        seat = owners.seats.get(subject.device) if subject.device is not None else None
        if seat is None or seat.node is None or seat.node in nodes or nodes & _nearest(question, seat.node):
            continue
        far[subject] = seat
        where = "" if seat.address is None else f" {seat.address}"
        text = f"{subject} runs on node {nodes}, its device{where} is near node {seat.node}{_distance(owners, seat.node, nodes)}"
        hits.append(Hit(_place(owners, subject), text))
    swaps = _swaps(owners, far, homes)
    remedy = swaps or "take its CPUs and memory from the device's node"
    return gathered("dev-far", "info", hits, remedy)


def _nearest(question: Question, node: int) -> CpuSet:
    """The device's own node, or where that has no CPU to use the nearest that has."""
    machine = question.owners.machine
    usable = (question.cpuset & question.mask) - machine.cpus.isolated - machine.cpus.partitioned
    able = [one.id for one in machine.nodes if one.cpus & usable]
    return CpuSet.of(by_distance(machine, node, able)[:1])


def _distance(owners: Owners, node: int, nodes: CpuSet) -> str:
    found = [distance for other in nodes if (distance := owners.machine.distance(node, other)) is not None]
    return f": distance {min(found)}" if found else ""


def _place(owners: Owners, subject: Subject) -> Place:
    return owners.of_subject[subject][0].place


def _swaps(owners: Owners, far: Mapping[Subject, Seat], homes: Mapping[Subject, CpuSet]) -> str:
    """Pairs of far devices that both come nearer by each other's CPUs."""
    pairs, used = [], set[Subject]()
    for one, other in combinations(list(far)[:64], 2):
        if one in used or other in used:
            continue
        now = _far_sum(owners, (far[one], homes[one]), (far[other], homes[other]))
        then = _far_sum(owners, (far[one], homes[other]), (far[other], homes[one]))
        if now is not None and then is not None and then < now:
            used |= {one, other}
            pairs.append(f"{one} and {other}")
    return (
        f"swap the CPUs{' and memory' if owners.memory else ''} of {', of '.join(pairs)}: each comes nearer"
        if pairs
        else ""
    )


def _far_sum(owners: Owners, *wishes: tuple[Seat, CpuSet]) -> int | None:
    total = 0
    for seat, nodes in wishes:
        found = [owners.machine.distance(seat.node or 0, node) for node in nodes]
        known = [one for one in found if one is not None]
        if len(known) < len(nodes):
            return None
        total += min(known)
    return total


def odd_devices(question: Question) -> tuple[CheckFinding, ...]:
    """`dev-absent`, `dev-missing`: the plan's devices and those of the machine are not the same."""
    owners = question.owners
    known = CpuSet.of(owners.seats)
    if not known:
        return ()
    named = [subject for subject in owners.plan.subjects() if subject.device is not None]
    absent = [subject for subject in named if subject.device not in owners.seats]
    npus = any(device.kind == "npu" for device in owners.machine.devices)
    refuses = owners.plan.dialect == "mindspore" and npus
    by_order = owners.plan.dialect in _BY_ORDER
    outcome = "no rank is started on it here"
    if refuses:
        outcome = "MindSpore ends before it starts anybody, as npu-smi tells the highest number"
    elif by_order:
        outcome = "this form numbers ranks by their order, and there are more of them than devices"
    hits = [
        Hit(_any_place(owners, subject), f"{subject} is not on this machine, which has devices {known}")
        for subject in absent
    ]
    found = gathered(
        "dev-absent",
        "error" if refuses else "info" if by_order else "warning",
        hits,
        "nothing to do where several ranks share a device"
        if by_order
        else "leave it out, or name it with --device N=WHERE",
        (outcome,),
    )
    named_numbers = {subject.device for subject in named}
    missing = CpuSet.of(one for one in known if one not in named_numbers)
    if not missing or not named:
        return found
    text = f"{plural(len(missing), 'device')} of this machine {'is' if len(missing) == 1 else 'are'} not in the plan: {missing}"
    hit = Hit(
        _any_place(owners, named[0]),
        text,
        _STARTS.get(owners.plan.dialect, "a rank on one of them starts unbound, and nothing says so"),
    )
    return (*found, *gathered("dev-missing", "info", [hit], "nothing to do where no rank has it"))


def _any_place(owners: Owners, subject: Subject) -> Place:
    rules = owners.of_subject.get(subject, ())
    if rules:
        return rules[0].place
    return next((rule.place for rule in owners.plan.memory if rule.subject == subject), Place(owners.plan.path, 1, 1))
