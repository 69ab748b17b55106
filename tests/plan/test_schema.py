"""docs/plan.schema.json against what is read: what the schema takes is read, and what numascope writes the schema takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from conftest import REPOSITORY

from numascope.errors import InputError
from numascope.plan.dialects.roles import KNOWN
from numascope.plan.load import parse_plan

SCHEMA: Final[dict[str, Any]] = json.loads((REPOSITORY / "docs" / "plan.schema.json").read_text())
TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,), "string": (str,), "integer": (int,), "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def is_valid(value: object, schema: dict[str, Any]) -> bool:
    """Whether a value is what a schema says: the keywords of JSON Schema 2020-12 that ours uses."""
    if "$ref" in schema:
        return is_valid(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "type" in schema and (
        not isinstance(value, TYPES[schema["type"]]) or (schema["type"] == "integer" and isinstance(value, bool))
    ):
        return False
    if "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(is_valid(value, one) for one in schema["anyOf"]):
        return False
    if not all(is_valid(value, one) for one in schema.get("allOf", ())):
        return False
    if "not" in schema and is_valid(value, schema["not"]):
        return False
    if isinstance(value, str) and "pattern" in schema and re.search(schema["pattern"], value) is None:
        return False
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if "if" in schema:
        branch = schema["then"] if is_valid(value, schema["if"]) else schema.get("else", {})
        if not is_valid(value, branch):
            return False
    return not isinstance(value, dict) or is_valid_object(value, schema)


def is_valid_object(value: dict[str, object], schema: dict[str, Any]) -> bool:
    if any(name not in value for name in schema.get("required", ())):
        return False
    properties = schema.get("properties", {})
    for key, one in value.items():
        if "propertyNames" in schema and not is_valid(key, schema["propertyNames"]):
            return False
        inner = properties.get(key, schema.get("additionalProperties", {}))
        if inner is False or not is_valid(one, inner):
            return False
    return True


def is_read(document: object) -> bool:
    try:
        return not any("it is ignored" in note.text for note in parse_plan("x", json.dumps(document).encode()).notes)
    except InputError:
        return False


CPU = {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"}
PLANS: Final[list[tuple[dict[str, Any], bool]]] = [
    ({"bind_config": {}}, True),
    ({}, False),
    ({"bind_config": CPU, "bind_cpu": {"device0": {"main": "0-3", "runtime": 1, "minddata": ""}, "scheduler": {"main": "4"}}}, True),
    ({"bind_config": {"bind_cpu_mode": "NUMA"}, "bind_cpu": {"device_0": 0, "device1": "0-1"}}, True),
    ({"bind_config": CPU, "bind_cpu": {"gpu0": {"main": "0"}}}, False),
    ({"bind_config": CPU, "bind_cpu": {"device0": {"main": "0-"}}}, False),
    ({"bind_config": CPU, "bind_cpu": {"device0": {"main": ["0"]}}}, False),
    ({"bind_config": {"bind_cpu_mode": "core"}}, False),
    ({"bind_config": CPU, "bind_cpu": {"device0": "0-3", "device1": 0}}, False),
    ({"bind_config": CPU, "bind_cpu": {"device0": None, "device1": {"main": None}}}, True),
    ({"bind_config": CPU, "bind_cpu": None}, False),
    ({"bind_config": CPU, "bind_memory": None}, False),
    ({"bind_config": CPU, "bind_cpu": {"device0": {"main": False}}}, False),
    ({"bind_config": CPU, "bind_cpu": {"device0": {"main": {"nodes": 0}}}}, False),
    ({"bind_config": {"bind_cpu_mode": "Numa"}, "bind_cpu": {"device0": {"main": "0"}}}, False),
    ({"bind_config": {"bind_cpu_mode": "none"}, "bind_cpu": {"device0": "0-3"}}, True),
    ({"bind_config": {"actor_thread_fix_bind": "yes"}}, False),
    ({"bind_config": CPU, "bind_memory": {"device0": {"policy": "bind", "nodes": 0}}}, False),
    ({"numascope": 1, "bind_config": CPU, "bind_memory": {"device0": {"policy": "bind", "nodes": 0}}}, True),
    ({"numascope": 1, "bind_config": CPU, "bind_memory": {"device0": {"policy": "local"}}}, True),
    ({"numascope": 1, "bind_config": CPU, "bind_memory": {"device0": {"policy": "local", "nodes": 0}}}, False),
    ({"numascope": 1, "bind_config": CPU, "bind_memory": {"device0": {"policy": "interleave"}}}, False),
    ({"numascope": 2, "bind_config": {}}, False),
    ({"numascope": True, "bind_config": {}}, False),
    ({"numascope": 1, "bind_config": CPU, "bind_cpu": {"device0": {"any": {"nodes": "0-1"}, "name:NCCL*": "3", "loader": "4"}}}, True),
    ({"numascope": 1, "bind_config": CPU, "bind_cpu": {"device0": {"loadr": "4"}}}, False),
    ({"numascope": 1, "bind_config": CPU, "bind_cpu": {"device0": {"name:": "4"}}}, False),
    ({"numascope": 1, "bind_config": CPU, "bind_cpu": {"device0": {"any": {"node": 1}}}}, False),
]  # fmt: skip


@pytest.mark.parametrize(("document", "valid"), PLANS)
def test_the_schema_takes_what_is_read_and_refuses_what_is_refused(document: dict[str, Any], valid: bool) -> None:
    assert (is_valid(document, SCHEMA), is_read(document)) == (valid, valid)


def test_every_role_of_a_review_is_in_the_schema() -> None:
    names = SCHEMA["then"]["properties"]["bind_cpu"]["additionalProperties"]["anyOf"][2]["propertyNames"]["anyOf"][0][
        "enum"
    ]
    assert sorted(names) == sorted(KNOWN)


def test_plans_of_mindspore_are_valid_as_they_are(shared: Path) -> None:
    found = [path for path in (shared / "data" / "mindspore").glob("*.json") if b'"bind_config"' in path.read_bytes()]
    assert found
    for path in found:
        assert is_valid(json.loads(path.read_text()), SCHEMA), path.name
