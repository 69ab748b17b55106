"""The body of `numascope plan make`: from options to a policy's wish, and the plan out in the form that was asked for."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import click

from numascope.cli.arguments import refuse_empty
from numascope.cli.machine_source import Found, Wanted, opened_machine
from numascope.cli.output import echo_json
from numascope.cli.plan_file import refuse_file, write_plan
from numascope.cli.plan_notes import echo_beside, not_said
from numascope.cli.plan_options import TORCH, check_policy, cpu_list, refuse_command, role_sizes, slot
from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import UsageError
from numascope.host.system.counters import cpu_ticks
from numascope.host.system.node_memory import read_page_cache_kib
from numascope.host.text import safe_text
from numascope.machine.objects import Machine
from numascope.plan.given import allowed_cpus, plan_of_made
from numascope.plan.make.balanced import BalancedWish, make_balanced
from numascope.plan.make.made import Made
from numascope.plan.make.msrun import MsrunWish, make_msrun
from numascope.plan.make.seats import Seat, Seats, first_ranks, found_seats, given_seats
from numascope.plan.make.torch_plan import TorchWish, make_torch
from numascope.plan.owners import owners_of
from numascope.plan.write.forms import FORMS, written
from numascope.plan.write.launch import launch_lines, torchrun_lines
from numascope.plan.write.losses import Loss
from numascope.plan.write.mindspore import mindspore_text
from numascope.plan.write.outline import Setting, outline_of_made

if TYPE_CHECKING:
    from numascope.host.root import HostRoot

_BUSY: Final = 0.5
"""A CPU that is busy for more than this share of the look is somebody's."""

_LOOK_S: Final = 1.0


class Given(NamedTuple):
    """The options of `plan make` as click gives them."""

    command: tuple[str, ...]
    policy: str
    path: str | None
    force: bool
    form: str | None
    as_json: bool
    wanted: Wanted
    devices: tuple[str, ...]
    ranks: int | None
    allowed: str | None
    roles: str | None
    smt: Literal["avoid", "use", "pair"] | None
    reserve: int | None
    busy: str | None
    avoid_busy: bool
    strict_torch: bool
    device_ids: str | None
    device_count: int | None
    indent: int
    runtime_range: str | None
    minddata_range: str | None
    main_range: str | None
    scheduler_range: str | None
    pynative_range: str | None
    scheduler_base: Literal["free", "global", "device0"] | None


_Text = tuple[str, Sequence[Loss], Sequence[str]]
_NOTHING: Final[_Text] = "", (), ()


def make_plan(given: Given) -> None:
    """Makes the plan and writes or prints it; NoPlanError (1), UsageError and InputError (2)."""
    if given.path == "-":
        given = given._replace(path=None)
    _check(given)
    with opened_machine(given.wanted) as found:
        made = _made(given, found)
        text, lost, notes = _NOTHING if given.as_json and given.path is None else _text(given, made, found.machine)
        if given.path is not None:
            write_plan(given.path, text, force=given.force)
        if given.as_json:
            _print_document(made, found.machine)
        elif given.path is None:
            click.echo(text, nl=False)
        else:
            click.echo(_written(given.path, _form(given), made))
    if not given.as_json:
        echo_beside(lost, (*made.notes, *notes), err=given.path is None)


def _check(given: Given) -> None:
    names = (
        "roles", "smt", "reserve", "busy", "avoid_busy", "strict_torch", "device_ids", "device_count", "runtime_range",
        "minddata_range", "main_range", "scheduler_range", "pynative_range", "scheduler_base",
    )  # fmt: skip
    values = given._asdict()
    for name in ("allowed", "roles", "busy", "device_ids", "pynative_range"):
        refuse_empty(f"--{name.replace('_', '-')}", values[name])
    check_policy(given.policy, {f"--{name.replace('_', '-')}": values[name] for name in names})
    ways = [name for name in ("devices", "device_ids", "device_count") if values[name]]
    if len(ways) > 1:
        raise UsageError("--device, --device-ids and --device-count all name devices: give one of them")
    refuse_command(_form(given), given.command)
    if given.path is not None:
        refuse_file(given.path, force=given.force)


def _made(given: Given, found: Found) -> Made:
    machine = found.machine
    allowed = allowed_cpus(machine) if given.allowed is None else cpu_list("--allowed", given.allowed, machine)
    seats = _seats(given, machine, allowed)
    ranks = first_ranks(seats, given.ranks)
    if given.policy in TORCH:
        has_numactl = not _is_live(found.root) or shutil.which("numactl") is not None
        return make_torch(
            machine,
            TorchWish(given.policy, allowed, seats, ranks, given.strict_torch, has_numactl or not given.strict_torch),
        )
    if given.policy == "msrun":
        return _msrun(given, machine, allowed, seats, ranks)
    busy = EMPTY if given.busy is None else cpu_list("--busy", given.busy, machine)
    if given.avoid_busy:
        busy |= _busy_now(found.root)
    wish = BalancedWish(
        allowed,
        ranks,
        roles=role_sizes(given.roles),
        smt=given.smt or "use",
        reserve=given.reserve,
        busy=busy,
        notes=tuple(map(str, seats.notes)),
        for_mindspore=_form(given) in ("mindspore", "msrun"),
        has_roles=_form(given) in ("mindspore", "numascope", "mindformers"),
        cache_kib={} if found.root is None else read_page_cache_kib(found.root),
    )
    return make_balanced(machine, wish)


def _seats(given: Given, machine: Machine, allowed: CpuSet) -> Seats:
    if given.devices:
        return given_seats(machine, given.devices)
    if given.device_ids is not None or given.device_count is not None:
        numbers = range(given.device_count or 0) if given.device_ids is None else _device_ids(given.device_ids)
        return Seats(tuple(Seat(number, None, None, None) for number in numbers))
    kinds = ("gpu",) if given.policy in TORCH else ("npu",)
    return found_seats(machine, kinds, given.ranks, allowed)


def _device_ids(text: str) -> Sequence[int]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if not pieces or not all(piece.isascii() and piece.isdecimal() and len(piece) <= 5 for piece in pieces):
        raise UsageError(f'--device-ids "{safe_text(text[:40])}": give device numbers such as 0,1,2')
    return sorted({int(piece) for piece in pieces})


def _msrun(given: Given, machine: Machine, allowed: CpuSet, seats: Seats, ranks: tuple[Seat, ...]) -> Made:
    usual = MsrunWish(allowed, ranks)
    wish = usual._replace(
        knows_nodes=given.device_ids is None and given.device_count is None and not seats.are_dealt,
        runtime=slot("--runtime-range", given.runtime_range, usual.runtime),
        minddata=slot("--minddata-range", given.minddata_range, usual.minddata),
        main=slot("--main-range", given.main_range, usual.main),
        scheduler=slot("--scheduler-range", given.scheduler_range, usual.scheduler),
        pynative=None if given.pynative_range is None else slot("--pynative-range", given.pynative_range, (0, 0)),
        scheduler_base=given.scheduler_base or "free",
    )
    made = make_msrun(machine, wish)
    return made._replace(notes=(*map(str, seats.notes), *made.notes))


def _is_live(root: HostRoot | None) -> bool:
    return root is not None and root.is_live


def _busy_now(root: HostRoot | None) -> CpuSet:
    """The CPUs that somebody used for most of a second."""
    if root is None or not root.is_live:
        raise UsageError("--avoid-busy looks at this host: name the CPUs of another machine with --busy CPUS")
    before = cpu_ticks(root)
    time.sleep(_LOOK_S)
    busy = []
    for cpu, after in cpu_ticks(root).items():
        was = before.get(cpu)
        if was is None:
            continue
        used = after.busy - was.busy
        passed = used + max(0, after.idle - was.idle) + max(0, after.iowait - was.iowait)
        if passed > 0 and used > _BUSY * passed:
            busy.append(cpu)
    return CpuSet.of(busy)


def _form(given: Given) -> str:
    return given.form or ("torchrun" if given.policy in TORCH else "mindspore")


def _text(given: Given, made: Made, machine: Machine) -> _Text:
    """The plan in its form, what that form cannot say of it, and notes on it."""
    form = _form(given)
    if given.policy == "balanced" and not FORMS[form].has_scheduler:
        made = made._replace(scheduler=EMPTY)  # nobody but MindSpore has one
    if form == "mindspore":
        return mindspore_text(made, given.indent), (), not_said(form, made, machine)
    if form == "torchrun":
        return "\n".join([*torchrun_lines(made, given.command), ""]), (), not_said(form, made, machine)
    if form in ("numactl", "taskset"):
        return "\n".join([*launch_lines(made, form, given.command), ""]), (), not_said(form, made, machine)
    done = written(outline_of_made(made), {}, form, Setting(machine, given.command, given.indent))
    return done.text, done.lost, done.doubts


def _print_document(made: Made, machine: Machine) -> None:
    from numascope.show.plan_document import plan_document

    owners = owners_of(plan_of_made(made.policy, made.policy, made), machine, [share.seat for share in made.shares])
    echo_json(plan_document(owners, made.policy, made.notes))


def _written(path: str, form: str, made: Made) -> str:
    ranks = len(made.shares)
    name = shlex.quote(safe_text(path))
    planned = CpuSet(0)
    for share in made.shares:
        planned |= share.cpus
    lines = [f"wrote {safe_text(path)}: {ranks} device{'' if ranks == 1 else 's'}, {len(planned)} CPUs ({made.policy})"]
    if form == "mindspore":
        lines.append(f"start with it: msrun --worker_num={ranks} --local_worker_num={ranks} --bind_numa={name} …")
        lines.append(f"look at it: numascope plan explain {name}")
    return "\n".join(lines)
