"""Questions to the rules, made of a plan as a mapping and of a regular machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.check.objects import CheckFinding, HostFacts, JobFacts, Question
from numascope.plan.check.run import Checked, as_written, check_document, check_plan, view_of
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import allowed_cpus, read_plan
from numascope.plan.json_reader import read_json
from numascope.plan.load import parse_plan
from numascope.plan.make.seats import own_seats
from numascope.plan.owners import owners_of

NO_FACTS = HostFacts()


def document(
    devices: Mapping[str, object], memory: Mapping[str, object] | None = None, mode: str = "cpu", *, fixed: bool = True
) -> bytes:
    """A bind JSON, one key a line."""
    config: dict[str, object] = {"bind_cpu_mode": mode, "actor_thread_fix_bind": fixed}
    plan: dict[str, object] = {"bind_config": config, "bind_cpu": devices}
    if memory is not None:
        config["bind_memory_mode"] = "numa"
        plan["bind_memory"] = memory
    return json.dumps(plan, indent=1).encode()


def question(data: bytes, machine: Machine, host: HostFacts = NO_FACTS, job: JobFacts | None = None) -> Question:
    """The plan on the machine, its devices as found."""
    plan = parse_plan("bind.json", data)
    owners = owners_of(plan, machine, own_seats(machine, ("npu",)).seats)
    usable = allowed_cpus(machine)
    return Question(owners, usable, usable, host, job)


def checked(data: bytes, machine: Machine, host: HostFacts = NO_FACTS, job: JobFacts | None = None) -> Checked:
    """The whole check, as the command line makes it."""
    asked = question(data, machine, host, job)
    if asked.owners.plan.dialect != "mindspore":
        return check_plan(asked)
    view = view_of(machine, asked.cpuset, host)
    return check_document("bind.json", read_json("bind.json", data), view, asked, None, has_mark=False)


def checked_text(text: str, machine: Machine, host: HostFacts = NO_FACTS, mask: CpuSet | None = None) -> Checked:
    """The whole check of a plan of any other form, as it is written in a file `plan`; `mask` is what the launcher may use."""
    plan = as_written(read_plan("plan", text.encode(), Scene(machine)))
    owners = owners_of(plan, machine, own_seats(machine, ("npu",)).seats)
    usable = allowed_cpus(machine)
    return check_plan(Question(owners, usable, usable if mask is None else usable & mask, host))


def told(findings: Sequence[CheckFinding]) -> list[tuple[str, str, str]]:
    """Rule, severity and first sentence of each."""
    return [(one.rule, one.severity, one.text) for one in findings]


def rules(findings: Sequence[CheckFinding]) -> list[tuple[str, str]]:
    """Rule and severity of each."""
    return [(one.rule, one.severity) for one in findings]
