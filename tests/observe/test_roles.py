"""Roles are told by names where there are names, by evidence where there is some, and else not at all."""

from __future__ import annotations

import pytest

from numascope.cpuset import CpuSet
from numascope.observe.roles import ProcessView, ThreadFacts, roles_of

ALL = CpuSet.parse("0-1")


def view(
    framework: str, kind: str, comm: str = "python", cmdline: tuple[str, ...] = ("python", "train.py")
) -> ProcessView:
    return ProcessView(framework, kind, 100, comm, cmdline, ALL)  # type: ignore[arg-type]  # a literal, by the callers


def thread(tid: int, comm: str, start: int = 0, run_ns: int = 1) -> ThreadFacts:
    return ThreadFacts(tid, comm, start, run_ns, ALL)


@pytest.mark.parametrize(
    ("framework", "comm", "role", "confidence"),
    [
        ("mindspore", "ActorThread_0", "runtime", "named"),
        ("mindspore", "launch_queue", "runtime", "named"),
        ("mindspore", "bprop_queue", "pynative", "named"),
        ("mindspore", "KernelThread_24", "kernel", "named"),
        ("mindspore", "SEND_EVENT_LOOP", "comm", "named"),
        ("mindspore", "stress_detect_q", "stress", "named"),
        ("mindspore", "python", "unnamed", "unknown"),
        ("torch", "pt_autograd_3", "autograd", "named"),
        ("torch", "pt_nccl_watchdg", "housekeeping", "named"),
        ("torch", "gloo_tcp_loop", "comm", "named"),
        ("torch", "cuda00006000019", "housekeeping", "named"),
        ("torch", "python", "unnamed", "unknown"),
        ("torch", "myhelper", "other", "unknown"),
        ("process", "ActorThread_0", "other", "unknown"),
    ],
)
def test_a_name_in_the_table_names_the_role(framework: str, comm: str, role: str, confidence: str) -> None:
    (found,) = roles_of(view(framework, "rank"), [thread(101, comm)])

    assert (found.name, found.confidence) == (role, confidence)


def test_the_first_thread_is_main_whatever_its_name() -> None:
    assert roles_of(view("torch", "rank", "pt_main_thread"), [thread(100, "pt_main_thread")])[0].name == "main"


def test_a_burst_of_unnamed_threads_is_a_pipeline() -> None:
    early = [thread(101, "python", 10)]
    burst = [thread(110 + at, "python", 500 + at, run_ns=5_000_000) for at in range(5)]

    roles = roles_of(view("mindspore", "rank"), [*early, *burst])

    assert [role.name for role in roles] == ["unnamed"] + ["minddata"] * 5
    assert {role.confidence for role in roles[1:]} == {"inferred"}


def test_a_burst_that_sleeps_with_the_set_it_inherited_is_a_librarys_pool() -> None:
    pool = [thread(110 + at, "python", 500 + at, run_ns=40_000) for at in range(3)]
    bound = ThreadFacts(120, "python", 504, 40_000, CpuSet.parse("1"))

    roles = roles_of(view("mindspore", "rank"), [*pool, bound])

    assert [role.name for role in roles] == ["unnamed", "unnamed", "unnamed", "minddata"]


def test_a_burst_that_never_ran_is_no_pipeline() -> None:
    burst = [thread(110 + at, "python", 500 + at, run_ns=0) for at in range(8)]

    assert {role.name for role in roles_of(view("mindspore", "rank"), burst)} == {"unnamed"}


def test_threads_that_trickle_in_are_no_pipeline() -> None:
    slow = [thread(110 + at, "python", 100 * at) for at in range(8)]

    assert {role.name for role in roles_of(view("mindspore", "rank"), slow)} == {"unnamed"}


def test_all_threads_of_a_loader_are_the_loaders() -> None:
    threads = [thread(100, "pt_data_worker"), thread(101, "pt_data_worker")]

    assert [role.name for role in roles_of(view("torch", "helper", "pt_data_worker"), threads)] == ["loader", "loader"]


def test_a_compile_pool_is_told_by_its_command_line() -> None:
    cmdline = ("python", "/site/torch/_inductor/compile_worker/__main__.py", "--workers=2")

    assert roles_of(view("torch", "helper", "python", cmdline), [thread(100, "python")])[0].name == "compile"
