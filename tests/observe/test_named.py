"""Who is meant by a name or a pattern: jobs as a whole, and of processes the topmost; a restarted job is told by what it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from numascope.observe.again import identities, started_again
from numascope.observe.jobs import find_jobs
from numascope.observe.named import called, candidates, matching
from numascope.observe.sample import ProcessFacts
from numascope.observe.select import Wanted, select_jobs

Facts = dict[int, ProcessFacts]


def process(
    pid: int, ppid: int, comm: str, *cmdline: str, start: int = 0, environ: Mapping[str, str] | None = None
) -> ProcessFacts:
    return ProcessFacts(pid, ppid, start, 1, comm, cmdline, environ or {}, uid=1000)


def torchrun(pid: int, script: str, *, start: int = 0, ranks: int = 2, port: str = "1") -> Facts:
    """A launcher and its ranks, which have a child each with a copy of their arguments."""
    found = {
        pid: process(pid, 1, "pt_elastic", "/bin/python", "/bin/torchrun", "--master-port", port, script, start=start)
    }
    for rank in range(ranks):
        one, child = pid + 10 * rank + 1, pid + 10 * rank + 2
        environ = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        found[one] = process(one, pid, "python", "/bin/python", "-u", script, start=start, environ=environ)
        found[child] = process(child, one, "pt_data_worker", "/bin/python", "-u", script, start=start, environ=environ)
    return found


def meant(facts: Facts, name: str) -> list[int]:
    jobs = find_jobs(facts)
    return [one.pid for one in candidates(facts, jobs, called(facts, jobs, name))]


def test_a_script_that_many_ranks_run_is_one_job_by_its_launcher() -> None:
    facts = torchrun(100, "train.py")

    assert meant(facts, "train.py") == [100]
    assert meant(facts, "pt_data_worker") == [100]
    assert meant(facts, "torchrun") == [100]
    assert meant(facts, "pt_elastic") == [100]
    assert meant(facts, "train") == []


def test_two_jobs_of_one_launcher_are_two() -> None:
    facts = {**torchrun(100, "train.py"), **torchrun(200, "eval.py")}

    assert meant(facts, "torchrun") == [100, 200]
    assert meant(facts, "eval.py") == [200]


def test_of_processes_that_no_launcher_started_the_topmost_is_meant() -> None:
    facts = {
        10: process(10, 1, "python", "python", "serve.py"),
        11: process(11, 10, "python", "python", "serve.py"),
        20: process(20, 1, "python", "python", "-m", "serve.py"),
        30: process(30, 1, "a-name-of-more-t", "/opt/other"),
    }

    assert meant(facts, "serve.py") == [10, 20]
    assert [one.words for one in candidates(facts, (), {10})] == ["python serve.py"]


def test_a_name_that_the_kernel_has_cut_is_found_by_the_whole_name() -> None:
    facts = {10: process(10, 1, "a-rather-long-n")}

    assert meant(facts, "a-rather-long-name") == [10]


def test_what_a_job_was_started_by_means_the_job() -> None:
    """`timeout 1h torchrun train.py` matches as its child does, and so does the shell above."""
    facts = torchrun(100, "train.py")
    facts[100] = replace(facts[100], ppid=50)
    facts[50] = process(50, 40, "timeout", "timeout", "1h", "torchrun", "train.py")
    facts[40] = process(40, 1, "sh", "sh", "-c", "timeout 1h torchrun train.py")

    found = candidates(facts, find_jobs(facts), matching(facts, re.compile(r"torchrun.*train\.py")))

    assert [one.pid for one in found] == [100]
    assert found[0].words == "torchrun train.py, 2 ranks"
    assert found[0].wanted == (Wanted(100),)


def test_a_pattern_sees_the_first_4_kib_of_a_command_line() -> None:
    facts = {10: process(10, 1, "x", "x", "a" * 4000, "here", "b" * 200, "beyond")}

    assert matching(facts, re.compile("here")) == {10}
    assert matching(facts, re.compile("beyond")) == set()


def again(before: Facts, wanted: Wanted, after: Facts, *, since: int, is_patient: bool = True) -> tuple[Wanted, ...]:
    who = identities([wanted], select_jobs(before, [wanted]), before)
    new = {pid for pid, one in after.items() if one.starttime_ticks >= since}
    return started_again(who, after, new, is_patient=is_patient)


def test_a_launcher_with_the_same_arguments_is_the_same_job_once_its_ranks_are_there() -> None:
    before = torchrun(100, "train.py")

    assert again(before, Wanted(100), torchrun(300, "train.py", start=50), since=50) == (Wanted(300),)
    assert again(before, Wanted(100), torchrun(300, "train.py", start=50, ranks=1), since=50) == ()
    assert again(before, Wanted(100), torchrun(300, "train.py", start=50, ranks=0), since=50, is_patient=False) == (
        Wanted(300),
    )


def test_other_arguments_another_user_or_a_job_that_ran_before_are_not_the_same() -> None:
    before = torchrun(100, "train.py")
    strange = {pid: replace(one, uid=7) for pid, one in torchrun(300, "train.py", start=50).items()}

    assert again(before, Wanted(100), torchrun(300, "eval.py", start=50), since=50) == ()
    assert again(before, Wanted(100), strange, since=50) == ()
    assert again(before, Wanted(100), torchrun(300, "train.py", start=49), since=50) == ()


def test_a_rank_is_the_same_by_its_number_and_keeps_the_device_that_was_given_by_hand() -> None:
    before, after = torchrun(100, "train.py"), torchrun(300, "train.py", start=50)

    assert again(before, Wanted(111), after, since=50) == (Wanted(311),)
    plain = {10: process(10, 1, "python", "python", "serve.py")}
    anew = {
        20: process(20, 1, "python", "python", "serve.py", start=60),
        21: process(21, 20, "python", "python", "serve.py", start=61),
    }
    assert again(plain, Wanted(10, 3), anew, since=50) == (Wanted(20, 3),)


def msrun(pid: int, plan: str, *more: str, start: int = 0) -> Facts:
    worker = {"MS_ROLE": "MS_WORKER", "RANK_ID": "0", "DEVICE_ID": "0", "MSRUN_BIND_FILE": plan}
    return {
        pid: process(pid, 1, "msrun", "/bin/python", "/bin/msrun", *more, "train.py", start=start),
        pid + 1: process(pid + 1, pid, "python", "python", "train.py", start=start, environ=worker),
    }


def test_a_launcher_with_the_same_plan_is_the_same_job_whatever_else_it_was_given() -> None:
    before = msrun(100, "/etc/bind.json")

    assert again(before, Wanted(100), msrun(300, "/etc/bind.json", "--resume", start=50), since=50) == (Wanted(300),)
    assert again(before, Wanted(100), msrun(300, "/etc/other.json", "--resume", start=50), since=50) == ()
