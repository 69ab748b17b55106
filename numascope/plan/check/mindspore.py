"""MindSpore's own answer to its bind JSON: what it refuses, what it breaks off, and whom it leaves unbound without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from numascope.plan.check.judged import SETTINGS, Judgement, Problem, Stage
from numascope.plan.check.msrun_keys import is_looked_up
from numascope.plan.check.objects import CheckFinding, Hit, gathered
from numascope.plan.dialects.mindspore import MODULES, SECTIONS
from numascope.plan.json_reader import Entry, Value, quoted
from numascope.plan.objects import Place, Severity
from numascope.plan.source import nearest

_OF_IDS = ("cpu-", "node-", "mem-")
"""Rules on the machine that say of an id why it is not available."""

_RULES: Mapping[Stage, tuple[str, str]] = {
    "reads": ("refused", "msrun ends before it starts anybody"),
    "checks": ("refused", "msrun ends before it starts anybody"),
    "starts": ("crash", "msrun ends at the first worker, the scheduler stays behind"),
    "runs": ("numactl-refuses", "numactl ends with its usage text, and so does the rank"),
    "binds": ("affinity-refuses", "msrun starts the ranks, set_cpu_affinity(bind_file=…) ends each of them"),
}


def refusals(path: str, judgement: Judgement, found: Sequence[CheckFinding]) -> Iterator[CheckFinding]:
    """A finding for each thing that MindSpore fails at, but ids that `found`, by rules on the machine, has at the same place."""
    told = {
        place
        for finding in found
        if finding.rule.startswith(_OF_IDS) and finding.severity == "error"
        for place in finding.places
    }
    has_absent_device = any(finding.rule == "dev-absent" for finding in found)
    hits: dict[tuple[str, Severity, str, str], list[Hit]] = {}
    for one in judgement.problems:
        place = _place(path, one.where)
        if one.is_id and (place in told or (one.kind == "ValueError" and has_absent_device)):
            continue
        rule, severity, outcome = _weighed(one)
        hits.setdefault((rule, severity, outcome, one.remedy), []).append(Hit(place, one.text))
    for (rule, severity, outcome, remedy), cases in hits.items():
        yield from gathered(rule, severity, cases, remedy, (outcome,))


def _weighed(one: Problem) -> tuple[str, Severity, str]:
    """The rule of a problem, its weight, and what comes of it."""
    if one.kind == "taskset":
        return "taskset-refuses", "error", "taskset fails to parse it and ends, and so does the rank"
    rule, outcome = _RULES[one.stage]
    outcome += "" if one.kind == "numactl" else f" ({one.kind})"
    if not one.is_host:
        return rule, "error", outcome
    if one.is_of_version:
        return "cgroup-v1", "info", f"MindSpore 2.9 and 2.10: {outcome}"
    return "tool-missing", "error", outcome


def silent_faults(path: str, document: Value, judgement: Judgement) -> tuple[CheckFinding, ...]:
    """`unknown-key`, `twice`, `unbound`, `no-main`, `no-effect`, `actors-shared`: accepted, and not what it looks like."""
    top = document.data
    if not isinstance(top, Mapping):
        return ()
    found = list(_unknown_keys(path, top))
    if "bind_config" not in top:
        if not top:
            hit = Hit(_place(path, document), "the file is empty: MindSpore accepts it and binds nobody")
            found += gathered(
                "unbound", "warning", [hit], 'write {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {…}}'
            )
        return tuple(found)
    found += _twice(path, top)
    if judgement.first("reads") is None:  # else its modes are not known
        found += _no_effect(path, top, judgement)
        found += _unbound(path, judgement)
    found += _shared_actors(path, top, judgement)
    return tuple(found)


def _unknown_keys(path: str, top: Mapping[str, Entry]) -> Iterator[CheckFinding]:
    hits = [_unknown(path, key, entry, SECTIONS, "the key") for key, entry in top.items() if key not in SECTIONS]
    settings = _entries(top, "bind_config")
    hits += [
        _unknown(path, key, entry, SETTINGS, "the setting") for key, entry in settings.items() if key not in SETTINGS
    ]
    for process, one in _entries(top, "bind_cpu").items():
        modules = one.value.data if isinstance(one.value.data, Mapping) else {}
        hits += [
            _unknown(path, key, entry, MODULES, f"in {quoted(process)[1:-1]} the module")
            for key, entry in modules.items()
            if key not in MODULES
        ]
    yield from gathered("unknown-key", "warning", hits, "mend its name, or remove it: MindSpore ignores it")


def _unknown(path: str, key: str, entry: Entry, known: tuple[str, ...], word: str) -> Hit:
    return Hit(
        _place(path, entry),
        f"MindSpore does not know {word} {quoted(key)}{nearest(key, known)}",
        f"it knows {', '.join(known)}",
    )


def _entries(top: Mapping[str, Entry], section: str) -> Mapping[str, Entry]:
    value = top[section].value.data if section in top else None
    return value if isinstance(value, Mapping) else {}


def _twice(path: str, top: Mapping[str, Entry]) -> Iterator[CheckFinding]:
    """`device0` beside `device_0`: the underscored one wins, wherever it stands."""
    hits = []
    for section in SECTIONS[1:]:
        entries = _entries(top, section)
        for key, entry in entries.items():
            digits = key.removeprefix("device_")
            plain = f"device{int(digits)}" if digits.isdecimal() and len(digits) < 10 and digits != key else ""
            if plain in entries:
                other = entries[plain]
                where = f"line {entry.line}" if entry.line != other.line else f"column {entry.column}"
                text = f"{plain} is there twice: MindSpore takes {quoted(key)} in {where}"
                hits.append(Hit(_place(path, other), text))
    yield from gathered("twice", "warning", hits, "remove one of them")


def _no_effect(path: str, top: Mapping[str, Entry], judgement: Judgement) -> Iterator[CheckFinding]:
    modes = (judgement.cpu_mode, judgement.memory_mode)
    hits = []
    for section, mode in zip(SECTIONS[1:], modes, strict=True):
        if mode == "none" and section in top and top[section].value.data:
            hits.append(Hit(_place(path, top[section]), f'"{section}" has no effect: "{section}_mode" is "none"'))
    if modes == ("none", "none") and not hits:
        hits.append(Hit(_place(path, top["bind_config"]), "both modes are none: MindSpore binds nobody"))
    yield from gathered("no-effect", "warning", hits, "set the mode, or remove the section")


def _unbound(path: str, judgement: Judgement) -> Iterator[CheckFinding]:
    """Entries that bind no process, and those that bind only what set_cpu_affinity does."""
    unbound, without_node, no_main, strange = [], [], [], []
    for process, entry in judgement.devices.items():
        place = _place(path, entry)
        if process != "scheduler" and process != f"device{int(process.removeprefix('device'))}":
            meant = f"device{int(process.removeprefix('device'))}"
            strange.append(Hit(place, f'{quoted(process)} never matches a worker, did you mean "{meant}"'))
        elif judgement.cpu_mode == "cpu":
            words = judgement.prefixes.get(process, ())
            if "taskset" in words or "--physcpubind" in words:
                continue
            if _has_zero_main(entry):
                unbound.append(Hit(place, f'"main" of {process} is the number 0: msrun takes it as none'))
            elif process != "scheduler" and _binds_threads(entry):
                no_main.append(Hit(place, f'{process} has no "main": it starts with every CPU'))
            else:
                unbound.append(Hit(place, f"{process} has no CPUs: it starts unbound, and MindSpore does not say so"))
        elif judgement.cpu_mode == "numa" and entry.value.data is None and not judgement.prefixes.get(process):
            without_node.append(Hit(place, f"{process} has no node: it starts unbound, and MindSpore does not say so"))
    yield from gathered("unbound", "warning", unbound, 'write its CPUs in quotes, such as "main": "0-7"')
    yield from gathered("unbound", "warning", without_node, "write its node, such as 0")
    yield from gathered("unbound", "warning", strange, "write the number without leading zeros")
    yield from gathered("no-main", "info", no_main, "add its main, whose CPUs every other thread inherits")


def _modules(entry: Entry) -> Mapping[str, Entry]:
    return entry.value.data if isinstance(entry.value.data, Mapping) else {}


def _has_zero_main(entry: Entry) -> bool:
    main = _modules(entry).get("main")
    return main is not None and isinstance(main.value.data, int) and main.value.data == 0


def _binds_threads(entry: Entry) -> bool:
    return any(name in MODULES and one.value.data not in (None, "") for name, one in _modules(entry).items())


def _shared_actors(path: str, top: Mapping[str, Entry], judgement: Judgement) -> Iterator[CheckFinding]:
    if judgement.cpu_mode != "cpu" or "actor_thread_fix_bind" in _entries(top, "bind_config"):
        return
    if any("runtime" in _modules(entry) for entry in judgement.devices.values()):
        text = '"actor_thread_fix_bind" is not there, which MindSpore takes as false'
        hit = Hit(
            _place(path, top["bind_config"]), text, "every actor may use all CPUs of runtime, in turn with the others"
        )
        yield from gathered("actors-shared", "info", [hit], 'add "actor_thread_fix_bind": true for one CPU each')


def _place(path: str, where: Value | Entry) -> Place:
    return Place(path, where.line, where.column)


def outcome_words(judgement: Judgement) -> str:
    """What MindSpore would do, in one sentence after `would do:`."""
    refusal = next(
        (one for one in judgement.problems if one.stage in ("reads", "checks") and not one.is_of_version), None
    )
    if refusal is not None:
        return f"refuse it before it starts anybody: {refusal.text} ({refusal.kind})"
    crash = judgement.first("starts")
    if crash is not None:
        return f"start the scheduler, then end with {crash.kind} at a worker: {crash.text}"
    bound = [process for process, words in judgement.prefixes.items() if words and is_looked_up(process)]
    ranks = sum(process != "scheduler" for process in bound)
    also = " and the scheduler" if "scheduler" in bound else ""
    words = f"accept it, bind {ranks or 'no'} rank{'' if ranks == 1 else 's'}{also} at the start"
    modules = _later_modules(judgement)
    if modules:
        words += f"; {', '.join(modules)} when the job calls set_cpu_affinity(bind_file=…)"
    if not bound and not modules:
        words = "accept it, and bind nobody"
    dies = judgement.first("runs")
    later = judgement.first("binds")
    if dies is not None:
        words += f"; {dies.kind} then ends one of them: {dies.text}"
    if later is not None:
        words += f"; set_cpu_affinity ends with {later.kind}: {later.text}"
    if any(one.is_of_version for one in judgement.problems):
        words += "; MindSpore 2.9 and 2.10 end here instead, as there is no cpuset of cgroup v1"
    return words


def _later_modules(judgement: Judgement) -> list[str]:
    """The modules that some rank binds itself."""
    found = {name for one in judgement.affinities.values() for name, cpus in one.modules.items() if cpus}
    return [name for name in MODULES if name in found]
