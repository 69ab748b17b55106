"""`threads` tells each thread's role and what it was told by, on real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import OWN_CPUS, PRELUDE, program
from verbs import numascope

pytestmark = pytest.mark.live

RANKS = """
for rank in range(2):
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", WORKER], {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)})
name("pt_elastic"); time.sleep(1.0); ready(); sleep()
"""
WORKER = """
named("pt_autograd_0", sleep); named("mine", sleep); thread(sleep); sleep()
"""


def told(document: str) -> dict[str, tuple[str, str]]:
    """Name → role and confidence, of all threads."""
    processes = json.loads(document)["processes"]
    return {one["comm"]: (one["role"], one["confidence"]) for each in processes for one in each["threads"]}


def job(body: str) -> str:
    return f"WORKER = {PRELUDE + WORKER!r}\n" + body


def test_a_job_is_told_thread_by_thread() -> None:
    with program(job(RANKS)) as child:
        done = numascope("threads", str(child.pid))
        document = json.loads(numascope("threads", str(child.pid), "--json").stdout)

    assert done.returncode == 0, done.stderr
    assert f"{child.pid} pt_elastic · launcher · torch" in done.stdout
    assert 'pt_autograd_0    autograd      named     comm "pt_autograd_0"' in done.stdout
    assert document["schema"] == "numascope.threads/1"
    assert [one["rank"] for one in document["processes"]] == [None, 0, 1]
    assert [one["kind"] for one in document["processes"]] == ["launcher", "rank", "rank"]
    assert [len(one["threads"]) for one in document["processes"]] == [1, 4, 4]
    assert {one["allowed"] for each in document["processes"] for one in each["threads"]} != {None}
    assert document["processes"][1]["device_source"] == "LOCAL_RANK"


def test_ones_own_names_are_taken_from_a_file_or_from_the_users_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "numascope"
    folder.mkdir()
    file = folder / "roles.toml"
    file.write_text('[names]\n"mine" = "log"\n')
    with program('named("mine", sleep); time.sleep(0.3); ready(); sleep()') as child:
        plain = numascope("threads", str(child.pid), "--json", XDG_CONFIG_HOME=str(tmp_path / "none"))
        given = numascope("threads", str(child.pid), "--json", "--roles", str(file))
        configured = numascope("threads", str(child.pid), "--json", XDG_CONFIG_HOME=str(tmp_path))

    assert told(plain.stdout)["mine"] == ("other", "unknown")
    assert told(given.stdout)["mine"] == told(configured.stdout)["mine"] == ("log", "named")


BOUND = f"""
def bound(): os.sched_setaffinity(0, {{{OWN_CPUS[-1]}}}); sleep()
named("ActorThread_0", sleep); thread(bound); thread(sleep); time.sleep(0.3); ready(); sleep()
"""


@pytest.mark.skipif(len(OWN_CPUS) < 2, reason="needs two CPUs: a thread on one of them is told by that")
def test_a_workers_log_is_evidence(tmp_path: Path) -> None:
    log = tmp_path / "worker_0.log"
    log.write_text(f"x Module bind core policy generated: {{'runtime': [0], 'minddata': [{OWN_CPUS[-1]}]}}.\n")
    with program(BOUND) as child:
        with_log = numascope("threads", str(child.pid), "--log", str(log))
        without = numascope("threads", str(child.pid))

    assert with_log.stdout.count("minddata      inferred") == 1
    assert f"on the CPUs of minddata, {OWN_CPUS[-1]} by the worker's log" in with_log.stdout
    assert "minddata" not in without.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["999999999"], 4, "no process 999999999 here"),
        (["0"], 2, '"0" is no target'),
        ([], 2, "say which process: PID, NAME or --match REGEX, one of them"),
        (["{pid}", "--match", "x"], 2, "one of them"),
        (["no-such-program"], 4, 'no process is called "no-such-program"'),
        (["{pid}", "--roles", "/no/such/file"], 2, "there is no such file: give the path of a table of roles"),
        (["{pid}", "--log", "/dev/null"], 2, "is no regular file"),
        (["{pid}", "--roles", ""], 2, "--roles: its value is empty"),
    ],
)
def test_what_is_wrong_is_one_line_and_an_exit_code(arguments: list[str], code: int, says: str) -> None:
    with program("ready(); sleep()") as child:
        done = numascope("threads", *(one.replace("{pid}", str(child.pid)) for one in arguments))

    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
