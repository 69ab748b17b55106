"""A plan against the live job that was started with it: MindSpore compares the file's hash and path."""

from __future__ import annotations

from numascope.plan.check.objects import CheckFinding, Hit, JobFacts, Question, gathered
from numascope.plan.objects import Place

_SHOWN = 8


def job_faults(question: Question) -> tuple[CheckFinding, ...]:
    """`job-hash`, `job-path`, `job-plan`: this is not the file, or not the path, that the job was started with."""
    job, plan = question.job, question.owners.plan
    if job is None:
        return ()
    place = Place(plan.path, 1, 1)
    if job.plan_hash is None:
        text = f"job {job.pid} names no plan: it was not started with msrun --bind_numa=FILE, or may not be read"
        return gathered("job-plan", "info", [Hit(place, text)], "nothing to do where it was bound by other means")
    if job.plan_hash != plan.text_sha256:
        return _other_file(job, place, plan.text_sha256)
    if job.plan_path is not None and job.real_path is not None and job.plan_path != job.real_path:
        text = f"job {job.pid} was started with {job.plan_path}, which has the same text"
        hit = Hit(place, text, "set_cpu_affinity(bind_file=…) compares paths as texts and takes only that one")
        return gathered("job-path", "warning", [hit], f"give set_cpu_affinity {job.plan_path}")
    return ()


def _other_file(job: JobFacts, place: Place, sha256: str) -> tuple[CheckFinding, ...]:
    evidence = f"MSRUN_BIND_FILE_HASH {(job.plan_hash or '')[:_SHOWN]}…, this file {sha256[:_SHOWN]}…"
    if job.plan_path is not None and job.plan_path == job.real_path:
        text = f"the file was changed since job {job.pid} was started with it"
        outcome = "set_cpu_affinity(bind_file=…) ends a rank with ValueError: one blank more is enough"
        remedy = "put the old text back, and write the new plan to a new file"
        return gathered("job-hash", "error", [Hit(place, text, evidence)], remedy, (outcome,))
    text = f"job {job.pid} was started with another plan, {job.plan_path or 'unnamed'}"
    return gathered("job-hash", "warning", [Hit(place, text, evidence)], "check that file, or leave --job out")
