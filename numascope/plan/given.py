"""A plan as the user names it: a file of any dialect, or `torch:MODE`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

from numascope.cpuset import CpuSet
from numascope.errors import InputError, UsageError
from numascope.host.text import safe_text
from numascope.machine.objects import Machine
from numascope.plan.dialects.detect import dialect_of
from numascope.plan.dialects.draft import Scene
from numascope.plan.dialects.mindformers import read_mindformers
from numascope.plan.dialects.mindspore import OWN_KEY
from numascope.plan.dialects.msrun_line import read_msrun_line
from numascope.plan.dialects.prefixes import launcher_cpus, read_prefixes
from numascope.plan.dialects.rankfile import read_rankfile
from numascope.plan.dialects.slurm import read_slurm
from numascope.plan.dialects.torch_npu import read_torch_npu
from numascope.plan.dialects.torchrun import rank_count, read_torchrun
from numascope.plan.dialects.vllm import read_vllm
from numascope.plan.load import parse_plan, read_plan_file
from numascope.plan.make.made import Made, NoPlanError
from numascope.plan.make.seats import Seats, first_ranks, found_seats, has_accelerator
from numascope.plan.make.torch_modes import MODES
from numascope.plan.make.torch_plan import TorchWish, make_torch, torch_notes
from numascope.plan.objects import SCHEDULER, MemoryRule, Note, Place, Plan, Rule, Subject
from numascope.plan.source import nearest

TORCH: Final = "torch:"
"""Before a mode of torch, as the name of a plan."""

_NO_DEVICE: Final = "torch binds by device, and no accelerator is seen here: --device 0=PCI-ADDRESS says where one is"

_LONGEST_LINE: Final = 1 << 16

_READERS: Final[Mapping[str, Callable[[str, bytes, Scene], Plan]]] = {
    "torch_npu": read_torch_npu, "mindformers": read_mindformers, "vllm": read_vllm, "rankfile": read_rankfile,
    "slurm": read_slurm, "numactl": read_prefixes, "taskset": read_prefixes,
}  # fmt: skip


def read_given(name: str, machine: Machine, seats: Seats | None = None, dialect: str | None = None) -> Plan:
    """The plan of that name on this machine; InputError, UsageError, and NoPlanError where the framework itself would fail.

    `seats` are the devices where the user says where they sit, None: as found; `dialect` is what the user says it is.
    """
    return read_plan(safe_text(name), plan_bytes(name), Scene(machine, seats), dialect)


def plan_bytes(name: str) -> bytes:
    """The bytes of a plan as the user names it, unread: of the file, or of `torch:MODE` itself. InputError."""
    return name.encode(errors="surrogateescape") if name.startswith(TORCH) else read_plan_file(name)


def is_document(data: bytes) -> bool:
    """Whether these bytes are to be read as a bind JSON, and not as a command line, a setting or a mode's name."""
    return dialect_of(data) is None


def read_plan(path: str, data: bytes, scene: Scene, dialect: str | None = None) -> Plan:
    """The plan in these bytes, of the dialect that their content shows, or of the given one; errors as of `read_given`."""
    kind = dialect_of(data) if dialect is None else dialect
    if kind is None or kind in ("mindspore", "numascope"):
        plan = parse_plan(path, data)
        if kind is not None and plan.dialect != kind:
            raise InputError(
                path, f"is read as {plan.dialect} and not as {kind}: {OWN_KEY!r} at its top tells them apart"
            )
        return plan
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(path, data, scene)
    text = data.decode(errors="surrogateescape").strip()
    if kind == "torch" and text.startswith(TORCH):
        return torch_plan(path, text.removeprefix(TORCH), scene.machine, scene.seats, None)
    return read_command_line(path, data, scene.machine, scene.seats)


def read_command_line(path: str, data: bytes, machine: Machine, seats: Seats | None = None) -> Plan:
    """What the binding options of an msrun or torchrun command line mean; InputError."""
    if len(data) > _LONGEST_LINE:
        raise InputError(
            path, f"a command line of over {_LONGEST_LINE >> 10} KiB: keep the binding options alone", 1, 1
        )
    found = read_torchrun(path, data)
    if found is not None:
        held = launcher_cpus(path, found.before, Scene(machine, seats))
        there = machine if held is None else machine._replace(cpus=machine.cpus._replace(allowed=held))
        return torch_plan(path, found.mode, there, seats, rank_count(path, found.ranks, allowed_cpus(there)))
    return read_msrun_line(path, data, Scene(machine, seats))


def allowed_cpus(machine: Machine) -> CpuSet:
    """The online CPUs that whoever looks may use; all online ones where that is not known."""
    return machine.cpus.online if machine.cpus.allowed is None else machine.cpus.online & machine.cpus.allowed


def _no_mode(mode: str) -> str:
    return f'"{safe_text(mode[:40])}" is no mode of torch: {", ".join(MODES)}{nearest(mode, MODES)}'


def torch_plan(path: str, mode: str, machine: Machine, seats: Seats | None, ranks: int | None) -> Plan:
    """What `torchrun --numa-binding` does here; NoPlanError with torch's own words where it fails."""
    if mode not in MODES:
        raise UsageError(f"{path}: {_no_mode(mode)}")
    if seats is None and not has_accelerator(machine):
        raise NoPlanError(_NO_DEVICE)
    there = seats or found_seats(machine, ("gpu",), ranks)
    if there.are_dealt:
        raise NoPlanError(_NO_DEVICE)
    if ranks is not None and ranks > len(there.seats):
        number = len(there.seats)
        raise NoPlanError(
            f"torchrun --numa-binding={mode} fails here for local rank {number}: it counts {number} "
            f"device{'' if number == 1 else 's'} (AssertionError: Invalid device id)"
        )
    wish = TorchWish(mode, allowed_cpus(machine), there, first_ranks(there, ranks), strict=True)
    made = make_torch(machine, wish)
    return plan_of_made(path, "torch", made, torch_notes(machine, wish, made))


def plan_of_made(path: str, dialect: str, made: Made, notes: tuple[Note, ...] = ()) -> Plan:
    """A made plan as one that was read, all of it in one place; of its notes those that a check should judge."""
    place = Place(path, 1, 1)
    digest = hashlib.sha256(path.encode()).hexdigest()
    rules = [
        Rule(Subject(share.seat.number), one.role, one.cpus, place) for share in made.shares for one in share.roles
    ]
    if made.scheduler:
        rules.append(Rule(SCHEDULER, "main", made.scheduler, place))
    memory = [
        MemoryRule(Subject(share.seat.number), share.memory, place) for share in made.shares if share.memory is not None
    ]
    return Plan(
        path=path,
        dialect=dialect,
        sha256=digest,
        text_sha256=digest,
        cpu_mode="cpu",
        memory_mode="numa" if memory else "none",
        fixed_actors=made.fixed_actors,
        rules=tuple(rules),
        memory=tuple(memory),
        notes=notes,
    )
