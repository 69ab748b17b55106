from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from captures import expected
from reports import placement, rank_view, report

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.show.canvas import cells
from numascope.show.ink import plain
from numascope.show.map.layout import map_rows
from numascope.show.map.picture import map_picture
from numascope.show.once import once_lines

WINDOWS = ((60, 15), (80, 24), (120, 40), (200, 60))


@pytest.mark.parametrize("name", sorted(expected()) or ["the store is absent"])
def test_every_captured_machine_has_a_picture_that_holds_every_cpu(
    name: str, stored_root: Callable[[str], Path]
) -> None:
    """Odd machines too: nodes without CPUs, CPUs without nodes, caches across nodes, missing layers."""
    on = build_machine(HostRoot(str(stored_root(name))))
    cpu = on.cpus.online.last
    thread = placement(7, "main", "main", 0, str(on.cpus.online.first), str(on.cpus.online), cpu, "escaped")
    shown = report("python 7", on, [thread], [rank_view("A", 7, 0, str(on.cpus.online.first), [thread], None, "0")])

    for width, height in WINDOWS:
        picture = map_picture(shown, width, map_rows(height), {})
        text = [plain(line) for line in picture.lines]

        assert len(picture.lines) <= map_rows(height), (width, height)
        assert {cells(line) for line in picture.lines} == {width}
        assert sorted(one for _, _, _, cpus in picture.places for one in cpus) == list(on.cpus.online)
        if len(on.cpus.online) > 1:
            assert any("!" in line for line in text), (width, height, text)
    assert len(once_lines(shown, 40)) <= 40
    assert max(cells(line) for line in once_lines(shown, 40)) <= 40
