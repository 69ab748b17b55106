from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import expected
from hypothesis import given, settings
from hypothesis import strategies as st
from large_machines import epyc, kunpeng
from shapes import Shape, machine

from numascope.errors import UsageError
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine
from numascope.show.svg.ink import ADVANCE, PALETTES
from numascope.show.svg.picture import svg_text
from numascope.tui.theme import PALETTES as OF_THE_DASHBOARD

SVG = "{http://www.w3.org/2000/svg}"


def drawing(one: Machine, theme: str = "light") -> ET.Element:
    return ET.fromstring(svg_text(one, theme))  # noqa: S314 - our own text, made two lines above


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def assert_is_sound(root: ET.Element) -> None:
    """Everything lies within the picture, and nothing in it runs or is fetched."""
    width, height = map(float, root.attrib["viewBox"].split(" ")[2:])
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in {"svg", "title", "desc", "g", "rect", "line", "text"}
        assert not any(name.startswith("on") or name.endswith("href") for name in element.attrib)
        if element.tag == f"{SVG}rect":
            x, y, wide, high = (float(element.attrib[name]) for name in ("x", "y", "width", "height"))
            assert x >= 0
            assert y >= 0
            assert x + wide <= width + 0.5
            assert y + high <= height + 0.5
        if element.tag == f"{SVG}text" and "text-anchor" not in element.attrib:
            end = float(element.attrib["x"]) + len(element.text or "") * ADVANCE * float(element.attrib["font-size"])
            assert end <= width
            assert float(element.attrib["y"]) <= height


def cores_in(root: ET.Element) -> set[str]:
    return {title.text or "" for title in root.iter(f"{SVG}title") if (title.text or "").startswith("CPU ")}


def test_a_picture_has_a_title_a_description_and_a_name_for_each_core() -> None:
    root = drawing(epyc())
    assert root.attrib["version"] == "1.1"
    assert root.findtext(f"{SVG}title") == "x86_64, AMD EPYC 9654"
    assert root.findtext(f"{SVG}desc") == "2 packages, 2 nodes, 192 cores, 384 CPUs, 1,510 GiB"
    assert cores_in(root) == {f"CPU {core},{core + 192}" for core in range(192)}
    assert {"package 0 · node 0", "gpu d0", "88-95"} <= set(texts(root))


@pytest.mark.parametrize("theme", PALETTES)
def test_the_colours_are_those_of_the_dashboard(theme: str) -> None:
    ours = PALETTES[theme]
    other = next(one for one in OF_THE_DASHBOARD if one.name == theme)
    assert (ours.page, ours.panel) == (other.page, other.panel)
    for name in ("text", "dim", "near", "lit"):
        assert getattr(ours, name) == other.colours[name]
    assert ours.page in svg_text(kunpeng(), theme)


def test_an_unknown_theme_is_one_clear_error() -> None:
    with pytest.raises(UsageError, match="no colours called 'mauve': give one of light, dark"):
        svg_text(kunpeng(), "mauve")


def test_text_from_outside_is_text_and_nothing_else() -> None:
    root = drawing(kunpeng()._replace(model='"/><script>alert(1)</script>', notes=("a & b <c>",)))
    assert_is_sound(root)
    assert 'aarch64, "/><script>alert(1)</script>' in texts(root)
    assert "a & b <c>" in texts(root)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40))
def test_any_text_makes_well_formed_xml(text: str) -> None:
    assert_is_sound(drawing(machine(Shape(1, 1, 1, 2))._replace(model=text)))


def test_states_of_cores_are_told_apart_and_explained() -> None:
    one = machine(Shape(1, 1, 1, 8, 2), offline="7", isolated="0,8")
    one = one._replace(cpus=one.cpus._replace(allowed=one.cpus.online - one.nodes[0].cpus))
    root = drawing(one)
    assert len(list(root.iter(f"{SVG}line"))) == 8 + 2
    assert any(text.startswith("isolated: 0,8") for text in texts(root))
    assert "offline" in texts(root)


def test_a_machine_of_2048_cpus_is_drawn_whole() -> None:
    root = drawing(machine(Shape(2, 8, 8, 8, 2), devices=[0, 4, 8, 12]), "dark")
    assert_is_sound(root)
    assert len(cores_in(root)) == 1024


def test_a_picture_of_too_many_cores_is_folded() -> None:
    text = svg_text(machine(Shape(16, 4, 8, 16, 2)))
    assert "more like" in text
    assert len(text) < 200_000


@pytest.mark.parametrize("name", sorted(expected()) or ["the store is absent"])
def test_every_capture_makes_a_sound_picture(name: str, stored_root: Callable[[str], Path]) -> None:
    one = build_machine(HostRoot(str(stored_root(name))))
    root = drawing(one)
    assert_is_sound(root)
    online = {str(core.cpus) for core in one.cores}
    assert {title.removeprefix("CPU ") for title in cores_in(root)} >= online
