"""The values of a unified bind JSON as MindSpore takes them: lists of CPUs of a module, nodes of a process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from numascope.cpuset import LARGEST_ID, BadIdListError, CpuSet
from numascope.plan.check.judged import Problem, View
from numascope.plan.check.msrun_keys import is_looked_up
from numascope.plan.json_reader import Entry, Value, quoted
from numascope.plan.ranges import LONGEST_LIST, is_read_by_numactl, is_read_by_taskset, read_ids

_CPUS: Final = 'write a CPU list in quotes such as "0-3,8"'
_NODES: Final = 'write a node such as 0 or "0-1"'


class ListRefusedError(Exception):
    """A list that MindSpore ends at, in numascope's words."""


def taken_ids(data: str | int) -> CpuSet | None:
    """The ids that MindSpore reads from a list or number; None: some that no machine has; ListRefusedError.

    It goes by Python's int(), which takes `+1`, `1_0` and a comma between spaces too.
    """
    if isinstance(data, int):
        return CpuSet.of((int(data),)) if 0 <= data <= LARGEST_ID else None
    try:
        return read_ids(data)
    except BadIdListError as failure:
        if len(data) > LONGEST_LIST:
            return CpuSet()
        plain = _plain(data)
        if plain is None:
            raise ListRefusedError(failure.problem) from None
    try:
        return read_ids(plain)
    except BadIdListError:
        return None


def _plain(text: str) -> str | None:
    """The same ids in the strict form; None where MindSpore refuses the text."""
    if ",," in text or text.startswith(",") or text.endswith(","):
        return None
    pieces = []
    for piece in text.split(","):
        ends = piece.split("-") if piece.strip() else []
        try:
            numbers = [int(end) for end in ends]
        except ValueError:
            return None
        if len(numbers) > 2 or numbers != sorted(numbers):
            return None
        pieces += ["-".join(map(str, numbers))] if numbers else []
    return ",".join(pieces)


def module_problems(process: str, value: Value, view: View) -> Iterator[Problem]:
    """An entry of "bind_cpu" in cpu mode: an object of modules, of which those that MindSpore does not know are checked too."""
    if value.data is None:
        return
    if not isinstance(value.data, Mapping):
        yield Problem("checks", "TypeError", value, f"{process} is {value}", 'write an object such as {"main": "0-7"}')
        return
    for module, entry in value.data.items():
        one, name = entry.value, f"{quoted(module)} of {process}"
        if one.data is not None:
            yield from _listed(one, name, view.cpus, "CPU", _CPUS)
        is_word = isinstance(one.data, bool) and not (module == "main" and one.data)
        if (one.data is None or is_word) and process != "scheduler" and is_looked_up(process):
            remedy = 'write "" for no CPUs' if one.data is None else _CPUS
            yield Problem("binds", "ValueError", one, f"{name} is {one}", remedy)


def start_problems(process: str, entry: Entry) -> Iterator[Problem]:
    """A "main" that is a number: refused only where the process's command is put together, and 0 not even there."""
    modules = entry.value.data
    main = modules["main"].value if isinstance(modules, Mapping) and "main" in modules else None
    if main is None or not isinstance(main.data, int) or not main.data or not is_looked_up(process):
        return
    stage: Final = "checks" if process == "scheduler" else "starts"
    text = f'"main" of {process} is {main} and not a text'
    yield Problem(stage, "ValueError", main, text, f'write "{int(main.data)}" in quotes')


def tool_problems(process: str, entry: Entry, tool: str) -> Iterator[Problem]:
    """A "main" that MindSpore takes and the tool does not, which gets it as it is written but for its blanks."""
    modules = entry.value.data
    main = modules["main"].value if isinstance(modules, Mapping) and "main" in modules else None
    if main is None or not isinstance(main.data, str) or not is_looked_up(process):
        return
    handed_on = main.data.replace(" ", "")
    is_read = is_read_by_numactl if tool == "numactl" else is_read_by_taskset
    try:
        cpus = taken_ids(main.data)
    except ListRefusedError:
        return
    if handed_on and not is_read(handed_on):
        text = f'"main" of {process} is {main}, which is handed on to {tool} as it is'
        yield Problem("runs", tool, main, text, f'write "{cpus}"' if cpus else _CPUS)


def node_problems(process: str, value: Value, view: View, section: str) -> Iterator[Problem]:
    """An entry of "bind_memory", or of "bind_cpu" in numa mode, which is handed on to numactl as it is written."""
    if value.data is None:
        return
    name = f'{process} in "{section}"'
    found = list(_listed(value, name, view.nodes, "node", _NODES))
    yield from found
    if found or not is_looked_up(process):
        return
    if isinstance(value.data, bool):
        yield Problem("runs", "numactl", value, f"{name} is {value}, which is handed on to numactl", _NODES)
    elif isinstance(value.data, str) and not is_read_by_numactl(value.data):
        spaceless = re.sub(r"\s", "", value.data)[:60]
        remedy = f'write "{spaceless}"' if spaceless else "leave it out, or write null"
        yield Problem("runs", "numactl", value, f"{name} is {value}, which is handed on to numactl as it is", remedy)


def _listed(value: Value, name: str, available: CpuSet | None, word: str, expected: str) -> Iterator[Problem]:
    """Type, form, and whether every id is there."""
    data = value.data
    if not isinstance(data, int | str):
        yield Problem("checks", "TypeError", value, f"{name} is {value}", expected)
        return
    try:
        ids = taken_ids(data)
    except ListRefusedError as failure:
        yield Problem("checks", "ValueError", value, f"{name} is {value}: {failure}", expected)
        return
    if ids is None:
        text = f"{name} is {value}: no machine has it, expected numbers from 0 to {LARGEST_ID}"
        yield Problem("checks", "RuntimeError", value, text, f"name a {word} that is available")
    elif available is not None and ids - available:
        text = f"{word} {ids - available} of {name} is not available"
        yield Problem("checks", "RuntimeError", value, text, f"name a {word} that is available", is_id=True)
