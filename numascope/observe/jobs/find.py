"""All jobs among the processes of a machine, and any process as a job of its own."""

from __future__ import annotations

from numascope.observe.jobs.kin import children_of, descendants
from numascope.observe.jobs.mindspore import mindspore_jobs
from numascope.observe.jobs.objects import Facts, Job, Rank
from numascope.observe.jobs.ranked import ranked_jobs
from numascope.observe.jobs.schemes import SCHEMES
from numascope.observe.jobs.served import served_jobs


def find_jobs(facts: Facts) -> tuple[Job, ...]:
    """The jobs among these processes: MindSpore's by `MS_ROLE`, serving engines by title, all others by their rank's variables."""
    children = children_of(facts)
    jobs = mindspore_jobs(facts, children)
    taken = {pid for job in jobs for pid in job.pids()}
    served = [job for job in served_jobs(facts, children) if taken.isdisjoint(job.pids())]
    jobs += served
    taken.update(pid for job in served for pid in job.pids())
    for scheme in SCHEMES:
        found = ranked_jobs(scheme, facts, children, taken)
        jobs += found
        taken.update(pid for job in found for pid in job.pids())
    return tuple(sorted(jobs, key=lambda job: min(job.pids())))


def process_job(facts: Facts, pid: int) -> Job:
    """A process of no known framework, with its descendants, as a job of one unnumbered rank."""
    below = descendants(children_of(facts), pid)
    return Job("process", None, (Rank(pid, None, None, None, "", tuple(below)),))
