"""Tables of names: every row is reachable in what the kernel keeps of a name, and the longest start holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.observe.roles import ROLES, ProcessView, ThreadFacts, framework_of, roles_of
from numascope.observe.roles.names import COMM_BYTES, Name, NameTable
from numascope.observe.roles.tables import FRAMEWORKS, NAMES_OF, TABLES, TITLES

ROWS = [(library, row) for library, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(("library", "row"), ROWS, ids=lambda value: value.start if isinstance(value, Name) else value)
def test_every_row_is_found_by_what_the_kernel_keeps_of_its_name(library: str, row: Name) -> None:
    framework = "mindspore" if library == "mindspore" else "torch"

    found = NAMES_OF[framework].find(row.start[:COMM_BYTES])

    assert found is not None
    assert found.role == row.role
    assert row.role in ROLES
    assert row.source


def test_no_table_has_the_same_start_twice() -> None:
    for rows in TABLES.values():
        assert len({row.seen for row in rows}) == len(rows)


def test_the_longest_start_holds() -> None:
    table = NameTable([Name("NCCL ", "comm", ""), Name("NCCL RAS", "housekeeping", "")])

    assert [found.role for name in ("NCCL Progress 0", "NCCL RAS") if (found := table.find(name))] == [
        "comm",
        "housekeeping",
    ]
    assert table.find("nccl") is None


@given(name=st.text(max_size=15), starts=st.lists(st.text(max_size=20), max_size=6))
def test_a_name_is_found_exactly_where_it_starts_as_a_row_does(name: str, starts: list[str]) -> None:
    rows = [Name(start, "comm", "") for start in starts]
    fitting = [row.seen for row in rows if name.startswith(row.seen)]

    found = NameTable(rows).find(name)

    assert (found.seen if found else None) == (max(fitting, key=len) if fitting else None)


@pytest.mark.parametrize(
    ("comm", "role"),
    [
        ("hccl_watchdog_t", "housekeeping"),
        ("release_thread", "runtime"),
        ("MSVP_Q", "housekeeping"),
        ("MONITOR_3", "housekeeping"),
        ("NCCL Progress 1", "comm"),
        ("tf_XLAEigen", "kernel"),
        ("tf_XLAPjRtCpuCl", "pool"),
        ("ZMQbg/IO/0", "comm"),
        ("QueueFeederThre", "helper"),
        ("pt_nccl_heartbt", "housekeeping"),
        ("torchrun", "unnamed"),
        ("python3.11", "unnamed"),
        ("pt_main_thread", "unnamed"),
        ("mine", "other"),
    ],
)
def test_libraries_have_their_names_in_every_process_but_mindspores(comm: str, role: str) -> None:
    for framework in FRAMEWORKS:
        if framework == "mindspore":
            continue
        view = ProcessView(framework, "rank", 1, "python3", ("/venv/bin/python3", "/venv/bin/torchrun"), None)
        (found,) = roles_of(view, [ThreadFacts(2, comm, 1, 1, None)])
        assert (found.name, framework) == (role, framework)


@pytest.mark.parametrize(
    ("title", "role"),
    [("VLLM::EngineCore", "engine"), ("VLLM::APIServer_0", "frontend"), ("sglang::detokenizer", "frontend")],
)
def test_the_first_thread_of_a_titled_process_is_what_its_title_says(title: str, role: str) -> None:
    comm = title[:COMM_BYTES]
    view = ProcessView("vllm", "other", 1, comm, (title,), None)

    told = roles_of(view, [ThreadFacts(1, comm, 1, 1, None), ThreadFacts(2, comm, 1, 1, None)])

    assert [found.name for found in told] == [role, "unnamed"]
    assert TITLES.find(comm) is not None


def test_a_worker_of_a_serving_engine_is_a_rank_with_a_main_thread() -> None:
    view = ProcessView("vllm", "rank", 1, "VLLM::Worker_TP", ("VLLM::Worker_TP0",), None)

    assert roles_of(view, [ThreadFacts(1, "VLLM::Worker_TP", 1, 1, None)])[0].name == "main"


@pytest.mark.parametrize(
    ("comms", "framework"),
    [
        (["python", "frontend_queue"], "mindspore"),
        (["python", "pt_autograd_0"], "torch"),
        (["python", "tf_XLAEigen"], "jax"),
        (["python", "cuda-EvtHandlr"], None),
        ([], None),
    ],
)
def test_some_names_tell_the_framework(comms: list[str], framework: str | None) -> None:
    assert framework_of(comms) == framework
