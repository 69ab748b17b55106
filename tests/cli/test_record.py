"""A recording of a living process, and what was recorded elsewhere, as users call it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import verbs
from processes import OWN_CPUS, eventually, needs_two_cpus, program

from numascope.errors import InputError
from numascope.observe.recording.reader import open_recording

RECORDINGS = ("eight-ranks", "torchrun")
RECORDING = str(Path(__file__).parents[2] / "snapshots" / "recordings" / "torchrun.nsr")


numascope = partial(verbs.numascope, TZ="UTC")


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_kept_recording_is_judged_as_it_always_was(
    name: str, snapshots: Path, golden: Callable[[str, Path], None]
) -> None:
    path = snapshots / "recordings" / f"{name}.nsr"

    done = numascope("replay", str(path), "--once", "--width", "80")

    assert (done.returncode, done.stderr) == (1, "")
    golden(done.stdout, path.with_suffix(".txt"))


def test_the_eight_ranks_show_the_four_harms_that_were_done_to_them(snapshots: Path) -> None:
    done = numascope("diff", "--replay", str(snapshots / "recordings" / "eight-ranks.nsr"), "--json")
    document = json.loads(done.stdout)
    wrong = {
        (one["verdict"], one["device"], one["role"], one["allowed"])
        for one in document["threads"]
        if one["verdict"] not in ("ok", "unplanned")
    }
    findings = {one["rule"]: one for one in document["findings"]}

    assert wrong == {("escaped", 1, "runtime", "15"), ("narrow", 6, "minddata", "12")}
    assert "OMP_PROC_BIND=true" in findings["narrow"]["evidence"]
    assert findings["shared"]["text"].startswith("others use ")
    assert "python 453 98 % busy" in findings["shared"]["text"]
    assert findings["elsewhere"]["text"].startswith("policy bind:2; planned node 1; 100.0 ±0.4 % of 70.6 MiB off N1")
    remedies = [one["remedy"] for one in document["findings"] if "numascope apply" in one["remedy"]]
    assert all(one.startswith("for the recorded machine, as it was: ") for one in remedies)
    assert len(remedies) == 3


def test_watching_a_recording_ends_with_the_worst_that_it_judged(snapshots: Path) -> None:
    path = str(snapshots / "recordings" / "torchrun.nsr")

    done = numascope("diff", "--replay", path, "--watch")

    assert done.returncode == 1
    assert "every target has ended" not in done.stdout
    assert numascope("diff", "--replay", path, "--watch", "--fail-on", "never").returncode == 0


def test_a_recording_that_was_cut_off_is_judged_as_far_as_it_goes(snapshots: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.nsr"
    path.write_bytes((snapshots / "recordings" / "eight-ranks.nsr").read_bytes()[:50_000])
    says = "the recording has no end: it was cut off, or is still being written, after frame 17"

    once, watched = numascope("diff", "--replay", str(path)), numascope("diff", "--replay", str(path), "--watch")

    assert f"note: {says}" in " ".join(once.stdout.split())
    assert watched.stderr == f"numascope: note: {says}\n"
    assert (once.returncode, watched.returncode) == (1, 1)


@pytest.mark.live
@needs_two_cpus
def test_a_living_job_is_recorded_and_judged_the_same_later(tmp_path: Path) -> None:
    plan, kept = tmp_path / "bind.json", tmp_path / "kept.nsr"
    document = {"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": str(OWN_CPUS[0])}}}
    plan.write_text(json.dumps(document))
    with program(f"os.sched_setaffinity(0, {{{OWN_CPUS[1]}}}); ready(); spin()") as child:
        target = f"{child.pid}=device0"
        done = numascope("record", target, "-o", str(kept), "--plan", str(plan), "--for", "1s", "--interval", "0.3s")
        again = numascope("record", target, "-o", str(kept))

    assert done.returncode == 0
    assert f"look at it: numascope replay {kept}" in done.stdout
    later = numascope("diff", "--replay", str(kept), "--json")
    threads = json.loads(later.stdout)["threads"]
    assert (later.returncode, [one["verdict"] for one in threads]) == (1, ["escaped"])
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists" in again.stderr or "is there" in again.stderr
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_plan_whose_content_shows_no_dialect_is_kept_with_the_one_that_was_given(tmp_path: Path) -> None:
    plan, kept = tmp_path / "bind", tmp_path / "kept.nsr"
    plan.write_text(str(OWN_CPUS[0]))
    with program(f"os.sched_setaffinity(0, {{{OWN_CPUS[1]}}}); ready(); spin()") as child:
        arguments = ["record", f"{child.pid}=device0", "-o", str(kept), "--plan", str(plan), "--for", "1s"]
        without = numascope(*arguments)
        done = numascope(*arguments, "--interval", "0.3s", "--dialect", "vllm")

    assert (without.returncode, done.returncode) == (2, 0)
    assert "this is no bind plan" in without.stderr
    later = json.loads(numascope("diff", "--replay", str(kept), "--json").stdout)
    assert later["plan"]["dialect"] == "vllm"
    assert [one["verdict"] for one in later["threads"]] == ["escaped"]
    assert numascope("replay", str(kept), "--plan", str(plan), "--dialect", "vllm", "--once").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["replay", "/no/such/file", "--once"], 2, "/no/such/file: there is no such file"),
        (["replay", "/proc/self/status", "--once"], 2, "is no recording: give a file that numascope record wrote"),
        (["attach", "--replay", RECORDING, "4242", "--once"], 4, "no process 4242 was recorded: it has 17209, 17212"),
        (["record", "1", "-o", "/no/such/folder/x.nsr"], 2, "/no/such/folder/x.nsr"),
        (["record", "999999999", "-o", "{tmp}/x.nsr"], 4, "no process 999999999 here"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    done = numascope(*(one.format(tmp=tmp_path) for one in arguments))

    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["record", "1", "-o", ""], "-o: its value is empty: give one"),
        (["record", "1", "-o", "x", "--plan", ""], "--plan: its value is empty: give one, or leave --plan out"),
        (["replay", ""], "FILE: its value is empty: give one"),
        (["attach", "1", "--replay", ""], "--replay: its value is empty: give one, or leave --replay out"),
        (["hold", ""], "PLAN: its value is empty: give one"),
        (["topo", "--links-from", ""], "--links-from: its value is empty: give one, or leave --links-from out"),
    ],
)
def test_an_empty_path_is_refused_by_the_name_it_was_given_under(arguments: list[str], says: str) -> None:
    done = numascope(*arguments)

    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"numascope: {says}\n")


def recording(target: int, path: Path, *before: str) -> subprocess.Popen[str]:
    """A numascope that records until it is told to end, with two looks in its file."""
    command = [*before, sys.executable, "-m", "numascope", "record", str(target), "-o", str(path), "--interval", "0.1s"]
    recorder = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert eventually(lambda: path.exists() and looks_in(path) > 1)
    return recorder


def looks_in(path: Path) -> int:
    with contextlib.suppress(InputError), open_recording(str(path)) as kept:
        return kept.count_frames()
    return 0


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_recording_between_two_looks_however_many_come(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "kept.nsr"
    with program("ready(); sleep()") as child, recording(child.pid, path) as recorder:
        while recorder.poll() is None:
            recorder.send_signal(number)
        told, wrong = recorder.communicate()

    with open_recording(str(path)) as kept:
        frames = len(list(kept.frames()))
        assert kept.lost == ""
    assert (recorder.returncode, wrong) == (0, "")
    assert told.startswith(f"wrote {path}: {frames} looks in 00:00:")


@pytest.mark.live
def test_a_terminal_that_hangs_up_ends_no_recording_that_was_started_to_outlive_it(tmp_path: Path) -> None:
    path = tmp_path / "kept.nsr"
    with program("ready(); sleep()") as child, recording(child.pid, path, "nohup") as recorder:
        recorder.send_signal(signal.SIGHUP)
        seen = looks_in(path)
        assert eventually(lambda: looks_in(path) > seen + 2)
        recorder.terminate()
        assert recorder.wait() == 0


@pytest.mark.live
def test_looks_that_were_missed_are_not_made_up_for(tmp_path: Path) -> None:
    path = tmp_path / "kept.nsr"
    with program("ready(); sleep()") as child, recording(child.pid, path) as recorder:
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(2)
        recorder.send_signal(signal.SIGCONT)
        seen = looks_in(path)
        assert eventually(lambda: looks_in(path) > seen + 14)
        recorder.terminate()
        recorder.wait()

    with open_recording(str(path)) as kept:
        moments_s = [frame.sample.monotonic_ns / 1e9 for frame in kept.frames()]
    stopped = next(at for at, (before, after) in enumerate(pairwise(moments_s)) if after - before > 1.5)
    # Ten a second, and one more at either side; made up for, twenty would come at once.
    assert sum(one < moments_s[stopped + 1] + 1 for one in moments_s[stopped + 1 :]) <= 12


@pytest.mark.live
def test_a_disk_that_is_full_from_the_start_leaves_no_file_and_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "kept.nsr"
    with program("ready(); sleep()") as child:
        command = f"ulimit -f 1; exec {sys.executable} -m numascope record {child.pid} -o {path}"
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"numascope: {path}: cannot be written: File too large\n"
    assert not path.exists()
