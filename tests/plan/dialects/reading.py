"""Plans of any dialect read from a text, and what they say in few words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from shapes import Shape, machine

from numascope.errors import InputError
from numascope.machine.objects import Machine
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import read_plan
from numascope.plan.objects import Plan

HOST = machine(Shape(2, 1, 2, 4))
NPUS = machine(Shape(2, 1, 2, 4), devices=(0, 1))
PAIRED = machine(Shape(2, 1, 2, 2, 2))


def plan_in(text: str | bytes, host: Machine = HOST, dialect: str | None = None) -> Plan:
    data = text if isinstance(text, bytes) else text.encode()
    return read_plan("file", data, Scene(host), dialect)


def given_cpus(plan: Plan) -> Mapping[str, str]:
    return {
        f"{rule.subject} {rule.role}": str(rule.cpus) if rule.nodes is None else f"node {rule.nodes}"
        for rule in plan.rules
    }


def memory(plan: Plan) -> Mapping[str, str]:
    return {str(one.subject): f"{one.policy} {one.nodes}".strip() for one in plan.memory}


def refusal(text: str | bytes, host: Machine = HOST, dialect: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        plan_in(text, host, dialect)
    return str(caught.value).removeprefix("file:")


def notes(plan: Plan) -> list[str]:
    return [str(note).removeprefix("file:") for note in plan.notes]
