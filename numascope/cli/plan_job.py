"""The live job that `plan check --job PID` means, as facts about its plan and its threads."""

from __future__ import annotations

import hashlib
import os

from numascope.cli.living import why_missing
from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host import procfs
from numascope.host.affinity import AffinityReader
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.observe.facts import read_facts, scan_facts
from numascope.observe.jobs import Facts, Job, find_jobs, process_job
from numascope.plan.check.objects import JobFacts
from numascope.plan.json_reader import LARGEST_FILE_BYTES, universal_newlines

_LARGEST_TEAM = 65_536
_CLEANER_NS = 100_000_000
"""What a process that only waits has used at most, as in the roles of threads."""


def job_facts(pid: int, plan_path: str) -> JobFacts:
    """What the job with this process in it shows; TargetGoneError, NotPermittedError."""
    root = HostRoot()
    facts = scan_facts(root)
    if pid not in facts or _has_ended(root, pid, facts):
        raise why_missing(root, pid)
    job = next((one for one in find_jobs(facts) if pid in one.pids()), None) or process_job(facts, pid)
    head = job.launcher if job.launcher is not None else pid
    deep = read_facts(root, head)
    if deep is None:
        raise why_missing(root, head)
    file_hash, is_gone = _own_file(facts, job)
    return JobFacts(
        pid=pid,
        framework=job.framework,
        plan_path=job.plan_path,
        plan_hash=job.plan_hash,
        real_path=os.path.abspath(plan_path),
        cpuset=deep.cpuset,
        mask=None if job.launcher is None else _mask(job.launcher),
        ranks=len(job.ranks),
        omp_threads=_omp_threads(facts, job),
        loaders=max((_started(facts, rank.pid, rank.helpers, job.framework) for rank in job.ranks), default=0),
        is_readable=facts[pid].environ is not None,
        file_hash=file_hash,
        is_gone=is_gone,
    )


def _has_ended(root: HostRoot, pid: int, facts: Facts) -> bool:
    """Whether it only waits for its parent to take note of its end."""
    stat = procfs.stat_of(root, pid)
    return stat is None or (stat.state in "ZX" and not facts[pid].cmdline)


def _own_file(facts: Facts, job: Job) -> tuple[str | None, bool]:
    """The text hash of the file that the job was started with, read as one of its ranks sees it, and whether it is gone; None: unknown."""
    pid = next((rank.pid for rank in job.ranks), job.scheduler)
    if job.plan_path is None or pid is None:
        return None, False
    try:
        inside = procfs.root_of(pid)
    except (OSError, InputError):
        return None, False
    try:
        data = inside.read_as(job.plan_path, facts[pid].uid, LARGEST_FILE_BYTES)
        return hashlib.sha256(universal_newlines(data)).hexdigest(), False
    except (AbsentError, FileNotFoundError):
        return None, True
    except OSError:
        return None, False
    finally:
        inside.close()


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


def _started(facts: Facts, pid: int, helpers: tuple[int, ...], framework: str) -> int:
    """The processes of the same program below a rank: its loader workers, without MindSpore's that only wait for its end."""
    program = facts[pid].cmdline[:1]
    if "".join(program).endswith("sh"):  # a shell starts more than workers
        return 0
    alike = [one for one in helpers if one in facts and facts[one].cmdline[:1] == program]
    return sum(1 for one in alike if framework != "mindspore" or not _only_waits(facts, one))


def _only_waits(facts: Facts, pid: int) -> bool:
    """One thread and hardly any work, as the roles tell a cleaning process."""
    return facts[pid].threads == 1 and (procfs.process_clock_ns(pid) or 0) < _CLEANER_NS
