"""The body of `numascope plan check`: a plan, a machine and what is known of host and job, to findings and an exit code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import click

from numascope.cli.arguments import refuse_empty
from numascope.cli.machine_source import Found, Wanted, opened_machine
from numascope.cli.output import echo_json, echo_lines, terminal_width, wants_colour
from numascope.cli.plan_options import cpu_list, role_sizes
from numascope.errors import InputError, UsageError
from numascope.host.pci.irqs import read_device_irqs
from numascope.host.system.cgroups import cpuset_of
from numascope.host.system.node_memory import read_page_cache_kib
from numascope.host.text import safe_text
from numascope.machine.objects import Machine
from numascope.plan.check.objects import DeviceIrqs, HostFacts, JobFacts, Question
from numascope.plan.check.run import (
    Checked,
    as_written,
    check_document,
    check_plan,
    is_for_mindspore,
    refused_by_torch,
    view_of,
)
from numascope.plan.dialects.detect import dialect_of
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import is_document, plan_bytes, read_plan
from numascope.plan.json_reader import Value
from numascope.plan.load import read_plan_document
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.seats import Seat, Seats, given_seats, own_seats
from numascope.plan.objects import Plan
from numascope.plan.owners import owners_of
from numascope.show.plan_check import Told, check_document_json, check_lines, outcome_of_check

if TYPE_CHECKING:
    from numascope.cpuset import CpuSet
    from numascope.host.root import HostRoot
    from numascope.review.outcome import FailOn

_MARK: Final = b"\xef\xbb\xbf"
_V1_CPUS: Final = "sys/fs/cgroup/cpuset/cpuset.cpus"
_V2_SIGN: Final = "sys/fs/cgroup/cgroup.controllers"
_LEAST_WIDTH: Final = 40
_WITHOUT_DEVICES: Final = ("vllm",)
"""Dialects whose ranks compute on CPUs."""


class Given(NamedTuple):
    """The options of `plan check` as click gives them."""

    name: str
    job: int | None
    devices: tuple[str, ...]
    allowed: str | None
    threads: str | None
    dialect: str | None
    fail_on: str
    as_json: bool
    wanted: Wanted
    width: int | None
    ascii_only: bool
    color: str


def judge_plan(given: Given) -> None:
    """Prints what was found and ends with its exit code; UsageError, TargetGoneError (4), InputError (2), also after the findings that say why."""
    refuse_empty("--allowed", given.allowed)
    refuse_empty("--threads", given.threads)
    wanted = given.wanted
    if given.job is not None and any((wanted.root, wanted.capture, wanted.xml, wanted.synthetic)):
        raise UsageError("--job is of this host: leave --root, --capture, --xml and --synthetic out")
    with opened_machine(wanted) as found:
        scene = _scene(given, found)
        plan, checked, refusal = _checked(given.name, scene, given.dialect)
        told = Told(checked, plan, scene.machine, scene.cpuset, scene.job, cast("FailOn", given.fail_on))
        outcome = outcome_of_check(told)
        if given.as_json:
            echo_json(check_document_json(told, safe_text(given.name)))
        else:
            lines = check_lines(told, safe_text(given.name), max(_LEAST_WIDTH, terminal_width(given.width)))
            echo_lines(lines, colour=wants_colour(given.color), ascii_only=given.ascii_only)
        if refusal is not None and not checked.is_usable:
            raise refusal
        raise click.exceptions.Exit(outcome.code)


class _Scene(NamedTuple):
    """Everything but the plan."""

    machine: Machine
    seats: Seats | None
    cpuset: CpuSet
    mask: CpuSet
    host: HostFacts
    job: JobFacts | None
    threads: Mapping[str, int]
    root: HostRoot | None
    """Where the interrupts of the plan's devices are read, once these are known."""


def _scene(given: Given, found: Found) -> _Scene:
    machine = found.machine
    seats = given_seats(machine, given.devices) if given.devices else None
    job = None
    if given.job is not None:
        from numascope.cli.plan_job import job_facts

        job = job_facts(given.job, given.name)
    cpuset, mask = _usable(given, found, job)
    host = _host(found.root, given.name)
    threads = role_sizes(given.threads, "--threads", "threads") or {}
    return _Scene(machine, seats, cpuset, mask, host, job, threads, found.root)


def _usable(given: Given, found: Found, job: JobFacts | None) -> tuple[CpuSet, CpuSet]:
    """What the cpuset gives, and what of it the launcher's own mask: of the job, as the user says, or of this shell."""
    cpus = found.machine.cpus
    limit = cpus.allowed
    if found.root is not None and found.root.is_live:
        limit = cpuset_of(found.root, None).cpus
    if job is not None and job.cpuset is not None:
        limit = job.cpuset
    cpuset = cpus.online if limit is None else cpus.online & limit
    if given.allowed is not None:
        return cpuset, cpuset & cpu_list("--allowed", given.allowed, found.machine)
    mask = cpus.allowed if job is None else job.mask
    return cpuset, cpuset if mask is None else cpuset & mask


def _host(root: HostRoot | None, name: str) -> HostFacts:
    if root is None:
        return HostFacts(is_link=os.path.islink(name))
    has_v1: bool | None = root.read_if_there(_V1_CPUS, 1 << 16) is not None
    if not has_v1 and not root.is_live and root.read_if_there(_V2_SIGN, 1 << 12) is None:
        has_v1 = None
    tools = {tool: shutil.which(tool) is not None for tool in ("numactl", "taskset")} if root.is_live else None
    return HostFacts(has_v1, tools, None, read_page_cache_kib(root), os.path.islink(name))


def _checked(name: str, scene: _Scene, dialect: str | None) -> tuple[Plan | None, Checked, InputError | None]:
    """The plan, where it can be read, and what is found; InputError where the file is no plan at all."""
    path = safe_text(name)
    data = plan_bytes(name)
    document = _document(path, data) if dialect in (None, "mindspore") else None
    allowed = scene.mask if _goes_by_mask(data, dialect) else scene.cpuset
    seen = scene.machine._replace(cpus=scene.machine.cpus._replace(allowed=allowed))
    plan, refusal = None, None
    try:
        plan = read_plan(path, data, Scene(seen, scene.seats), dialect)
    except NoPlanError as failure:
        return None, refused_by_torch(path, failure), None
    except InputError as failure:
        if document is None:
            raise
        refusal = failure
    question = None if plan is None else _question(as_written(plan), scene)
    if document is not None:
        view = view_of(scene.machine, scene.cpuset, scene.host)
        mark = data.startswith(_MARK)
        return plan, check_document(path, document, view, question, refusal, has_mark=mark), refusal
    assert question is not None  # noqa: S101  (without a document what cannot be read was raised)
    return plan, check_plan(question), None


def _goes_by_mask(data: bytes, dialect: str | None) -> bool:
    """Whether what the form means depends on what its launcher may use itself: the others go past a mask, not past a cpuset."""
    kind = dialect_of(data) if dialect is None else dialect
    # Lines of taskset, which goes past a mask, are found as `numactl` too.
    words = {"torch": b"", "torch_npu": b"", "numactl": b"numactl", "vllm": b"auto"}
    return kind in words and words[kind] in data


def _document(path: str, data: bytes) -> Value | None:
    """The JSON of a plan that is meant for MindSpore; None: it is another form. InputError where it is broken."""
    if not is_document(data) or data.removeprefix(_MARK).lstrip()[:1] != b"{":
        return None
    document = read_plan_document(path, data)
    return document if is_for_mindspore(document) else None


def _question(plan: Plan, scene: _Scene) -> Question:
    seats = () if plan.dialect in _WITHOUT_DEVICES else _seats_of(plan, scene)
    owners = owners_of(plan, scene.machine, seats)
    host = scene.host
    if scene.root is not None:
        named = {seat.address for seat in seats if seat.address is not None}
        host = host._replace(irqs=tuple(DeviceIrqs(one, read_device_irqs(scene.root, one)) for one in sorted(named)))
    return Question(owners, scene.cpuset, scene.mask, host, scene.job, scene.threads)


def _seats_of(plan: Plan, scene: _Scene) -> tuple[Seat, ...]:
    kinds = ("gpu",) if plan.dialect == "torch" else ("npu",)
    return (scene.seats or own_seats(scene.machine, kinds)).seats
