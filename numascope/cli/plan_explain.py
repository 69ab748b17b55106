"""The body of `numascope plan explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numascope.cli.arguments import refuse_empty
from numascope.cli.machine_source import Wanted, opened_machine
from numascope.cli.output import echo_json, echo_lines, terminal_width, wants_colour
from numascope.cpuset import LARGEST_ID, CpuSet
from numascope.errors import UsageError
from numascope.host.text import safe_text
from numascope.plan.given import read_given
from numascope.plan.make.seats import given_seats, own_seats
from numascope.plan.objects import SCHEDULER, Subject
from numascope.plan.owners import Owners, owners_of
from numascope.show.ink import Line
from numascope.show.plan_document import plan_document
from numascope.show.plan_explain import explain_cpu_lines, explain_device_lines, explain_lines

_LEAST_WIDTH = 40


class Given(NamedTuple):
    """The options of `plan explain` as click gives them."""

    name: str
    cpu: int | None
    devices: tuple[str, ...]
    dialect: str | None
    as_json: bool
    wanted: Wanted
    width: int | None
    ascii_only: bool
    color: str


def explain_plan(given: Given) -> None:
    """Prints the explanation; NoPlanError (1), UsageError and InputError (2)."""
    places = [one for one in given.devices if "=" in one]
    picked = [one for one in given.devices if "=" not in one]
    if len(picked) > 1 or (picked and given.cpu is not None):
        raise UsageError("--cpu N and --device N each pick one thing to explain: give one of them")
    for one in given.devices:
        refuse_empty("--device", one)
    with opened_machine(given.wanted) as found:
        machine = found.machine
        seats = given_seats(machine, places) if places else None
        plan = read_given(given.name, machine, seats, given.dialect)
        kinds = ("gpu",) if plan.dialect == "torch" else ("npu",)
        owners = owners_of(plan, machine, (seats or own_seats(machine, kinds)).seats)
        if given.as_json:
            if given.cpu is not None or picked:
                raise UsageError("--json is the whole plan: leave --cpu and --device N out")
            echo_json(plan_document(owners, None, [*map(str, plan.notes)]))
            return
        width = max(_LEAST_WIDTH, terminal_width(given.width))
        lines = _lines(owners, given.cpu, picked[0] if picked else None, width)
        echo_lines(lines, colour=wants_colour(given.color), ascii_only=given.ascii_only)


def _lines(owners: Owners, cpu: int | None, device: str | None, width: int) -> list[Line]:
    if cpu is not None:
        if cpu not in owners.machine.cpus.present and cpu not in owners.planned:
            raise UsageError(f"--cpu {cpu}: this machine has the CPUs {owners.machine.cpus.present}")
        return explain_cpu_lines(owners, cpu, width)
    if device is None:
        return explain_lines(owners, width)
    digits = device.removeprefix("device")
    subjects = owners.plan.subjects()
    subject = (
        SCHEDULER
        if device == "scheduler"
        else Subject(int(digits))
        if digits.isdecimal() and len(digits) < 10
        else None
    )
    if subject not in subjects or subject is None:
        raise UsageError(f"--device {safe_text(device[:20])}: {owners.plan.path} names {_named(subjects)}")
    return explain_device_lines(owners, subject, width)


def _named(subjects: Sequence[Subject]) -> str:
    """`devices 0-7 and the scheduler`."""
    numbers = [subject.device for subject in subjects if subject.device is not None]
    small = CpuSet.of(one for one in numbers if one <= LARGEST_ID)
    large = [str(one) for one in numbers if one > LARGEST_ID]
    names = [*([str(small)] if small else []), *large[:3], *(["…"] if len(large) > 3 else [])]
    words = [f"device{'s' if len(numbers) > 1 else ''} {', '.join(names)}"] if numbers else []
    return " and ".join([*words, *(["the scheduler"] if SCHEDULER in subjects else [])]) or "nobody"
