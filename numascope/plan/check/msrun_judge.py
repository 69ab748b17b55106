"""The course of msrun and set_cpu_affinity over a unified bind JSON (mindspore/parallel/cluster/run.py, process_entity/_bind.py, runtime/thread_bind_core.py of 2.10)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from numascope.plan.check.judged import Judgement, Mode, Problem, View
from numascope.plan.check.msrun_prefix import prefix_of
from numascope.plan.check.msrun_values import module_problems, node_problems
from numascope.plan.mindspore import SECTIONS
from numascope.plan.positions import Entry, Value, quoted
from numascope.plan.source import nearest

_KEY: Final = re.compile(r"device(_?)([0-9]{1,9})")
_ARGUMENT: Final = "ArgumentTypeError"
_MODES: Final[Mapping[str, tuple[Mode, ...]]] = {
    "bind_cpu_mode": ("cpu", "numa", "none"),
    "bind_memory_mode": ("numa", "none"),
}


def judge(document: Value, view: View, *, has_mark: bool = False) -> Judgement:
    """What MindSpore would do with this file on such a host; `has_mark`: it begins with a byte order mark."""
    problems = list(_reading(document, has_mark=has_mark))
    top = document.data if isinstance(document.data, Mapping) else {}
    config = top["bind_config"].value.data if "bind_config" in top else {}
    settings = config if isinstance(config, Mapping) else {}
    cpu_mode, memory_mode = _mode(settings, "bind_cpu_mode"), _mode(settings, "bind_memory_mode")
    if not top or "bind_config" not in top:
        return Judgement(tuple(problems), {}, "none", "none", {})
    devices = _renamed(top, "bind_cpu", view, problems)
    memory = _renamed(top, "bind_memory", view, problems)
    problems += _host(document, view, cpu_mode, memory_mode)
    problems += _sections(top, cpu_mode, memory_mode)
    if cpu_mode == "cpu":
        problems += [one for name, entry in devices.items() for one in module_problems(name, entry.value, view)]
    if cpu_mode == "numa":
        problems += [
            one for name, entry in devices.items() for one in node_problems(name, entry.value, view, "bind_cpu")
        ]
    if memory_mode == "numa":
        problems += [
            one for name, entry in memory.items() for one in node_problems(name, entry.value, view, "bind_memory")
        ]
    problems += _fixed_actors(settings)
    modes = (cpu_mode, memory_mode)
    prefixes = {name: prefix_of(modes, devices.get(name), memory.get(name)) for name in (*devices, *memory)}
    return Judgement(tuple(problems), prefixes, cpu_mode, memory_mode, devices)


def _reading(document: Value, *, has_mark: bool) -> Iterator[Problem]:
    """What argparse refuses, and what is taken for the short form of the command line."""
    if has_mark:
        yield Problem("reads", _ARGUMENT, document, "the file begins with a byte order mark", "save it without")
    if not isinstance(document.data, Mapping):
        yield Problem("reads", _ARGUMENT, document, f"the file holds {document}", "write an object with bind_config")
        return
    top = document.data
    if "bind_config" not in top:
        if top:
            entry = next(iter(top.values()))
            text = 'there is no "bind_config", so the file is taken for the short form of the command line'
            yield Problem("checks", "ValueError", entry, text, 'add "bind_config": {"bind_cpu_mode": "cpu"}')
        return
    config = top["bind_config"].value
    if not isinstance(config.data, Mapping):
        yield Problem("reads", _ARGUMENT, config, f'"bind_config" is {config}', 'write {"bind_cpu_mode": "cpu"}')
        return
    for name, allowed in _MODES.items():
        if name in config.data and _mode_text(config.data[name].value) not in allowed:
            value = config.data[name].value
            guess = nearest(_mode_text(value), allowed)
            yield Problem(
                "reads", _ARGUMENT, value, f'"{name}" is {value}{guess}', f"write {', '.join(map(quoted, allowed))}"
            )


def _mode_text(value: Value) -> str:
    return value.data.lower() if isinstance(value.data, str) else ""


def _mode(settings: Mapping[str, Entry], name: str) -> Mode:
    text = _mode_text(settings[name].value) if name in settings else "none"
    return next((mode for mode in _MODES[name] if mode == text), "none")


def _renamed(top: Mapping[str, Entry], section: str, view: View, problems: list[Problem]) -> dict[str, Entry]:
    """The entries by the names that they are looked up by: `device_N` becomes `deviceN`, and wins over it."""
    value = top[section].value if section in top else None
    if value is None or not isinstance(value.data, Mapping):
        return {}
    found: dict[str, Entry] = {}
    underscored: set[str] = set()
    for key, entry in value.data.items():
        matched = _KEY.fullmatch(key)
        if key == "scheduler":
            found[key] = entry
        elif matched is None:
            text = f'{quoted(key)} in "{section}" is neither a device nor the scheduler'
            problems.append(
                Problem("checks", "ValueError", entry, text, f'write "scheduler" or "device0"{_meant(key)}')
            )
        else:
            if view.highest_device is not None and int(matched[2]) > view.highest_device:
                text = f"{quoted(key)} is above the last device, {view.highest_device}"
                problems.append(Problem("checks", "ValueError", entry, text, "leave it out", is_id=True))
            name = f"device{int(matched[2])}" if matched[1] else key
            if matched[1] or name not in underscored:
                found[name] = entry
            if matched[1]:
                underscored.add(name)
    return found


def _meant(key: str) -> str:
    digits = re.search(r"[0-9]+\Z", key[-9:])
    return nearest(key, ("scheduler",) if digits is None else (f"device{int(digits[0])}",))


def _host(document: Value, view: View, cpu_mode: Mode, memory_mode: Mode) -> Iterator[Problem]:
    """What the host lacks: taskset for CPUs, numactl for nodes, even where no entry would use them, and cgroup v1's list of CPUs."""
    needed = {"taskset": cpu_mode == "cpu", "numactl": "numa" in (cpu_mode, memory_mode)}
    for tool, is_needed in needed.items():
        if is_needed and view.tools is not None and not view.tools.get(tool, True):
            yield Problem(
                "checks", "RuntimeError", document, f"{tool} is not installed", f"install {tool}", is_host=True
            )
    if cpu_mode == "cpu" and view.has_cpuset_file is False:
        text = "there is no cpuset.cpus of cgroup v1, by which alone it knows its CPUs"
        remedy = "start the ranks with numascope plan make --to numactl, or mount cgroup v1's cpuset"
        yield Problem("checks", "RuntimeError", document, text, remedy, is_host=True)


def _sections(top: Mapping[str, Entry], cpu_mode: Mode, memory_mode: Mode) -> Iterator[Problem]:
    for section, mode in zip(SECTIONS[1:], (cpu_mode, memory_mode), strict=True):
        value = top[section].value if section in top else None
        if mode == "none" or value is None or value.data is None or isinstance(value.data, Mapping):
            continue
        yield Problem("checks", "TypeError", value, f'"{section}" is {value}', 'write an object such as {"device0": …}')


def _fixed_actors(settings: Mapping[str, Entry]) -> Iterator[Problem]:
    if "actor_thread_fix_bind" in settings:
        value = settings["actor_thread_fix_bind"].value
        if not isinstance(value.data, bool):
            yield Problem("binds", "ValueError", value, f'"actor_thread_fix_bind" is {value}', "write true or false")
