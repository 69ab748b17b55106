"""The course of msrun and set_cpu_affinity over a unified bind JSON (mindspore/parallel/cluster/run.py, process_entity/_bind.py, runtime/thread_bind_core.py of 2.10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from numascope.plan.check.judged import Judgement, Mode, Problem, Stage, View
from numascope.plan.check.msrun_affinity import affinities_of
from numascope.plan.check.msrun_keys import MODES, key_problems, mode_text, renamed
from numascope.plan.check.msrun_prefix import prefix_of
from numascope.plan.check.msrun_values import module_problems, node_problems, start_problems, tool_problems
from numascope.plan.dialects.mindspore import SECTIONS
from numascope.plan.json_reader import Entry, Value, quoted
from numascope.plan.source import nearest

_ARGUMENT: Final = "ArgumentTypeError"


def judge(document: Value, view: View, *, has_mark: bool = False) -> Judgement:
    """What MindSpore would do with this file on such a host; `has_mark`: it begins with a byte order mark."""
    problems = list(_reading(document, view, has_mark=has_mark))
    top = document.data if isinstance(document.data, Mapping) else {}
    config = top["bind_config"].value.data if "bind_config" in top else {}
    settings = config if isinstance(config, Mapping) else {}
    modes = _mode(settings, "bind_cpu_mode"), _mode(settings, "bind_memory_mode")
    if not top or "bind_config" not in top:
        return Judgement(tuple(problems), {}, "none", "none", {}, {})
    devices, memory = renamed(top, "bind_cpu"), renamed(top, "bind_memory")
    for section in SECTIONS[1:]:
        problems += key_problems(top, section, view)
    problems += _host(document, view, *modes)
    problems += _section(top, "bind_cpu", modes[0])
    for name, entry in devices.items():
        if modes[0] == "cpu":
            problems += module_problems(name, entry.value, view)
        elif modes[0] == "numa":
            problems += node_problems(name, entry.value, view, "bind_cpu")
    problems += _section(top, "bind_memory", modes[1])
    for name, entry in memory.items() if modes[1] == "numa" else ():
        problems += node_problems(name, entry.value, view, "bind_memory")
    problems += [one for name, entry in devices.items() if modes[0] == "cpu" for one in start_problems(name, entry)]
    problems += _fixed_actors(settings)
    prefixes = {name: prefix_of(modes, devices.get(name), memory.get(name)) for name in (*devices, *memory)}
    for name, entry in devices.items() if modes[0] == "cpu" else ():
        problems += tool_problems(name, entry, prefixes[name][0]) if prefixes[name] else ()
    return Judgement(tuple(problems), prefixes, *modes, devices, affinities_of(document, view).by_device)


def _reading(document: Value, view: View, *, has_mark: bool) -> Iterator[Problem]:
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
            stage, kind = _short_form_end(top, view)
            yield Problem(stage, kind, entry, text, 'add "bind_config": {"bind_cpu_mode": "cpu"}')
        return
    config = top["bind_config"].value
    if not isinstance(config.data, Mapping):
        yield Problem("reads", _ARGUMENT, config, f'"bind_config" is {config}', 'write {"bind_cpu_mode": "cpu"}')
        return
    for name, allowed in MODES.items():
        if name in config.data and mode_text(config.data[name].value) not in allowed:
            value = config.data[name].value
            guess = nearest(mode_text(value), allowed)
            remedy = f"write {', '.join(map(quoted, allowed[:-1]))} or {quoted(allowed[-1])}"
            yield Problem("reads", _ARGUMENT, value, f'"{name}" is {value}{guess}', remedy)


def _short_form_end(top: Mapping[str, Entry], view: View) -> tuple[Stage, str]:
    """How a file ends whose sections are taken for processes, and whose entries for lists of nodes."""
    for entry in top.values():
        data = entry.value.data
        if not isinstance(data, str | tuple | Mapping):
            return "checks", "TypeError"
        words = [one.data if isinstance(one, Value) else one for one in data]
        if not all(isinstance(one, str) for one in words):
            return "checks", "TypeError"
        for piece in filter(None, ",".join(map(str, words)).split(",")):
            try:
                ends = [int(end) for end in piece.split("-", 1)]
            except ValueError:
                return "checks", "ValueError"
            if view.nodes is not None and any(end not in view.nodes for end in ends):
                return "checks", "RuntimeError"
    return "starts", "ValueError"


def _mode(settings: Mapping[str, Entry], name: str) -> Mode:
    text = mode_text(settings[name].value) if name in settings else "none"
    return next((mode for mode in MODES[name] if mode == text), "none")


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
        yield Problem("checks", "RuntimeError", document, text, remedy, is_host=True, is_of_version=True)
    if needed["numactl"] and view.nodes is not None and not view.nodes:
        text = "the kernel tells of no node with CPUs and memory"
        remedy = 'bind by CPUs alone: "bind_cpu_mode": "cpu", "bind_memory_mode": "none"'
        yield Problem("checks", "RuntimeError", document, text, remedy)


def _section(top: Mapping[str, Entry], section: str, mode: Mode) -> Iterator[Problem]:
    value = top[section].value if section in top else None
    if mode != "none" and value is not None and not isinstance(value.data, Mapping):
        yield Problem("checks", "TypeError", value, f'"{section}" is {value}', 'write an object such as {"device0": …}')


def _fixed_actors(settings: Mapping[str, Entry]) -> Iterator[Problem]:
    if "actor_thread_fix_bind" in settings:
        value = settings["actor_thread_fix_bind"].value
        if not isinstance(value.data, bool):
            yield Problem("binds", "ValueError", value, f'"actor_thread_fix_bind" is {value}', "write true or false")
