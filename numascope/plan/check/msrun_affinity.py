"""What mindspore.runtime.set_cpu_affinity(bind_file=…) makes of a unified bind JSON for one device (runtime/executor.py, runtime/thread_bind_core.py of 2.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.plan.check.judged import Affinity, View
from numascope.plan.check.msrun_keys import MODES, is_looked_up, key_problems, mode_text, renamed
from numascope.plan.check.msrun_values import ListRefusedError, taken_ids
from numascope.plan.dialects.mindspore import MODULES
from numascope.plan.json_reader import Entry, Value


class Affinities(NamedTuple):
    """The answers in the ranks of devices that have an entry, and in those of all others."""

    by_device: Mapping[int, Affinity]
    other: Affinity

    def of(self, device: int) -> Affinity:
        """The answer in the rank of this device."""
        return self.by_device.get(device, self.other)


_NOTHING = Affinity({})
_REFUSED = Affinity({}, "ValueError")


def affinities_of(document: Value, view: View, *, is_under_msrun: bool = True) -> Affinities:
    """What the call does in each rank; `is_under_msrun`: it was started by `msrun --bind_numa` with this very file.

    Under msrun "main" is left as the launcher bound it.
    """
    top = document.data
    if not isinstance(top, Mapping):
        return Affinities({}, _REFUSED)
    cpu_mode = _cpu_mode(top)
    if cpu_mode != "cpu":
        return Affinities({}, _REFUSED if cpu_mode is None else _NOTHING)
    section = top["bind_cpu"].value if "bind_cpu" in top else None
    is_odd = section is not None and not isinstance(section.data, Mapping)
    if is_odd or any(key_problems(top, "bind_cpu", view)):
        return Affinities({}, _REFUSED)
    answers = {}
    for process, entry in renamed(top, "bind_cpu").items():
        modules = entry.value.data
        if process != "scheduler" and is_looked_up(process) and isinstance(modules, Mapping):
            answers[int(process.removeprefix("device"))] = _of_modules(modules, view, is_under_msrun=is_under_msrun)
    return Affinities(answers, _NOTHING)


def _cpu_mode(top: Mapping[str, Entry]) -> str | None:
    """The mode that the call goes by; None where it refuses the settings."""
    config = top["bind_config"].value.data if "bind_config" in top else {}
    if not isinstance(config, Mapping):
        return None
    modes = [mode_text(config[name].value) if name in config else "none" for name in MODES]
    known = all(mode in allowed for mode, allowed in zip(modes, MODES.values(), strict=True))
    fixed = config.get("actor_thread_fix_bind")
    return modes[0] if known and (fixed is None or isinstance(fixed.value.data, bool)) else None


def _of_modules(modules: Mapping[str, Entry], view: View, *, is_under_msrun: bool) -> Affinity:
    found: dict[str, CpuSet | None] = {}
    for module, entry in modules.items():
        data = entry.value.data
        if not isinstance(data, str | int) or (isinstance(data, int) and data < 0):
            return _REFUSED
        try:
            found[module] = taken_ids(data)
        except ListRefusedError:
            return _REFUSED
    if _has_word(modules, found):
        return _REFUSED
    if (view.cpus is not None and not view.cpus) or not any(cpus is None or cpus for cpus in found.values()):
        return _NOTHING
    if any(cpus is None or (view.cpus is not None and cpus - view.cpus) for cpus in found.values()):
        return Affinity({}, "RuntimeError")
    bound = [name for name in MODULES if name in found and not (is_under_msrun and name == "main")]
    return Affinity({name: found[name] or CpuSet() for name in bound})


def _has_word(modules: Mapping[str, Entry], found: Mapping[str, CpuSet | None]) -> bool:
    """Whether a true or false, which counts as the CPU 1 or 0, gets into the joint list as a word: at an end of a range."""
    every, words = CpuSet(), CpuSet()
    for module, cpus in found.items():
        if isinstance(modules[module].value.data, bool) and cpus is not None:
            words |= cpus - every
        every |= cpus or CpuSet()
    return bool(words) and any(first in words or last in words for first, last in every.ranges())
