"""Processes of other pid namespaces and of other users, and what `hidepid` of proc(5) hides."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from namespaces import (
    AS_NOBODY,
    NOBODY,
    PACKAGE,
    in_own_pids,
    needs_namespaces,
    needs_setpriv,
    python_for,
    target_of,
)
from processes import eventually, program
from sampling import sampling

from numascope.errors import InputError
from numascope.host import procfs
from numascope.host.root import HostRoot
from numascope.observe.facts import read_facts

pytestmark = pytest.mark.live

ROOT = HostRoot()


@needs_namespaces
def test_a_process_of_another_pid_namespace_has_both_its_numbers() -> None:
    code = (
        'import subprocess; one = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "sleep", "1000"])\n'
        "time.sleep(0.3); ready(); sleep()"
    )
    with program(code) as child, sampling(child.pid) as sampler:
        assert eventually(lambda: len(sampler.sample().processes) == 3)
        by_name = {one.comm: one for one in sampler.sample().processes.values()}

        assert by_name["sleep"].inner_pid == 1
        assert by_name["unshare"].inner_pid is None
        assert by_name["sleep"].ppid == by_name["unshare"].pid


@needs_namespaces
def test_within_a_pid_namespace_a_process_is_seen_by_its_number_there() -> None:
    code = """
with program('named("worker", spin, 0.2); time.sleep(0.2); ready(); sleep()') as child:
    sampler = Sampler(HostRoot(), [child.pid])
    sampler.sample(); time.sleep(0.3); sample = sampler.sample()
    facts = sample.processes[child.pid]
    print(child.pid < 20, sample.threads.comms[1], sample.threads.run_ns[1] > 0, facts.inner_pid, sample.denied, facts.cgroup is not None)
    fork = subprocess.Popen(["sleep", "100"])
    print(len(sampler.sample().processes))
"""
    assert in_own_pids(code).splitlines() == ["True worker True None () True", "1"]


@needs_namespaces
def test_a_proc_of_another_pid_namespace_is_refused_in_one_line() -> None:
    """System calls would tell of other threads than /proc does."""
    code = "from numascope.host.root import HostRoot; from numascope.observe.sampler import Sampler; Sampler(HostRoot(), [1])"
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stderr.splitlines()[-1].startswith(
        f"{InputError.__module__}.InputError: /proc: is of another pid namespace"
    )
    procfs.check_numbers(ROOT)


LOOK = """
import json, sys
sys.path.insert(0, sys.argv[2])
from numascope.host.root import HostRoot
from numascope.observe.sampler import Sampler
pid = int(sys.argv[1])
sampler = Sampler(HostRoot(), [pid])
for _ in range(3): sample = sampler.sample()
facts = sample.processes[pid]
print(json.dumps({
    "comms": sample.threads.comms, "masks": [str(one) for one in sample.threads.allowed], "ran": [one > 0 for one in sample.threads.run_ns],
    "environ": facts.environ is None, "policy": facts.policy, "policy_denied": facts.policy_denied, "uid": facts.uid,
    "cmdline": len(facts.cmdline), "stack": facts.start_stack, "denied": sample.denied, "ended": sample.ended,
    "unseen": sample.unseen_ns[pid] is not None, "migrations": sample.threads.migrations[0] is not None,
}))
"""


def looked_at(user: tuple[str, ...], pid: int) -> dict[str, object]:
    done = subprocess.run(
        [*user, python_for(user), "-c", LOOK, str(pid), PACKAGE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@needs_setpriv
def test_of_another_users_process_rows_are_whole_and_what_is_private_is_unknown() -> None:
    with target_of((), 'named("worker", spin, 0.2); time.sleep(0.2); ready(); sleep()') as child:
        seen = looked_at(AS_NOBODY, child.pid)

    assert seen["comms"] == ["python", "worker"]
    assert seen["ran"] == [True, True]
    assert "None" not in str(seen["masks"])
    assert (seen["environ"], seen["policy"], seen["policy_denied"]) == (True, None, True)
    assert (seen["uid"], seen["cmdline"], seen["stack"]) == (0, 3, 0)
    assert seen["ended"] is False
    assert seen["denied"] == [f"environment and memory policy of {child.pid} may not be read: run as uid 0 or as root"]


@needs_setpriv
def test_who_may_not_read_his_own_process_is_not_told_to_run_as_himself() -> None:
    with target_of(AS_NOBODY, "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); ready(); sleep()") as child:  # PR_SET_DUMPABLE
        seen = looked_at(AS_NOBODY, child.pid)

    what = f"environment and memory policy of {child.pid} may not be read"
    assert seen["denied"] == [f"{what}: ours, but not dumpable, or with more rights than we; run as root"]


@needs_setpriv
def test_root_sees_all_of_another_users_process() -> None:
    with target_of(AS_NOBODY, 'named("worker", spin, 0.2); time.sleep(0.2); ready(); sleep()') as child:
        seen = looked_at((), child.pid)

    assert seen["comms"] == ["python", "worker"]
    assert (seen["environ"], seen["policy"], seen["policy_denied"], seen["uid"]) == (False, "default", False, NOBODY)
    assert seen["denied"] == []


HIDES = """
import json
done = subprocess.run(["mount", "-o", "remount,hidepid=HOW", "/proc"], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
root_one = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
time.sleep(0.1)
become_nobody = lambda: (os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534))
"""


@needs_namespaces
@pytest.mark.parametrize("how", ["1", "2"])
def test_what_hidepid_hides_is_said_to_be_hidden_and_what_is_gone_to_have_ended(how: str) -> None:
    code = (
        HIDES.replace("HOW", how)
        + """
from numascope.host import procfs
become_nobody()
root = HostRoot()
print(procfs.is_hidden(root, root_one.pid), procfs.is_hidden(root, 30000), procfs.is_hidden(root, os.getpid()))
sampler = Sampler(root, [root_one.pid])
sample = sampler.sample()
print(sample.ended, len(sample.threads.keys), [f"{root_one.pid}: " in note for note in sample.denied], sample.denied)
sampler = Sampler(root, [30000])
print(sampler.sample().ended, sampler.sample().denied)
"""
    )
    said = in_own_pids(code).splitlines()

    assert said[0] == "True False False"
    assert said[1].startswith("False 0 [True]")
    assert ("hidepid" if how == "2" else "Operation not permitted") in said[1]
    assert said[2] == "True ()"


@needs_namespaces
@pytest.mark.parametrize("how", ["1", "2"])
def test_a_watched_process_that_becomes_another_user_is_hidden_and_not_ended_until_it_ends(how: str) -> None:
    code = (
        HIDES.replace("HOW", how)
        + """
import shutil, tempfile
folder = tempfile.mkdtemp()
os.chmod(folder, 0o755)
sets_user = os.path.join(folder, "sleeps")
shutil.copy(os.path.realpath("/bin/sleep"), sets_user)
os.chmod(sets_user, 0o4755)
become_nobody()
child = subprocess.Popen(["sh", "-c", 'read line; exec "$0" 1.5', sets_user], stdin=subprocess.PIPE, text=True)
sampler = Sampler(HostRoot(), [child.pid])
first = sampler.sample()
print(len(first.threads.keys), first.denied, first.ended)
child.stdin.write("go\\n"); child.stdin.flush()
time.sleep(0.5)
looks = [sampler.sample() for _ in range(12)]
print({one.ended for one in looks}, {len(one.denied) for one in looks})
print(looks[-1].denied)
child.wait()
last = sampler.sample()
print(last.ended, last.denied)
sampler.close()
"""
    )
    said = in_own_pids(code).splitlines()

    assert said[0] == "1 () False"
    if "hidden" not in said[2] and "permitted" not in said[2]:
        pytest.skip(f"set-user-id programs do not change the user here (nosuid): {said[2]}")
    assert said[1] == "{False} {1}"
    assert said[3] == "True ()"


def test_facts_of_nobody_are_none() -> None:
    assert read_facts(ROOT, 1 << 22) is None
