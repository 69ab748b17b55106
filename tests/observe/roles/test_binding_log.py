"""A worker's log tells where its modules are bound, in the words that MindSpore 2.10.0 wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.observe.roles.binding_log import parse_binding_log, read_binding_log

LINE = b"[WARNING] ME [mindspore/runtime/thread_bind_core.py:1106] Module bind core policy generated: {'runtime': [0, 1], 'minddata': [4, 5, 6], 'main': [1]}.\n"
OTHER = LINE.replace(b"[0, 1]", b"[2]").replace(b"generated", b"from msrun")


def test_the_policy_of_a_log_is_read() -> None:
    assert parse_binding_log(b"before\n" + LINE + b"after\n" + LINE) == (
        {"runtime": CpuSet.parse("0-1"), "minddata": CpuSet.parse("4-6"), "main": CpuSet.parse("1")},
    )


def test_different_policies_are_told_apart() -> None:
    assert [str(one["runtime"]) for one in parse_binding_log(LINE + OTHER)] == ["0-1", "2"]


@pytest.mark.parametrize(
    "text",
    [b"", b"Module bind core policy generated: nothing", b"Module bind core policy generated: {'main': [99999]}."],
)
def test_a_log_without_a_policy_has_none(text: bytes) -> None:
    assert parse_binding_log(text) == ()


@given(raw=st.binary(max_size=200))
def test_any_bytes_after_the_words_are_read_or_left(raw: bytes) -> None:
    for policy in parse_binding_log(b"Module bind core policy generated: {" + raw + b"}"):
        assert all(isinstance(cpus, CpuSet) for cpus in policy.values())


def test_only_the_log_of_one_worker_is_evidence(tmp_path: Path) -> None:
    path = tmp_path / "worker_0.log"
    path.write_bytes(LINE)
    assert str(read_binding_log(str(path))["minddata"]) == "4-6"
    path.write_bytes(LINE + OTHER)
    with pytest.raises(InputError, match="2 different bindings: give the log of one worker"):
        read_binding_log(str(path))
    path.write_bytes(b"step 1\n")
    with pytest.raises(InputError, match="names no binding"):
        read_binding_log(str(path))
