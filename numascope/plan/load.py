"""A bind JSON from a file: bounded, of MindSpore or of numascope's own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.host.user_file import read_user_file
from numascope.plan.dialects.mindspore import SECTIONS, read_mindspore
from numascope.plan.json_reader import LARGEST_FILE_BYTES, Value, read_json
from numascope.plan.objects import Plan

DIALECTS = (
    'MindSpore\'s unified bind JSON (an object with "bind_config", "bind_cpu" and "bind_memory"), '
    "and the dialects that --dialect lists"
)

_COMMENTED_JSON = re.compile(rb"(?:#[^\n]*+\n\s*+)++\{")


def read_plan_file(path: str) -> bytes:
    """The bytes of a plan file, unread; InputError."""
    return read_user_file(path, LARGEST_FILE_BYTES, "bind plan")


def parse_plan(path: str, data: bytes) -> Plan:
    """The plan in these bytes; `path` is where they came from, as errors, places and the plan show it (safe to print). InputError."""
    document = read_plan_document(path, data)
    if isinstance(document.data, Mapping) and any(section in document.data for section in SECTIONS):
        return read_mindspore(path, data, document)
    raise InputError(path, f"{_likeness(document)}: numascope reads {DIALECTS}", document.line, document.column)


def read_plan_document(path: str, data: bytes) -> Value:
    """The JSON in these bytes; what does not even begin like JSON is named as no plan."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    start = text[:1]
    is_other = start not in b"{[\"'/#" or (start == b"#" and _COMMENTED_JSON.match(text) is None)
    if start and is_other and start < b"\x80":
        found = safe_text(start)
        raise InputError(path, f'begins with "{found}", this is no bind plan: numascope reads {DIALECTS}', 1, 1)
    return read_json(path, data)


def _likeness(document: Value) -> str:
    if isinstance(document.data, Mapping):
        lists = [key for key, entry in document.data.items() if isinstance(entry.value.data, tuple)]
        if any(key == "scheduler" or key.startswith("device") for key in lists):
            return (
                "this is the short form of msrun's command line: write it as msrun --bind_core='…' or --bind_numa='…'"
            )
        return 'this object has none of the keys "bind_config", "bind_cpu", "bind_memory"'
    return f"the file holds {document}"
