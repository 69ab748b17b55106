"""The Journal screen: what was changed from here, and the picked entry thread by thread."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import reports
from screens import dashboard, drive, until
from textual.pilot import Pilot

from numascope.cpuset import CpuSet
from numascope.review.change import Thread
from numascope.show.ink import plain
from numascope.show.journal import ChangeRow, EntryRow
from numascope.show.journal_detail import detail_lines
from numascope.tui.app import Dashboard
from numascope.tui.steering import Journal


def journal() -> Journal:
    """Two applies and a revert of the first, as 16 November 2023 saw them."""
    actor = ChangeRow(
        41247, 42317, 8_841_207, "ActorThread_1", "ActorThread_1", "rank 5 d5", "runtime", CpuSet.parse("0-191"), True,  # noqa: FBT003
        CpuSet.parse("129"), "set", CpuSet.parse("129"), "", None, None,
    )  # fmt: skip
    loader = actor._replace(
        pid=41251, tid=47312, comm="python", label="loader 2", rank="rank 6 d6", role="minddata", before=CpuSet.parse("0"),
        before_was_cpuset=False, after=CpuSet.parse("0-7"), read_back=CpuSet.parse("0-7"),
    )  # fmt: skip
    many = tuple(
        loader._replace(tid=47400 + at, label=f"loader {at}", reverted_by=6, revert_result="set") for at in range(6)
    )
    newest = EntryRow(
        7, "apply", 1_700_086_385.0, "n1", 1004, "b", "/job/bind.json", "8f3c21d0aa", "msrun 41200", None,
        "can be reverted", True, (actor, loader), 0,  # noqa: FBT003
    )  # fmt: skip
    back = newest._replace(
        id=6, kind="revert", wall_s=1_700_083_470.0, reverts=5, state="done", can_revert=False, changes=many, gone=1
    )
    old = newest._replace(
        id=5, wall_s=1_700_083_211.0, plan="/job/old.json", state="reverted by 6", can_revert=False, changes=many
    )
    return Journal((old, back, newest), "/home/ada/.local/state/numascope")


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_journal_is_the_one_kept(size: tuple[int, int], golden_screen: Callable[[str, str], None]) -> None:
    """Three entries, the newest picked."""

    async def steps(app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.desk.journal is not None)
        app.desk.take(journal())
        await pilot.pause()

    text = drive(dashboard(reports.own(reports.eight_ranks())), size, ("4",), steps=steps)

    golden_screen(f"journal--{size[0]}x{size[1]}", text)


def test_a_long_entry_is_cut_to_its_place_and_says_where_the_rest_is() -> None:
    """Threads of one kind are one line, others each have theirs."""
    entry = journal().rows[2]
    kinds = [entry.changes[0]._replace(tid=500 + at, label=f"{chr(65 + at)}ctor") for at in range(20)]
    seen = {Thread(one.pid, one.tid, one.starttime_ticks): CpuSet.parse("129") for one in kinds}

    lines = [plain(line) for line in detail_lines(entry._replace(changes=tuple(kinds)), seen, 80, 12)]

    assert len(lines) == 12
    assert any("more lines: numascope revert 7 --dry-run --all-rows" in line for line in lines)
    assert "rank 6 d6 loader ×6" in "\n".join(plain(line) for line in detail_lines(journal().rows[0], {}, 80, 12))
