"""A plan from a file: bounded, of the dialect that its content shows."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.plan.mindspore import SECTIONS, read_mindspore
from numascope.plan.objects import Plan
from numascope.plan.positions import LARGEST_FILE_BYTES, Value, read_json

DIALECTS = 'MindSpore\'s unified bind JSON (an object with "bind_config", "bind_cpu" and "bind_memory")'


def load_plan(path: str) -> Plan:
    """Reads a plan file of any dialect; InputError says what is wrong, where, and what to do."""
    shown = safe_text(path)
    try:
        data = _contents(path, shown)
    except FileNotFoundError:
        raise InputError(shown, "there is no such file: give the path of a bind plan") from None
    except PermissionError:
        raise InputError(shown, "not readable by this user: copy it, or run as its owner") from None
    except ValueError:
        raise InputError(shown, "no path has a zero byte in it: give the path of a bind plan") from None
    except OSError as failure:
        raise InputError(shown, f"cannot be read: {failure.strerror}") from None
    return parse_plan(shown, data)


def parse_plan(path: str, data: bytes) -> Plan:
    """The plan in these bytes; `path` is where they came from, as errors, places and the plan show it (safe to print)."""
    document = read_plan_document(path, data)
    if isinstance(document.data, Mapping) and any(section in document.data for section in SECTIONS):
        return read_mindspore(path, data, document)
    raise InputError(path, f"{_likeness(document)}: numascope reads {DIALECTS}", document.line, document.column)


def read_plan_document(path: str, data: bytes) -> Value:
    """The JSON in these bytes; what does not even begin like JSON is named as no plan."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start and start not in b"{[\"'/#" and start < b"\x80":
        found = safe_text(start)
        raise InputError(path, f'begins with "{found}", this is no bind plan: numascope reads {DIALECTS}', 1, 1)
    return read_json(path, data)


def _contents(path: str, shown: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        state = os.fstat(descriptor)
        if stat.S_ISDIR(state.st_mode):
            raise InputError(shown, "is a directory: give the path of the bind plan itself")
        if not stat.S_ISREG(state.st_mode):
            raise InputError(shown, "is no regular file: write the bind plan to a file first")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST_FILE_BYTES + 1) if state.st_size <= LARGEST_FILE_BYTES else None
    finally:
        os.close(descriptor)
    if data is None or len(data) > LARGEST_FILE_BYTES:
        limit = f"is over {LARGEST_FILE_BYTES >> 20} MiB"
        raise InputError(shown, f"{limit}: no bind plan is that large, is it the right file")
    return data


def _likeness(document: Value) -> str:
    if isinstance(document.data, Mapping):
        lists = [key for key, entry in document.data.items() if isinstance(entry.value.data, tuple)]
        if any(key == "scheduler" or key.startswith("device") for key in lists):
            return "this is the short form for msrun's command line, not a file"
        return 'this object has none of the keys "bind_config", "bind_cpu", "bind_memory"'
    return f"the file holds {document}"
