from __future__ import annotations

import errno
import os

import pytest

from numascope.cpuset import EMPTY, CpuSet
from numascope.steer.own_process import Policy, policy_of, probe, refusal


class Filtered:
    """A kernel behind a filter that answers some calls with an error, as a container's seccomp does."""

    def __init__(self, affinity: int = 0, policy: int = 0) -> None:
        self.errors = {"affinity": affinity, "policy": policy}
        self.done: list[object] = []

    def _answer(self, call: str) -> None:
        if self.errors[call]:
            raise OSError(self.errors[call], os.strerror(self.errors[call]))

    def set_affinity(self, cpus: CpuSet) -> None:
        """Sets the mask."""
        self._answer("affinity")
        self.done.append(cpus)

    def affinity(self) -> CpuSet:
        """The mask."""
        return CpuSet.span(0, 3)

    def set_policy(self, policy: Policy) -> None:
        """Sets the policy."""
        self._answer("policy")
        self.done.append(policy)

    def policy(self) -> Policy:
        """The policy."""
        return Policy(0, EMPTY)


def test_the_probe_sets_only_what_is_already_so() -> None:
    kernel = Filtered()
    assert probe(kernel, needs_memory=True) == []
    assert kernel.done == [CpuSet.span(0, 3), Policy(0, EMPTY)]


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
        (errno.EINVAL, "older than the policy"),
        (errno.EIO, "input/output"),
    ],
)
def test_each_refusal_says_what_would_open_it(number: int, words: str) -> None:
    assert words in refusal(OSError(number, os.strerror(number)))


def test_local_names_no_nodes() -> None:
    assert policy_of("local", CpuSet.of((1,))) == Policy(4, EMPTY)
    assert policy_of("bind", CpuSet.of((1,))) == Policy(2, CpuSet.of((1,)))
