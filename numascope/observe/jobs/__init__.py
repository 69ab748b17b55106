"""Which processes are a training job: its launcher, its ranks and each rank's helpers. Pure: facts in, jobs out."""

from __future__ import annotations

from numascope.observe.jobs.devices import with_held
from numascope.observe.jobs.find import find_jobs, process_job
from numascope.observe.jobs.kin import children_of, descendants
from numascope.observe.jobs.objects import BY_HAND, Facts, Job, Rank

__all__ = ["BY_HAND", "Facts", "Job", "Rank", "children_of", "descendants", "find_jobs", "process_job", "with_held"]
