"""The text of `plan explain`: the plan on the machine map, who has what and where, and why."""

from __future__ import annotations

import re
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.mindspore import WHOLE_PROCESS
from numascope.plan.objects import SCHEDULER, Plan, Rule, Subject
from numascope.plan.resolve import rule_cpus
from numascope.plan.why import Owners, free_by_reason, role_words, why_cpu
from numascope.show.canvas import left, text_cells, wrapped
from numascope.show.ink import Line, Span, Token
from numascope.show.plan_map import letters_of, map_words, plan_map_lines

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

_OF_ONE: Final = "the other thread of its core"
"""What is said of a single CPU would make a paragraph of each."""

_MOST_PARTIAL: Final = 8

_TABLE: Final = 70
"""From this width on a role's columns stand below each other."""


def explain_lines(owners: Owners, width: int) -> list[Line]:
    """The whole plan: map, devices with each role's place in the file, and every CPU in no role by why."""
    lines = [*_head(owners, width), (), *plan_map_lines(owners, width), *_dim(map_words(owners, width), width), ()]
    letters = letters_of(owners)
    subjects = owners.plan.subjects()
    for subject in subjects:
        lines += _subject_lines(owners, subject, letters[subject], width)
    free = free_by_reason(owners)
    if free:
        lines += [*([()] if subjects else []), (Span("in no role"),)]
        for reason, cpus in free:
            lines += _wrapped(_free_line(cpus, reason, width), width)
    return [*lines, *_notes(owners.plan, width)]


def explain_cpu_lines(owners: Owners, cpu: int, width: int) -> list[Line]:
    """One CPU on the map, and why it has its owner."""
    mapped = plan_map_lines(owners, width, CpuSet.of((cpu,)))
    lines = [*_head(owners, width), (), *mapped, *_dim(map_words(owners, width, f"CPU {cpu}"), width), ()]
    first, *rest = why_cpu(owners, cpu)
    lines += [(Span(text, bold=True),) for text in wrapped(first, width)]
    for reason in rest:
        lines += _wrapped(f"- {reason}", width)
    return lines


def explain_device_lines(owners: Owners, subject: Subject, width: int) -> list[Line]:
    """One device's CPUs on the map, and why each run of them is there."""
    cpus = owners.cpus_of(subject)
    mapped = plan_map_lines(owners, width, cpus)
    lines = [*_head(owners, width), (), *mapped, *_dim(map_words(owners, width, str(subject)), width), ()]
    lines += _subject_lines(owners, subject, letters_of(owners)[subject], width)
    for rule in owners.of_subject.get(subject, ()):
        lines += _rule_lines(owners, rule, width)
    return lines


def _rule_lines(owners: Owners, rule: Rule, width: int) -> list[Line]:
    """What holds for all CPUs of a rule once, then what holds for some of them."""
    wanted = rule_cpus(rule, owners.machine)
    cpus = wanted & owners.machine.cpus.present
    said: dict[str, int] = {}
    for cpu in cpus:
        for sentence in list(why_cpu(owners, cpu))[1:]:
            if not sentence.startswith(_OF_ONE):
                said[sentence] = said.get(sentence, 0) | 1 << cpu
    lines: list[Line] = [(), *_wrapped(f"{role_words(rule)}: {wanted}", width)]
    if wanted != cpus:
        lines += _wrapped(f"- {wanted - cpus}: this machine has no such CPU", width)
    common = [sentence for sentence, bits in said.items() if bits == cpus.bits]
    partial = [(CpuSet(bits), sentence) for sentence, bits in said.items() if bits != cpus.bits]
    for sentence in common:
        lines += _wrapped(f"- {sentence}", width)
    for here, sentence in partial[:_MOST_PARTIAL]:
        lines += _wrapped(f"- {here}: {sentence}", width)
    left_out = len(partial) - _MOST_PARTIAL
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
    near = (
        "" if subject == SCHEDULER else ", near " + ("?" if seat is None or seat.node is None else f"node {seat.node}")
    )
    here = owners.cpus_of(subject) & machine.cpus.present
    nodes = CpuSet.of({machine.node_of[cpu] for cpu in here if cpu in machine.node_of})
    memory = owners.memory.get(subject)
    bound = f"memory of node {memory}" if memory is not None else "memory not bound"
    text = f"{letter} {subject}{where}{near}; CPUs of node {nodes or '?'}, {bound}"
    lines: list[Line] = [(Span(one),) for one in wrapped(text, width)]
    for rule in owners.of_subject.get(subject, ()):
        lines += _role_lines(owners, rule, width)
    return lines


def _role_lines(owners: Owners, rule: Rule, width: int) -> list[Line]:
    role = "whole process" if rule.role == WHOLE_PROCESS else rule.role
    cpus = rule_cpus(rule, owners.machine)
    place = owners.plan.path if owners.plan.dialect == "torch" else str(rule.place)
    count = f"{len(cpus)} CPU{'' if len(cpus) == 1 else 's'}"
    if width < _TABLE:
        return _wrapped(f"    {role}, {count}: {cpus}  {place}", width)
    return _wrapped(left(f"    {role}", 20) + left(count, 9) + f" {cpus}  {place}", width, indent=30)


def _notes(plan: Plan, width: int) -> list[Line]:
    lines: list[Line] = []
    for note in plan.notes:
        lines += _wrapped(f"- {note}", width, "dim")
    return [(), *lines] if lines else []


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
    for piece in re.findall(r"[^ ,]*,(?=\d)|[^ ]+ *", text[indent:]):
        if text_cells(line) + text_cells(piece.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += piece
    return [(Span(one, hue),) for one in [*lines, line.rstrip()]]


def _dim(text: str, width: int) -> list[Line]:
    return _wrapped(text, width, "dim")
