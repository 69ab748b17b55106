"""Plans as text to test with, and what is read or refused of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.plan.load import parse_plan, read_plan_file
from numascope.plan.objects import Plan

CPU = '{"bind_cpu_mode": "cpu"}'
NUMA = '{"bind_cpu_mode": "numa"}'
MEMORY = '{"bind_memory_mode": "numa"}'


def loaded(path: str) -> Plan:
    """The bind JSON in a file, as the verbs read it."""
    return parse_plan(safe_text(path), read_plan_file(path))


def read(text: str) -> Plan:
    return parse_plan("bind.json", text.encode())


def with_cpus(section: str, config: str = CPU) -> str:
    """A plan whose section `bind_cpu` begins in line 2, column 13."""
    return f'{{"bind_config": {config},\n"bind_cpu": {section}}}'


def with_memory(section: str, config: str = MEMORY) -> str:
    """A plan whose section `bind_memory` begins in line 2, column 16."""
    return f'{{"bind_config": {config},\n"bind_memory": {section}}}'


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value).removeprefix("bind.json:")


def cpus(plan: Plan) -> Mapping[str, str]:
    return {f"{rule.subject} {rule.role}": str(rule.cpus) for rule in plan.rules}


def notes(text: str) -> list[str]:
    return [str(note).removeprefix("bind.json:") for note in read(text).notes]
