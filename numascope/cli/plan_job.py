"""The live job that `plan check --job PID` means, as facts about its plan and its threads."""

from __future__ import annotations

import os

from numascope.cli.living import why_missing
from numascope.cpuset import CpuSet
from numascope.host.affinity import AffinityReader
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.observe.facts import read_facts, scan_facts
from numascope.observe.jobs import Facts, Job, find_jobs, process_job
from numascope.plan.check.objects import JobFacts

_LARGEST_TEAM = 65_536


def job_facts(pid: int, plan_path: str) -> JobFacts:
    """What the job with this process in it shows; TargetGoneError, NotPermittedError."""
    root = HostRoot()
    facts = scan_facts(root)
    if pid not in facts:
        raise why_missing(root, pid)
    job = next((one for one in find_jobs(facts) if pid in one.pids()), None) or process_job(facts, pid)
    head = job.launcher if job.launcher is not None else pid
    deep = read_facts(root, head)
    return JobFacts(
        pid=pid,
        framework=job.framework,
        plan_path=job.plan_path,
        plan_hash=job.plan_hash,
        real_path=os.path.abspath(plan_path),
        cpuset=None if deep is None else deep.cpuset,
        mask=None if job.launcher is None else _mask(job.launcher),
        ranks=len(job.ranks),
        omp_threads=_omp_threads(facts, job),
        loaders=max((_started(facts, rank.pid, rank.helpers) for rank in job.ranks), default=0),
    )


def _mask(pid: int) -> CpuSet | None:
    try:
        return AffinityReader().read(pid)
    except (AbsentError, DeniedError):
        return None


def _omp_threads(facts: Facts, job: Job) -> int | None:
    """OpenMP takes the first of a list of numbers for the outermost team."""
    found = []
    for rank in job.ranks:
        text = (facts[rank.pid].environ or {}).get("OMP_NUM_THREADS", "").partition(",")[0].strip()
        if text.isascii() and text.isdecimal() and len(text) < 6:
            found.append(min(int(text), _LARGEST_TEAM))
    return max(found, default=None)


def _started(facts: Facts, pid: int, helpers: tuple[int, ...]) -> int:
    """The processes of the same program below a rank: its loader workers."""
    program = facts[pid].cmdline[:1]
    return sum(1 for one in helpers if one in facts and facts[one].cmdline[:1] == program)
