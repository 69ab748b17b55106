"""A plan as the user names it: a file of any dialect, or `torch:MODE`."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from numascope.cpuset import CpuSet
from numascope.errors import InputError, UsageError
from numascope.host.text import safe_text
from numascope.machine.objects import Machine
from numascope.plan.dialects.detect import dialect_of
from numascope.plan.dialects.draft import Scene
from numascope.plan.dialects.mindformers import read_mindformers
from numascope.plan.dialects.prefixes import read_prefixes
from numascope.plan.dialects.rankfile import read_rankfile
from numascope.plan.dialects.slurm import read_slurm
from numascope.plan.dialects.torch_npu import read_torch_npu
from numascope.plan.dialects.vllm import read_vllm
from numascope.plan.load import parse_plan, read_plan_file
from numascope.plan.make.made import Made, NoPlanError
from numascope.plan.make.msrun_auto import auto_cores, auto_nodes
from numascope.plan.make.seats import Seats, first_ranks, found_seats, has_accelerator
from numascope.plan.make.torch_modes import MODES
from numascope.plan.make.torch_plan import TorchWish, make_torch
from numascope.plan.mindspore import OWN_KEY
from numascope.plan.msrun_options import Auto, Options, read_msrun_options
from numascope.plan.objects import SCHEDULER, MemoryRule, Place, Plan, Rule, Subject
from numascope.plan.source import nearest

TORCH: Final = "torch:"
"""Before a mode of torch, as the name of a plan."""

_NO_DEVICE: Final = "torch binds by device, and no accelerator is seen here: plan explain takes --device 0=PCI-ADDRESS"

_LONGEST_LINE: Final = 1 << 16
_MOST_WORKERS: Final = 65_536

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
    try:
        words = shlex.split(data.decode(), comments=True) or [""]
    except UnicodeDecodeError:
        raise InputError(path, "is not UTF-8: save the command line as UTF-8", 1, 1) from None
    except ValueError:
        raise InputError(path, "a quote or backslash of the command line is not closed", 1, 1) from None
    options = _options(words[1:])
    if words[0].rpartition("/")[2] == "torchrun" or "numa_binding" in options:
        mode = options.get("numa_binding")
        if mode is None:
            raise InputError(path, "this torchrun binds nothing: it has no --numa-binding", 1, 1)
        if mode not in MODES:
            raise InputError(path, f"--numa-binding: {_no_mode(mode)}", 1, 1)
        ranks = _count(path, options, ("nproc_per_node",))
        return torch_plan(path, mode, machine, seats, ranks)
    return _msrun_plan(path, options, machine, seats, is_msrun=words[0].rpartition("/")[2] == "msrun")


def _options(words: list[str]) -> Mapping[str, str]:
    """Option → value, of `--name=value` and `--name value`; dashes within names as underscores."""
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        found[name.replace("-", "_")] = value if equals else words[at + 1] if at + 1 < len(words) else ""
    return found


def _count(path: str, options: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    """The first of these options that is given, as a number; None where torchrun counts devices itself."""
    name = next((name for name in names if name in options), None)
    if name is None or options[name] in ("auto", "gpu", "cpu"):
        return None
    text = options[name]
    if not text.isdecimal() or len(text) > 6 or not 1 <= int(text) <= _MOST_WORKERS:
        raise InputError(path, f'--{name} is "{safe_text(text[:40])}": expected a number of ranks', 1, 1)
    return int(text)


def _msrun_plan(
    path: str, options: Mapping[str, str], machine: Machine, seats: Seats | None, *, is_msrun: bool
) -> Plan:
    core, numa = options.get("bind_core"), options.get("bind_numa")
    if core is None and numa is None:
        asked = "neither --bind_core nor --bind_numa" + ("" if is_msrun else ", nor torchrun's --numa-binding")
        raise InputError(path, f"this {'msrun' if is_msrun else 'text'} binds nothing: it has {asked}", 1, 1)
    if numa is not None and not numa.lstrip().startswith(("{", "[")) and numa.lower() not in ("true", "false"):
        raise InputError(path, f'--bind_numa names the file "{safe_text(numa)}": give that file as the plan', 1, 1)
    workers = _count(path, options, ("local_worker_num", "worker_num"))
    core_auto: Auto | None = None
    numa_auto: Auto | None = None
    if "true" in ((core or "").lower(), (numa or "").lower()):
        there = seats or found_seats(machine, ("npu",), workers or 1)
        number = len(there.seats) if workers is None else workers
        allowed = allowed_cpus(machine)
        devices = () if there.are_dealt else there.seats
        core_auto = auto_cores(machine, allowed, devices, number) if (core or "").lower() == "true" else None
        numa_auto = auto_nodes(machine, devices, number) if (numa or "").lower() == "true" else None
    found = read_msrun_options(path, Options(core, numa, workers), core_auto, numa_auto)
    return replace(found, notes=(*found.notes, *_refused(found, machine)))


def _refused(plan: Plan, machine: Machine) -> Iterator[str]:
    """Ids that are not there, for which msrun ends before it starts anybody."""
    nodes = CpuSet.of(node.id for node in machine.nodes)
    for rule in plan.rules:
        strange = rule.cpus - allowed_cpus(machine) if rule.nodes is None else rule.nodes - nodes
        if strange:
            word = "CPU" if rule.nodes is None else "node"
            yield f"{rule.place}: {word} {strange} is not there or not allowed here: msrun ends with an error"


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
    wish = TorchWish(mode, allowed_cpus(machine), there, first_ranks(there, ranks), strict=True)
    return plan_of_made(path, "torch", make_torch(machine, wish))


def plan_of_made(path: str, dialect: str, made: Made) -> Plan:
    """A made plan as one that was read, all of it in one place."""
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
        notes=made.notes,
    )
