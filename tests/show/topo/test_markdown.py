from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from captures import expected
from hypothesis import given
from hypothesis import strategies as st
from large_machines import epyc, kunpeng
from shapes import Shape, machine

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine
from numascope.show.topo.markdown import escaped, markdown_text


def tables_of(text: str) -> list[list[str]]:
    """The runs of lines that are rows of a table."""
    return [block.split("\n") for block in text.strip().split("\n\n") if block.startswith("|")]


def columns_in(row: str) -> int:
    return row.replace("\\|", "").count("|") - 1


def assert_is_sound(one: Machine) -> None:
    """Each table has one number of columns, and nothing is left empty."""
    text = markdown_text(one)
    assert text.endswith("\n")
    assert "\n\n\n" not in text
    for rows in tables_of(text):
        assert len(set(map(columns_in, rows))) == 1
        assert set(rows[1]) <= set("| -:")


def test_a_report_has_facts_nodes_devices_and_distances() -> None:
    lines = markdown_text(kunpeng()).split("\n")
    assert lines[0] == "## aarch64, Kunpeng-920"
    assert "- 4 packages, 8 nodes, 192 cores, 192 CPUs, 2,048 GiB" in lines
    assert "- every node: 24 cores, 1 thread each, 6 clusters of 4" in lines
    assert "| 3 | 72-95 | 24 | 1 | 256.0 | 1.2 | yes | L3 24 MiB | – |" in lines
    assert "| d7 | 0000:c2:00.0 | npu | Huawei | 19e5:d801 | 6 | numa_node |" in lines
    assert "| N0 | 10 | 12 | 24 | 24 | 24 | 24 | 24 | 24 |" in lines
    assert "Not known: name, local CPUs." in lines


def test_the_distances_of_many_nodes_are_a_line() -> None:
    text = markdown_text(machine(Shape(20, 1, 1, 1)))
    assert "| N0 |" not in text
    assert "- distance: 10 own node, 24 other" in text


def test_text_from_outside_starts_no_markup() -> None:
    hostile = kunpeng()._replace(
        model="<b>|a| [x](http://y) `c` *d* _e_ &amp; #1", notes=("1. one", "- two", "a | b <i>")
    )
    assert_is_sound(hostile)
    text = markdown_text(hostile)
    assert r"\<b\>\|a\| \[x\](http://y) \`c\` \*d\* \_e\_ \&amp; \#1" in text
    assert "- 1\\. one\n- \\- two\n- a \\| b \\<i\\>" in text


@given(st.text(max_size=60))
def test_no_text_breaks_out_of_its_cell(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert "|" not in shown.replace("\\\\", "").replace("\\|", "")
    assert "<" not in shown.replace("\\\\", "").replace("\\<", "")


def test_names_with_an_underscore_within_them_stay_readable() -> None:
    assert escaped("x86_64 numa_node") == "x86_64 numa_node"


def test_unknown_is_said_and_never_a_zero() -> None:
    one = epyc()
    nodes = tuple(node._replace(memory_kib=None, free_kib=None) for node in one.nodes)
    cpus = one.cpus._replace(allowed=None)
    text = markdown_text(one._replace(arch=None, model=None, nodes=nodes, cpus=cpus, cores=()))
    assert text.startswith(
        "## architecture unknown, model unknown\n\n- 2 packages, 2 nodes, cores unknown, 384 CPUs, memory unknown\n"
    )
    assert "allowed: unknown" in text


@pytest.mark.parametrize("name", sorted(expected()) or ["the store is absent"])
def test_every_capture_makes_sound_markdown(name: str, stored_root: Callable[[str], Path]) -> None:
    assert_is_sound(build_machine(HostRoot(str(stored_root(name)))))
