"""A plan against the live job that was started with it: the hash and the path that MindSpore compares."""

from __future__ import annotations

import pytest
from plan_questions import document, question, rules
from shapes import Shape, machine

from numascope.plan.check.job import job_faults
from numascope.plan.check.objects import CheckFinding, JobFacts

SERVER = machine(Shape(2, 2, 2, 4), devices=(0, 2))
DATA = document({"device0": {"main": "0-3"}})
ENDS = "a rank that calls set_cpu_affinity(bind_file=…) now ends with ValueError"


def against(data: bytes, **changed: object) -> tuple[CheckFinding, ...]:
    """What is found of these bytes, at the path that the job was started with unless it is `changed`."""
    sha256 = question(DATA, SERVER).owners.plan.text_sha256
    job = JobFacts(7, "mindspore", "/data/bind.json", sha256, "/data/bind.json", None, None, file_hash=sha256)
    return job_faults(question(data, SERVER, job=job._replace(**changed)))  # type: ignore[arg-type]  # each test names fields of JobFacts


def test_the_very_file_of_a_job_has_no_finding_nor_has_the_same_text_with_other_line_ends() -> None:
    assert against(DATA) == ()
    assert against(DATA.replace(b"\n", b"\r\n")) == ()


def test_one_blank_more_than_the_job_was_started_with_is_an_error() -> None:
    (found,) = against(DATA + b" ", file_hash="1" * 64)
    assert (found.rule, found.severity) == ("job-hash", "error")
    assert found.text == "the file was changed since job 7 was started with it"
    assert found.evidence[-1] == f"{ENDS}: one blank more is enough"


def test_a_file_of_the_same_path_in_another_file_system_is_not_the_job_s() -> None:
    (found,) = against(DATA + b" ")
    assert (found.severity, found.text) == (
        "warning",
        "job 7 has another file of this path, in a file system of its own",
    )
    assert found.remedy == "check that one: /proc/7/root/data/bind.json"


def test_the_same_text_under_another_path_is_refused_by_the_job() -> None:
    (found,) = against(DATA, real_path="/tmp/link.json")
    assert (found.rule, found.severity, found.remedy) == (
        "job-path",
        "warning",
        "give set_cpu_affinity /data/bind.json",
    )


@pytest.mark.parametrize(
    ("changed", "evidence"),
    [
        ({"is_gone": True, "file_hash": None}, f"that file is not there any more: {ENDS}"),
        ({"file_hash": "1" * 64}, f"that file was changed since: {ENDS}"),
    ],
)
def test_a_copy_of_what_the_job_s_own_file_was_is_to_be_put_back(changed: dict[str, object], evidence: str) -> None:
    (found,) = against(DATA, real_path="/tmp/copy.json", **changed)
    assert (found.rule, found.severity) == ("job-hash", "error")
    assert found.evidence == (evidence,)
    assert found.remedy == "copy this file to /data/bind.json, byte by byte"


def test_another_plan_than_the_job_s_own_is_a_warning_and_none_a_note() -> None:
    assert rules(against(DATA + b" ", real_path="/data/other.json")) == [("job-hash", "warning")]
    assert rules(against(DATA, plan_hash=None)) == [("job-plan", "info")]


def test_a_process_of_no_job_is_likely_a_wrong_pid_and_an_unreadable_one_is_unknown() -> None:
    (wrong,) = against(DATA, plan_hash=None, framework="process")
    assert (wrong.severity, wrong.remedy) == ("warning", "give a PID of the job: numascope jobs lists them")
    (hidden,) = against(DATA, plan_hash=None, framework="process", is_readable=False)
    assert (hidden.severity, hidden.remedy) == ("info", "run as its owner or as root")
