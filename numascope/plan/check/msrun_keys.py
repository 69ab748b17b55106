"""What MindSpore asks of every bind JSON first: its modes, and whom the keys of a section name (runtime/thread_bind_core.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from numascope.plan.check.judged import Mode, Problem, View
from numascope.plan.json_reader import Entry, Value, quoted
from numascope.plan.source import nearest

MODES: Final[Mapping[str, tuple[Mode, ...]]] = {
    "bind_cpu_mode": ("cpu", "numa", "none"),
    "bind_memory_mode": ("numa", "none"),
}

_KEY: Final = re.compile(r"device(_?)([0-9]{1,9})")
_MATCHED: Final = re.compile(r"device(?:0|[1-9][0-9]{0,8})")


def is_looked_up(process: str) -> bool:
    """Whether some process is looked up by this name; `device00` is none of a worker."""
    return process == "scheduler" or _MATCHED.fullmatch(process) is not None


def mode_text(value: Value) -> str:
    """A mode as MindSpore compares it: in small letters, and null as the word "none"."""
    return value.data.lower() if isinstance(value.data, str) else "none" if value.data is None else ""


def renamed(top: Mapping[str, Entry], section: str) -> dict[str, Entry]:
    """The entries by the names that they are looked up by: `device_N` becomes `deviceN`, wins over it, and comes last."""
    value = top[section].value if section in top else None
    if value is None or not isinstance(value.data, Mapping):
        return {}
    found = dict(value.data)
    for key in value.data:
        matched = _KEY.fullmatch(key)
        if matched is None and key != "scheduler":
            del found[key]
        elif matched is not None and matched[1]:
            name = f"device{int(matched[2])}"
            entry = found.pop(key)
            found[name] = entry
    return found


def key_problems(top: Mapping[str, Entry], section: str, view: View) -> Iterator[Problem]:
    """Keys that name no process, and devices above the last one; every section's, whatever its mode."""
    value = top[section].value if section in top else None
    if value is None or not isinstance(value.data, Mapping):
        return
    above = []
    for key, entry in value.data.items():
        matched = _KEY.fullmatch(key)
        if matched is None and key != "scheduler":
            text = f'{quoted(key)} in "{section}" is neither a device nor the scheduler'
            yield Problem("checks", "ValueError", entry, text, f'write "scheduler" or "device0"{_meant(key)}')
        elif matched is not None and view.highest_device is not None and int(matched[2]) > view.highest_device:
            text = f"{quoted(key)} is above the last device, {view.highest_device}"
            above.append(Problem("checks", "ValueError", entry, text, "leave it out", is_id=True))
    yield from above


def _meant(key: str) -> str:
    digits = re.search(r"[0-9]+\Z", key[-9:])
    return nearest(key, ("scheduler",) if digits is None else (f"device{int(digits[0])}",))
