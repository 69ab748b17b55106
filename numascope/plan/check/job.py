"""A plan against the live job that was started with it: MindSpore compares the file's hash and path."""

from __future__ import annotations

from numascope.plan.check.objects import CheckFinding, Hit, JobFacts, Question, gathered
from numascope.plan.objects import Place, Severity

_SHOWN = 8
_ENDS = "a rank that calls set_cpu_affinity(bind_file=…) now ends with ValueError"


def job_faults(question: Question) -> tuple[CheckFinding, ...]:
    """`job-hash`, `job-path`, `job-plan`: this is not the file, or not the path, that the job was started with."""
    job, plan = question.job, question.owners.plan
    if job is None:
        return ()
    place = Place(plan.path, 1, 1)
    if job.plan_hash is None:
        return _without_plan(job, place, plan.dialect)
    if job.plan_hash != plan.text_sha256:
        return _other_text(job, place, plan.text_sha256)
    return () if job.plan_path is None or job.plan_path == job.real_path else _other_path(job, place)


def _without_plan(job: JobFacts, place: Place, dialect: str) -> tuple[CheckFinding, ...]:
    """Jobs of other launchers name no file, and plans of other forms are none that a job could name."""
    if not job.is_readable:
        text = f"the environment of process {job.pid} may not be read: whether it was started with this plan is unknown"
        return gathered("job-plan", "info", [Hit(place, text)], "run as its owner or as root")
    if job.framework == "process":
        text = f"process {job.pid} is of no training job that numascope knows: no plan is compared with its own"
        severity: Severity = "warning" if dialect == "mindspore" else "info"
        return gathered("job-plan", severity, [Hit(place, text)], "give a PID of the job: numascope jobs lists them")
    if dialect not in ("mindspore", "numascope"):
        return ()
    text = f"job {job.pid} names no plan: it was not started with msrun --bind_numa=FILE"
    return gathered("job-plan", "info", [Hit(place, text)], "nothing to do where it was bound by other means")


def _other_text(job: JobFacts, place: Place, sha256: str) -> tuple[CheckFinding, ...]:
    evidence = f"MSRUN_BIND_FILE_HASH {(job.plan_hash or '')[:_SHOWN]}…, this file {sha256[:_SHOWN]}…"
    is_same_path = job.plan_path is not None and job.plan_path == job.real_path
    if is_same_path and job.file_hash != job.plan_hash:
        text = f"the file was changed since job {job.pid} was started with it"
        remedy = "put the old text back, and write the new plan to a new file"
        return gathered(
            "job-hash", "error", [Hit(place, text, evidence)], remedy, (f"{_ENDS}: one blank more is enough",)
        )
    if is_same_path:
        text = f"job {job.pid} has another file of this path, in a file system of its own"
        return gathered(
            "job-hash", "warning", [Hit(place, text, evidence)], f"check that one: /proc/{job.pid}/root{job.plan_path}"
        )
    text = f"job {job.pid} was started with another plan, {job.plan_path or 'unnamed'}"
    return gathered(
        "job-hash", "warning", [Hit(place, text, evidence)], "check that file, or leave --job out", _lost(job)
    )


def _lost(job: JobFacts) -> tuple[str, ...]:
    """What has become of the job's own file, where that is bad."""
    if job.is_gone:
        return (f"that file is not there any more: {_ENDS}",)
    if job.file_hash is not None and job.file_hash != job.plan_hash:
        return (f"that file was changed since: {_ENDS}",)
    return ()


def _other_path(job: JobFacts, place: Place) -> tuple[CheckFinding, ...]:
    text = f"job {job.pid} was started with {job.plan_path}, which has the same text"
    lost = _lost(job)
    if lost:
        text = f"job {job.pid} was started with this text as {job.plan_path}"
        remedy = f"copy this file to {job.plan_path}, byte by byte"
        return gathered("job-hash", "error", [Hit(place, text)], remedy, lost)
    hit = Hit(place, text, "set_cpu_affinity(bind_file=…) compares paths as texts and takes only that one")
    return gathered("job-path", "warning", [hit], f"give set_cpu_affinity {job.plan_path}")
