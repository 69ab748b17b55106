from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from captures import MACHINES, expected, unpack
from hypothesis import given, settings
from hypothesis import strategies as st
from large_machines import epyc, kunpeng
from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Access, Cache, CoreKind, FrequencyPolicy, Machine, Node
from numascope.machine.walk import walk
from numascope.show.boxes.box import Box
from numascope.show.boxes.content import boxes_of
from numascope.show.boxes.picture import box_lines
from numascope.show.canvas import cells, text_cells
from numascope.show.glyphs import CORES, LIT_CORES, to_ascii
from numascope.show.ink import Span, plain

KEPT = sorted(path.parent.name for path in MACHINES.glob("*/about.toml"))
WIDTHS = (40, 60, 80, 120, 200, 1000)
SHAPES = {
    "one core": Shape(1, 1, 1, 1),
    "2,048 CPUs in 2 packages": Shape(2, 8, 8, 8, 2),
    "2,048 CPUs in 16 packages": Shape(16, 1, 8, 8, 2),
    "clusters": Shape(4, 2, 1, 24, 1, 4),
    "eight threads a core": Shape(2, 2, 1, 12, 8),
    "72 cores a node": Shape(2, 1, 1, 72),
}


def text_of(one: Machine, width: int = 80, *, expand: bool = False, lit: CpuSet | None = None) -> list[str]:
    return [plain(line) for line in box_lines(one, width, expand=expand, lit=lit)]


def all_boxes(boxes: tuple[object, ...]) -> Iterator[Box]:
    for box in boxes:
        if isinstance(box, Box):
            yield box
            yield from all_boxes(box.inside)


def assert_drawn_whole(one: Machine, width: int) -> None:
    """No line is too wide, frames are closed, and with all CPUs lit each core is one lit sign."""
    for expand in (False, True):
        assert max(cells(line) for line in box_lines(one, width, expand=expand)) <= width
    lines = text_of(one, width, expand=True, lit=one.cpus.online)
    drawn = sum(line.count("■") for line in lines) - 1
    cores = {core.cpus & one.cpus.online for core in one.cores} - {EMPTY}
    lone = one.cpus.online - CpuSet.of(cpu for core in cores for cpu in core)
    assert drawn == len(cores) + len(lone)
    text = "\n".join(lines)
    assert [text.count(sign) for sign in "┌┐"] == [text.count(sign) for sign in "└┘"] or "├" in text
    sets = [cpus for box in all_boxes(boxes_of(one, walk(one))) for run in box.runs for row in run.cpus for cpus in row]
    online = [cpus for cpus in sets if cpus <= one.cpus.online]
    assert sum(map(len, online)) == len(one.cpus.online)
    assert CpuSet.of(cpu for cpus in online for cpu in cpus) == one.cpus.online


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_machine_is_drawn_as_it_was_reviewed(
    name: str, tmp_path: Path, golden: Callable[[str, Path], None]
) -> None:
    about = tomllib.loads((MACHINES / name / "about.toml").read_text(encoding="utf-8"))
    root = HostRoot(str(unpack(MACHINES / name / about["file"], tmp_path) / about["root"]))
    one = build_machine(root)
    root.close()
    golden("".join(f"{line}\n" for line in text_of(one)), MACHINES / name / "boxes.txt")


@pytest.mark.parametrize("name", sorted(expected()) or ["the store is absent"])
def test_every_capture_is_drawn_whole_and_within_its_width(name: str, stored_root: Callable[[str], Path]) -> None:
    one = build_machine(HostRoot(str(stored_root(name))))
    for width in WIDTHS:
        assert_drawn_whole(one, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_drawn_whole_and_within_its_width(name: str, width: int) -> None:
    assert_drawn_whole(machine(SHAPES[name]), width)


@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        Shape,
        st.integers(1, 4),
        st.integers(1, 3),
        st.integers(1, 4),
        st.integers(1, 9),
        st.integers(1, 9),
        st.sampled_from([0, 2, 3]),
    ),
    st.integers(40, 240),
)
def test_any_regular_machine_is_drawn_whole_in_any_width(shape: Shape, width: int) -> None:
    assert_drawn_whole(machine(shape, devices=[0]), width)


def test_packages_of_two_nodes_are_a_line_each() -> None:
    assert text_of(kunpeng())[:7] == [
        "┌─ package 0 ──────────────────────────────────────────────────────────────────┐",
        "│ ┌─ node 0 ──────────────────────────┐  ┌─ node 1 ──────────────────────────┐ │",
        "│ │ 0-23   L3 24 MiB                  │  │ 24-47   L3 24 MiB                 │ │",
        "│ │ ■■■■ ■■■■ ■■■■ ■■■■ ■■■■ ■■■■     │  │ ■■■■ ■■■■ ■■■■ ■■■■ ■■■■ ■■■■     │ │",
        "│ │ 256 GiB, 182.4 free   npu d0 d1   │  │ 256 GiB, 183.0 free               │ │",
        "│ └───────────────────────────────────┘  └───────────────────────────────────┘ │",
        "└──────────────────────────────────────────────────────────────────────────────┘",
    ]


def test_a_package_that_is_a_node_is_one_box_and_its_caches_share_walls() -> None:
    assert text_of(epyc())[:8] == [
        "┌─ package 0 · node 0 ─────────────────────────────────────────────────────────┐",
        "│ 0-95,192-287   12 × L3 32 MiB   755 GiB, 604.2 free   gpu d0 d1 d2 d3        │",
        "│ ┌ 0-7 ──────┬ 8-15 ─────┬ 16-23 ────┬ 24-31 ────┬ 32-39 ────┬ 40-47 ────┐    │",
        "│ │ :::: :::: │ :::: :::: │ :::: :::: │ :::: :::: │ :::: :::: │ :::: :::: │    │",
        "│ ├ 48-55 ────┼ 56-63 ────┼ 64-71 ────┼ 72-79 ────┼ 80-87 ────┼ 88-95 ────┤    │",
        "│ │ :::: :::: │ :::: :::: │ :::: :::: │ :::: :::: │ :::: :::: │ :::: :::: │    │",
        "│ └───────────┴───────────┴───────────┴───────────┴───────────┴───────────┘    │",
        "└──────────────────────────────────────────────────────────────────────────────┘",
    ]


@pytest.mark.parametrize("name", ["2,048 CPUs in 2 packages", "2,048 CPUs in 16 packages"])
def test_a_machine_of_2048_cpus_is_a_screen_in_80_columns(name: str) -> None:
    one = machine(SHAPES[name])
    lines = text_of(one)
    assert len(lines) <= 42
    assert any("more like" in line for line in lines)
    for node in one.nodes:
        assert any(
            f"node {node.id} " in line and str(node.cpus) in f"{line}{lines[at + 1]}"
            for at, line in enumerate(lines[:-1])
        )


def test_what_is_folded_says_what_differs() -> None:
    one = machine(SHAPES["2,048 CPUs in 16 packages"], devices=[3])
    nodes = list(one.nodes)
    nodes[5] = nodes[5]._replace(memory_kib=128 << 20, free_kib=1 << 19)
    lines = text_of(one._replace(nodes=tuple(nodes)))
    rows = {line.split("node ")[1].split(" ")[0]: line for line in lines if line.startswith("  package")}
    assert rows["5"].endswith("128 GiB, 0.5 free")
    assert re.search(r"182\.0 free +npu d0$", rows["3"])
    assert "GiB" not in rows["4"]


def test_expanded_nothing_is_folded() -> None:
    one = machine(SHAPES["2,048 CPUs in 16 packages"])
    assert not any("more like" in line for line in text_of(one, expand=True))


def test_offline_disallowed_and_isolated_cores_have_their_signs() -> None:
    one = machine(Shape(2, 1, 1, 8, 2), offline="15,31", isolated="0,16,1")
    allowed = one.cpus.online - CpuSet.parse("4-5,20")
    one = one._replace(cpus=one.cpus._replace(allowed=allowed))
    lines = text_of(one, 120)
    assert "|¦:: /,::" in "\n".join(lines)
    assert any("offline, place unknown" in line for line in lines)
    assert any(line.startswith("│ 15,31   --") for line in lines)
    legend = "\n".join(lines)
    assert "| isolated: 0-1,16   ¦ isolated in part" in legend
    assert "/ not allowed: 4-5,20   , not allowed in part" in legend
    assert "- offline" in legend


def test_signs_that_were_not_drawn_are_not_explained() -> None:
    legend = "\n".join(text_of(kunpeng()))
    assert "■ core with 1 thread   a group is a cluster of 4" in legend
    assert not any(word in legend for word in ("isolated", "offline", "not allowed", "2 threads"))


def test_the_cpus_of_a_process_are_lit_and_the_others_dim() -> None:
    spans = [span for line in box_lines(epyc(), lit=CpuSet.parse("3-10,192-198")) for span in line]
    assert "".join(span.text for span in spans if span.token == "lit").startswith("◧◧◧■■■■◧◧◧◧")
    dim = [span.text for span in spans if span.token == "dim" and "·" in span.text]
    assert sum(text.count("·") for text in dim) == 192 - 11 + 1


def test_kinds_of_cores_are_runs_of_their_own() -> None:
    one = machine(Shape(1, 1, 1, 12))
    kinds = (
        CoreKind(CpuSet.span(0, 3), "P", None, 5_000_000),
        CoreKind(CpuSet.span(4, 11), "E", None, 3_900_000),
    )
    lines = text_of(one._replace(kinds=kinds))
    assert any("4 P  ■■■■" in line for line in lines)
    assert any("8 E  ■■■■ ■■■■" in line for line in lines)


def test_nodes_without_cpus_are_boxes_with_their_memory_and_kind() -> None:
    one = machine(Shape(1, 1, 1, 4))
    far = Node(7, EMPTY, 64 << 20, 63 << 20, (), "HBM", {})
    lines = text_of(one._replace(nodes=(*one.nodes, far)))
    assert any(line.startswith("┌─ node 7 ") for line in lines)
    assert any("no CPUs   64 GiB HBM, 63.0 free" in line for line in lines)


def test_a_memory_side_cache_stands_beside_the_memory_that_it_serves() -> None:
    one = machine(Shape(1, 2, 1, 4))
    side = Cache(1, "Unified", 96 << 20, one.nodes[1].cpus, memory_side=True)
    lines = text_of(one._replace(caches=(*one.caches, side)), 100)
    assert sum("memory-side cache 96 GiB" in line for line in lines) == 1


def test_a_cache_that_spans_nodes_is_told_below_and_draws_no_core_twice() -> None:
    one = machine(Shape(1, 2, 1, 4))
    wide = Cache(3, "Unified", 1024, CpuSet.span(2, 5))
    one = one._replace(caches=(wide,))
    assert any("L3 1 MiB spans nodes: 0,1" in line for line in text_of(one))
    assert_drawn_whole(one, 80)


def test_cpus_of_no_node_package_or_core_are_drawn_too() -> None:
    one = machine(Shape(1, 1, 1, 4))
    bare = one._replace(packages=(), nodes=(), caches=(), cores=(), node_of={})
    lines = text_of(bare)
    assert any("of no package or node" in line for line in lines)
    assert any("□□□□" in line for line in lines)


def test_nodes_that_contradict_each_other_draw_no_core_twice() -> None:
    one = machine(Shape(2, 2, 1, 4))
    same = tuple(node._replace(cpus=one.cpus.online) for node in one.nodes)
    assert_drawn_whole(one._replace(nodes=same, caches=()), 80)


def test_devices_stand_in_the_box_of_their_node_and_those_of_unknown_node_below() -> None:
    one = kunpeng()
    last = one.devices[-1]._replace(node=None, node_source=None)
    lines = text_of(one._replace(devices=(*one.devices[:-1], last)))
    assert any("npu d0 d1" in line for line in lines if line.startswith("│"))
    assert not any("d7" in line for line in lines if line.startswith("│"))
    assert any("d7 0000:c2:00.0 N?" in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_clocks_and_the_speed_of_memory_are_told_below_the_picture(width: int) -> None:
    one = kunpeng()
    first, *others = one.nodes
    access = Access(0, CpuSet.of([0]), 95, 95, 20_480, 20_480)
    policy = FrequencyPolicy(one.cpus.online, "performance", "cppc_cpufreq", 200_000, 2_600_000, 200_000, 2_600_000)
    told = one._replace(nodes=(first._replace(access=(access,)), *others), policies=(policy,))
    lines = text_of(told, width)
    text = " ".join(" ".join(lines).split())
    assert "clocks: performance, 0.2-2.6 GHz by cppc_cpufreq" in text
    assert "memory of node 0: 95 ns, 20 GiB/s from its own CPUs" in text
    assert max(map(text_cells, lines)) <= width


def test_a_width_below_any_picture_is_told_in_the_words_of_the_tree() -> None:
    lines = text_of(kunpeng(), 20)
    assert max(map(len, lines)) <= 20
    assert not any("┌" in line for line in lines)


def test_the_picture_is_the_same_each_time_and_aligned() -> None:
    assert box_lines(epyc(), 100) == box_lines(epyc(), 100)
    framed = [line for line in text_of(epyc(), 100) if line.startswith(("┌", "│", "└"))]
    assert len({text_cells(line) for line in framed}) == 1


@pytest.mark.parametrize("table", [CORES, LIT_CORES], ids=["cores", "lit cores"])
@pytest.mark.parametrize("sign_set", ["sign", "ascii"])
def test_no_two_meanings_of_a_core_share_a_sign(table: dict[str, object], sign_set: str) -> None:
    signs = [getattr(glyph, sign_set) for glyph in table.values()]
    assert len(set(signs)) == len(signs)
    assert {text_cells(sign) for sign in signs} == {1}


def test_the_picture_has_an_ascii_form_cell_for_cell() -> None:
    for one in (kunpeng(), epyc(), machine(SHAPES["eight threads a core"])):
        for line in box_lines(one, 80):
            ascii_line = plain(to_ascii(line))
            assert ascii_line.isascii()
            assert len(ascii_line) == text_cells(plain(line))
    for glyph in (*CORES.values(), *LIT_CORES.values()):
        assert glyph.sign.isascii() or plain(to_ascii((Span(glyph.sign),))) == glyph.ascii
