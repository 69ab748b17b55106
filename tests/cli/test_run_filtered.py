"""`numascope run` behind a real seccomp filter, as containers and services have one: what it says, how it ends, what --fallback leaves."""

from __future__ import annotations

import errno
import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from processes import OWN_CPUS

NUMBERS = {
    "x86_64": {"sched_setaffinity": 203, "set_mempolicy": 238, "get_mempolicy": 239, "mbind": 237},
    "aarch64": {"sched_setaffinity": 122, "set_mempolicy": 237, "get_mempolicy": 236, "mbind": 235},
}.get(platform.machine(), {})

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not NUMBERS, reason="the numbers of this architecture's system calls are not in the table"),
]

CPU = str(OWN_CPUS[-1])
PLAN = f"numactl -C {CPU} -m 0 x"

FILTERED = """
import ctypes, os, struct, sys
error, numbers, command = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
LOAD, EQUALS, RETURN, ERRNO, ALLOW = 0x20, 0x15, 0x06, 0x00050000, 0x7FFF0000
steps = [(LOAD, 0, 0, 0)]
for number in numbers:
    steps += [(EQUALS, 0, 1, number), (RETURN, 0, 0, ERRNO | error)]
steps.append((RETURN, 0, 0, ALLOW))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
program = Program(len(steps), ctypes.addressof(code))
assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(command[0], command)
"""

LOOK = """
import json, os
print(json.dumps([sorted(os.sched_getaffinity(0)), open("/proc/self/numa_maps").read(60).split()[1]]))
"""

LIKE_DOCKER = ("set_mempolicy", "get_mempolicy", "mbind")
"""What Docker's default profile refuses without CAP_SYS_NICE (moby, profiles/seccomp/default.json)."""

INHERITED = [list(OWN_CPUS), "default"]


def run_behind(
    folder: Path, calls: tuple[str, ...], *options: str, number: int = errno.EPERM, plan: str = PLAN
) -> subprocess.CompletedProcess[str]:
    path = folder / "plan"
    path.write_text(plan)
    filtered = [
        sys.executable,
        "-c",
        "import json\n" + FILTERED,
        str(number),
        json.dumps([NUMBERS[one] for one in calls]),
    ]
    own = [sys.executable, "-m", "numascope", "run", "--plan", str(path), "--device", "0", *options]
    command = [*filtered, *own, "--", sys.executable, "-c", LOOK]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_a_refusal_the_filter_changes_nothing(tmp_path: Path) -> None:
    assert json.loads(run_behind(tmp_path, ()).stdout) == [[int(CPU)], "bind:0"]


@pytest.mark.parametrize(
    ("calls", "number", "words"),
    [
        (("sched_setaffinity",), errno.EPERM, "the CPUs cannot be set: sched_setaffinity is not permitted: the seccomp filter"),
        (LIKE_DOCKER, errno.EPERM, "the memory cannot be bound: set_mempolicy is not permitted: the seccomp filter"),
        (LIKE_DOCKER, errno.ENOSYS, "the memory cannot be bound: set_mempolicy is not there: this kernel is built without"),
    ],
)  # fmt: skip
def test_a_refused_call_starts_nothing_and_is_named_with_the_way_out(
    calls: tuple[str, ...], number: int, words: str, tmp_path: Path
) -> None:
    for options in ((), ("--dry-run",)):
        done = run_behind(tmp_path, calls, *options, number=number)
        assert (done.returncode, done.stdout) == (125, "")
        assert done.stderr.startswith(f"numascope run: {words}")
        assert "; --fallback starts it " in done.stderr


@pytest.mark.parametrize(
    ("calls", "left", "words"),
    [
        (("sched_setaffinity",), [list(OWN_CPUS), "bind:0"], ["by --fallback it is started on the CPUs that it inherits"]),
        (LIKE_DOCKER, [[int(CPU)], "default"], ["by --fallback it is started without a memory policy"]),
        (("sched_setaffinity", *LIKE_DOCKER), INHERITED, ["on the CPUs that it inherits", "without a memory policy"]),
    ],
)  # fmt: skip
def test_a_fallback_sets_what_is_permitted_and_says_what_is_not(
    calls: tuple[str, ...], left: list[object], words: list[str], tmp_path: Path
) -> None:
    done = run_behind(tmp_path, calls, "--fallback")
    assert done.returncode == 0
    assert json.loads(done.stdout) == left
    assert len(done.stderr.splitlines()) == len(words)
    for line, expected in zip(done.stderr.splitlines(), words, strict=True):
        assert line.endswith(expected)


def test_a_plan_that_asks_nothing_of_memory_is_not_stopped_by_a_filter_of_memory(tmp_path: Path) -> None:
    done = run_behind(tmp_path, LIKE_DOCKER, plan=f"taskset -c {CPU} x")
    assert (json.loads(done.stdout), done.stderr) == ([[int(CPU)], "default"], "")
    done = run_behind(tmp_path, ("sched_setaffinity",), plan="numactl -m 0 x")
    assert (json.loads(done.stdout), done.stderr) == ([list(OWN_CPUS), "bind:0"], "")


def test_a_policy_that_can_be_set_but_not_read_is_set(tmp_path: Path) -> None:
    assert json.loads(run_behind(tmp_path, ("get_mempolicy",)).stdout) == [[int(CPU)], "bind:0"]
