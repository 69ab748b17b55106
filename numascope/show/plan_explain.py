"""The text of `plan explain`: the plan on the machine map, who has what and where, and why."""

from __future__ import annotations

import re
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.objects import SCHEDULER, WHOLE_PROCESS, Rule, Subject
from numascope.plan.owners import Owners, memory_words, nodes_words
from numascope.plan.reasons import free_by_reason, why_cpu, why_subject
from numascope.plan.resolve import rule_cpus
from numascope.show.canvas import breakable, left, text_cells, wrapped
from numascope.show.ink import Line, Span, Token
from numascope.show.plan_map import PlanMap, letters_of, plan_map

_DIALECTS: Final = {
    "mindspore": "MindSpore's unified bind JSON",
    "msrun": "msrun's --bind_core and --bind_numa",
    "torch": "torchrun's --numa-binding",
    "numascope": "numascope's own bind JSON",
    "torch_npu": "torch_npu's CPU_AFFINITY_CONF",
    "mindformers": "MindFormers' affinity_config",
    "vllm": "vLLM's VLLM_CPU_OMP_THREADS_BIND",
    "rankfile": "Open MPI's rankfile",
    "slurm": "Slurm's --cpu-bind",
    "numactl": "command lines of numactl",
    "taskset": "command lines of taskset",
}

_MOST_REASONS: Final = 24
"""Of one device; a plan that scatters its CPUs must not print pages."""

_TABLE: Final = 70
"""From this width on a role's columns stand below each other."""


def explain_lines(owners: Owners, width: int) -> list[Line]:
    """The whole plan: map, devices with each role's place in the file, and every CPU in no role by why."""
    lines = [*_head(owners, width), (), *_map_lines(plan_map(owners, width), width), ()]
    letters = letters_of(owners)
    subjects = owners.plan.subjects()
    for subject in subjects:
        lines += _subject_lines(owners, subject, letters[subject], width)
    free = free_by_reason(owners)
    if free:
        lines += [*([()] if subjects else []), (Span("in no role"),)]
        for reason, cpus in free:
            lines += _wrapped(_free_line(cpus, reason, width), width)
    return [*lines, *_notes(owners, width)]


def explain_cpu_lines(owners: Owners, cpu: int, width: int) -> list[Line]:
    """One CPU on the map, and why it has its owner."""
    lines = [*_head(owners, width), (), *_map_lines(plan_map(owners, width, cpu=cpu), width), ()]
    first, *rest = why_cpu(owners, cpu)
    lines += [(Span(text, bold=True),) for text in wrapped(first, width)]
    for reason in rest:
        lines += _wrapped(f"- {reason}", width)
    return lines


def explain_device_lines(owners: Owners, subject: Subject, width: int) -> list[Line]:
    """One device's CPUs on the map, and why each run of them is there."""
    lines = [*_head(owners, width), (), *_map_lines(plan_map(owners, width, only=subject), width), ()]
    lines += _subject_lines(owners, subject, letters_of(owners)[subject], width)
    reasons = list(why_subject(owners, subject))
    lines.append(())
    for reason in reasons[:_MOST_REASONS]:
        lines += _wrapped(f"- {reason}", width)
    left_out = len(reasons) - _MOST_REASONS
    return [*lines, *(_wrapped(f"- {left_out} more: ask with --cpu N", width) if left_out > 0 else [])]


def _head(owners: Owners, width: int) -> list[Line]:
    plan, machine = owners.plan, owners.machine
    devices = [subject for subject in plan.subjects() if subject != SCHEDULER]
    dialect = _DIALECTS.get(plan.dialect, plan.dialect)
    online = machine.cpus.online
    words = f"{plan.path}: {dialect}, {len(devices)} device{'' if len(devices) == 1 else 's'}"
    lost = owners.planned - online
    more = f"; not online here: {lost}" if lost else ""
    return _wrapped(f"{words}, {len(owners.planned & online)} of {len(online)} CPUs planned{more}", width)


def _subject_lines(owners: Owners, subject: Subject, letter: str, width: int) -> list[Line]:
    machine = owners.machine
    seat = None if subject.device is None else owners.seats.get(subject.device)
    where = "" if seat is None else f" {seat.address or ''}".rstrip()
    near = f" near node {seat.node}" if seat is not None and seat.node is not None else ""
    here = owners.cpus_of(subject) & machine.cpus.present
    nodes = machine.nodes_of(here)
    lines = _wrapped(
        f"{letter} {subject}{where}{near}: CPUs on {nodes_words(nodes)}, {memory_words(owners, subject)}", width
    )
    rules = owners.of_subject.get(subject, ())
    rows = [_role_cells(owners, rule, is_only=len(rules) == 1) for rule in rules]
    if width < _TABLE:
        return lines + [one for row in rows for one in _wrapped("    {}, {}: {}  {}".format(*row), width)]
    first, second, third = (max((len(row[at]) for row in rows), default=0) for at in range(3))
    third = third if 8 + first + second + third + max((len(row[3]) for row in rows), default=0) <= width else 0
    for role, count, cpus, place in rows:
        text = f"    {left(role, first)}  {count.rjust(second)}  {left(cpus, third) if third else cpus}  {place}"
        lines += _wrapped(text, width, indent=8 + first + second)
    return lines


def _role_cells(owners: Owners, rule: Rule, *, is_only: bool) -> tuple[str, str, str, str]:
    """Role, number of CPUs, CPUs, place without the directories that the head has."""
    role = rule.role if rule.role != WHOLE_PROCESS else "whole process" if is_only else "all others"
    cpus = rule_cpus(rule, owners.machine)
    place = "" if owners.plan.dialect == "torch" else str(rule.place).rpartition("/")[2]
    return role, f"{len(cpus)} CPU{' ' if len(cpus) == 1 else 's'}", str(cpus), place


def _notes(owners: Owners, width: int) -> list[Line]:
    notes = [*map(str, owners.plan.notes)]
    lost = [one.device for one in owners.of_subject if one.device is not None and not _is_seated(owners, one)]
    if lost:
        words = "device {} sits" if len(lost) == 1 else f"device {{}} and {len(lost) - 1} more sit"
        told = f"--device {lost[0]}=PCI-ADDRESS or {lost[0]}=node:N does"
        notes.append(f"no source says where {words.format(lost[0])}: {told}")
    lines = [line for note in notes for line in _wrapped(f"- {note}", width, "dim")]
    return [(), *lines] if lines else []


def _is_seated(owners: Owners, subject: Subject) -> bool:
    seat = None if subject.device is None else owners.seats.get(subject.device)
    return seat is not None and seat.node is not None


def _free_line(cpus: CpuSet, reason: str, width: int) -> str:
    text = str(cpus)
    if len(text) > 2 * width:
        text = f"{text[: text.rindex(',', 0, width)]},… ({len(cpus)} CPUs)"
    return f"  {text}: {reason}"


def _wrapped(text: str, width: int, hue: Token = "text", indent: int | None = None) -> list[Line]:
    """Lines of a sentence, the further ones below its first word; a long list of CPUs is broken behind its commas."""
    lead = re.match(r" *(?:- )?", text)
    if indent is None:
        indent = 0 if lead is None else lead.end()
    lines, line = [], text[:indent]
    for piece in breakable(text[indent:]):
        if text_cells(line) + text_cells(piece.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += piece
    return [(Span(one, hue),) for one in [*lines, line.rstrip()]]


def _map_lines(drawn: PlanMap, width: int) -> list[Line]:
    return [*drawn.lines, *_wrapped(drawn.words, width, "dim")]
