"""The values of a unified bind JSON as MindSpore takes them: lists of CPUs of a module, nodes of a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numascope.cpuset import LARGEST_ID, BadIdListError, CpuSet
from numascope.plan.check.judged import Problem, View
from numascope.plan.positions import Entry, Value, quoted
from numascope.plan.ranges import read_ids

_CPUS = 'write a CPU list in quotes such as "0-3,8"'
_NODES = 'write a node such as 0 or "0-1"'


def module_problems(process: str, value: Value, view: View) -> Iterator[Problem]:
    """An entry of "bind_cpu" in cpu mode: an object of modules, of which those that MindSpore does not know are checked too."""
    if value.data is None:
        return
    if not isinstance(value.data, Mapping):
        yield Problem("checks", "TypeError", value, f"{process} is {value}", 'write an object such as {"main": "0-7"}')
        return
    for module, entry in value.data.items():
        yield from _module(process, module, entry, view)


def _module(process: str, module: str, entry: Entry, view: View) -> Iterator[Problem]:
    value, name = entry.value, f"{quoted(module)} of {process}"
    if value.data is None:
        if process != "scheduler":
            yield Problem("binds", "ValueError", value, f"{name} is null", 'write "" for no CPUs')
        return
    listed = list(_listed(value, name, view.cpus, "CPU", _CPUS))
    yield from listed
    if not listed and module == "main" and isinstance(value.data, int) and value.data:
        text = f"{name} is {value} and not a text"
        yield Problem("starts", "ValueError", value, text, f'write "{value}" in quotes')


def node_problems(process: str, value: Value, view: View, section: str) -> Iterator[Problem]:
    """An entry of "bind_memory", or of "bind_cpu" in numa mode, which is handed on to numactl as it is written."""
    if value.data is None:
        return
    name = f'{process} in "{section}"'
    if isinstance(value.data, bool):
        yield Problem("runs", "numactl", value, f"{name} is {value}, which is handed on to numactl", _NODES)
        return
    yield from _listed(value, name, view.nodes, "node", _NODES)
    if isinstance(value.data, str) and value.data.strip() and " " in value.data:
        text = f"{name} is {value}: its spaces are handed on to numactl"
        yield Problem("runs", "numactl", value, text, f'write "{value.data.replace(" ", "")[:60]}"')


def _listed(value: Value, name: str, available: CpuSet | None, word: str, expected: str) -> Iterator[Problem]:
    """Type, form, and whether every id is there."""
    data = value.data
    if isinstance(data, int):
        ids = CpuSet.of((int(data),)) if 0 <= data <= LARGEST_ID else None
    elif isinstance(data, str):
        try:
            ids = read_ids(data)
        except BadIdListError as failure:
            yield Problem("checks", "ValueError", value, f"{name} is {value}: {failure.problem}", expected)
            return
    else:
        yield Problem("checks", "TypeError", value, f"{name} is {value}", expected)
        return
    lost = None if ids is None else ids - available if available is not None else CpuSet()
    if lost is None or lost:
        text = f"{word} {value if lost is None else lost} of {name} is not available"
        yield Problem("checks", "RuntimeError", value, text, f"name a {word} that is", is_id=lost is not None)
