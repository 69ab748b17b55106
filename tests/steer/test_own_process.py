from __future__ import annotations

import errno
import os

import pytest

from numascope.cpuset import EMPTY, CpuSet
from numascope.steer.own_process import Policy, RunningKernel, policy_of, probe, refusal


class Filtered:
    """A kernel behind a filter that answers some calls with an error, as a container's seccomp does."""

    def __init__(self, affinity: int = 0, policy: int = 0) -> None:
        self.errors = {"affinity": affinity, "policy": policy}
        self.done: list[object] = []

    def _answer(self, call: str, *, is_invalid: bool) -> None:
        number = self.errors[call] or (errno.EINVAL if is_invalid else 0)
        if number:
            raise OSError(number, os.strerror(number))

    def set_affinity(self, cpus: CpuSet) -> None:
        """Sets the mask."""
        self._answer("affinity", is_invalid=not cpus)
        self.done.append(cpus)

    def affinity(self) -> CpuSet:
        """The mask."""
        return CpuSet.span(0, 3)

    def set_policy(self, policy: Policy) -> None:
        """Sets the policy."""
        self._answer("policy", is_invalid=policy.mode > 6)
        self.done.append(policy)

    def policy(self) -> Policy:
        """The policy."""
        return Policy(0, EMPTY)


def test_the_probe_asks_for_what_no_kernel_can_do_so_that_nothing_changes() -> None:
    kernel = Filtered()
    assert probe(kernel, needs_memory=True) == []
    assert kernel.done == []
    running = RunningKernel()
    before = running.affinity(), running.policy()
    assert probe(running, needs_memory=True) == []
    assert (running.affinity(), running.policy()) == before


def test_the_probe_asks_of_memory_only_where_memory_is_planned() -> None:
    assert probe(Filtered(policy=errno.EPERM), needs_memory=False) == []
    refused = probe(Filtered(policy=errno.EPERM), needs_memory=True)
    assert [one.call for one in refused] == ["set_mempolicy"]
    assert "--cap-add SYS_NICE" in refused[0].problem
    assert [one.call for one in probe(Filtered(errno.EPERM, errno.ENOSYS), needs_memory=True)] == [
        "sched_setaffinity",
        "set_mempolicy",
    ]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EPERM, "seccomp"),
        (errno.ENOSYS, "without NUMA"),
        (errno.EINVAL, "refused as invalid: none of it may be used here"),
        (errno.EIO, "input/output"),
    ],
)
def test_each_refusal_says_what_would_open_it(number: int, words: str) -> None:
    assert words in refusal(OSError(number, os.strerror(number)))


def test_a_policy_that_older_kernels_lack_is_told_with_the_linux_that_has_it() -> None:
    invalid = OSError(errno.EINVAL, "")
    assert f"this kernel, {os.uname().release}, is older than the policy (Linux 6.9)" in refusal(
        invalid, "weighted-interleave"
    )
    assert "older" not in refusal(invalid, "bind")


def test_local_names_no_nodes() -> None:
    assert policy_of("local", CpuSet.of((1,))) == Policy(4, EMPTY)
    assert policy_of("bind", CpuSet.of((1,))) == Policy(2, CpuSet.of((1,)))
