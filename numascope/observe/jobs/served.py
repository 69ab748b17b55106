"""vLLM's and SGLang's jobs: their processes carry a title, which tells what each is and which part of the model it holds.

vLLM: `set_process_title` of vllm/utils/system_utils.py, `setup_proc_title_and_log_prefix` of vllm/v1/executor/multiproc_executor.py.
SGLang: `run_scheduler_process` of python/sglang/srt/managers/scheduler.py, and the same call in its neighbours.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from numascope.observe.jobs.devices import visible_device
from numascope.observe.jobs.kin import Children, by_number, descendants, environ_of, runs, with_others
from numascope.observe.jobs.objects import Facts, Job, Rank
from numascope.observe.jobs.schemes import SERVERS
from numascope.observe.sample import ProcessFacts

TITLE: Final = re.compile(
    r"(VLLM|sglang)::(EngineCore|Worker|APIServer|DPCoordinator|scheduler|gpu_worker|detokenizer|tokenizer_worker"
    r"|data_parallel_controller|router|server)((?:_[A-Z]{2,3}[0-9]{1,5})*)(?:[_:][0-9]{1,10})?"
)
"""A title: the engine, what the process is, and its place in each dimension that is larger than one."""

_HOLDERS: Final = frozenset({"Worker", "scheduler", "gpu_worker"})
_DIMENSION: Final = re.compile(r"_([A-Z]+)([0-9]+)")
_WITHIN: Final = frozenset({"EP", "DCP"})
"""Dimensions that divide the others anew and do not count for a rank's number."""


class Title(NamedTuple):
    """What a process's title says: the framework, the kind of process, its rank where one dimension tells it whole."""

    framework: str
    kind: str
    number: int | None


def title_of(process: ProcessFacts | None) -> Title | None:
    """The title of a process of a serving engine; None where it has none."""
    found = TITLE.fullmatch(process.cmdline[0]) if process is not None and process.cmdline else None
    if found is None:
        return None
    places = [int(place) for name, place in _DIMENSION.findall(found[3]) if name not in _WITHIN]
    return Title(found[1].lower(), found[2], places[0] if len(places) == 1 else None)


def served_jobs(facts: Facts, children: Children) -> list[Job]:
    """One job a front end; its ranks are the processes that hold the model."""
    titles = {pid: title for pid, process in facts.items() if (title := title_of(process)) is not None}
    groups: dict[object, list[int]] = {}
    for pid in sorted(titles):
        head = _head(facts, titles, pid)
        launcher = facts[head].ppid if _starts(facts, facts[head].ppid) else None
        groups.setdefault(launcher if launcher is not None else (head,), []).append(pid)
    return [
        _job(facts, children, key if isinstance(key, int) else None, {pid: titles[pid] for pid in members})
        for key, members in groups.items()
    ]


def _head(facts: Facts, titles: dict[int, Title], pid: int) -> int:
    seen = {pid}
    while facts[pid].ppid in titles and facts[pid].ppid not in seen:
        pid = facts[pid].ppid
        seen.add(pid)
    return pid


def _starts(facts: Facts, pid: int) -> bool:
    """Whether it is the front end: who started an engine, but not who adopted its orphans."""
    process = facts.get(pid)
    return process is not None and (runs(process, SERVERS) or (pid != 1 and process.comm != "systemd"))


def _job(facts: Facts, children: Children, launcher: int | None, titles: dict[int, Title]) -> Job:
    holders = [pid for pid, title in titles.items() if title.kind in _HOLDERS]
    # An engine without workers holds the model itself.
    above = {facts[pid].ppid for pid in holders}
    holders += [pid for pid, title in titles.items() if title.kind == "EngineCore" and pid not in above]
    ranks = []
    for pid in holders:
        device, source = visible_device(environ_of(facts, pid), None, "its local rank")
        below = tuple(descendants(children, pid))
        ranks.append(Rank(pid, titles[pid].number, None, device, source if device is not None else "", below))
    job = Job(next(iter(titles.values())).framework, launcher, by_number(ranks))
    if launcher is not None:
        return with_others(job, facts, children)
    return Job(job.framework, None, job.ranks, others=tuple(sorted(set(titles) - set(job.pids()))))
