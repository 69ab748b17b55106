"""Whom the entries of a bind JSON speak of: `scheduler`, and a device as `device0` or `device_0`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from numascope.plan.dialects.msrun_notes import LEADING_ZEROS, TWICE
from numascope.plan.json_reader import Entry, Value, quoted
from numascope.plan.objects import SCHEDULER, BindMode, Subject
from numascope.plan.source import Source, nearest

_KEY: Final = re.compile(r"device(_?)([0-9]{1,9})")


def object_of(source: Source, value: Value, name: str, example: str) -> Mapping[str, Entry]:
    """The entries of an object; InputError where it is none."""
    if not isinstance(value.data, Mapping):
        raise source.wrong(value, f"{name} is {value}: expected an object such as {example}")
    return value.data


def subjects(source: Source, top: Mapping[str, Entry], section: str, mode: BindMode) -> dict[Subject | str, Entry]:
    """The entries by whom they speak of; a str is a key that never matches a worker."""
    if section not in top or (mode == "none" and not isinstance(top[section].value.data, Mapping)):
        return {}
    found: dict[Subject | str, Entry] = {}
    for key, entry in object_of(source, top[section].value, f'"{section}"', '{"device0": …}').items():
        subject, underscore = _subject(source, section, key, entry)
        before = found.get(subject)
        if before is None or underscore:
            found[subject] = entry
        if isinstance(subject, Subject) and before is not None:
            loser, winner = (before, entry) if underscore else (entry, before)
            source.note(loser, TWICE, f"{subject} is there twice: MindSpore takes the one in line {winner.line}")
    return found


def _subject(source: Source, section: str, key: str, entry: Entry) -> tuple[Subject | str, bool]:
    """Whom a key speaks of, and whether it is the `device_N` form, which MindSpore renames over `deviceN`."""
    if key == "scheduler":
        return SCHEDULER, False
    found = _KEY.fullmatch(key)
    if found is None:
        raise source.wrong(
            entry, f'{quoted(key)} in "{section}": expected "scheduler" or "device" and a number{_meant(key)}'
        )
    subject = Subject(int(found[2]))
    if not found[1] and key != str(subject):
        source.note(entry, LEADING_ZEROS, f'{quoted(key)} never matches a worker, did you mean "{subject}"')
        return key, False
    return subject, bool(found[1])


def _meant(key: str) -> str:
    digits = re.search(r"[0-9]+\Z", key[-9:])
    if digits is None:
        return nearest(key, ("scheduler",))
    device = f"device{int(digits[0])}"
    return nearest(key, (device,)) or f', such as "{device}"'
