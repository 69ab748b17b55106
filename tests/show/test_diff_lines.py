from __future__ import annotations

from dataclasses import replace

import pytest
import reports

from numascope.review.outcome import Outcome
from numascope.show.canvas import cells
from numascope.show.diff import diff_lines
from numascope.show.ink import plain

COMMAND = "numascope apply a-plan-with-a-long-name.json 41247=device5"
REMEDY = f"for the recorded machine, as it was: {COMMAND}; lasting: start without OMP_PROC_BIND"


@pytest.mark.parametrize("width", [80, 200])
def test_a_command_stands_whole_in_its_line_and_no_other_line_is_too_wide(width: int) -> None:
    shown = reports.eight_ranks()
    shown = replace(shown, findings=tuple(replace(one, remedy=REMEDY) for one in shown.findings))
    lines = diff_lines(shown, Outcome(1, "findings"), width=width)
    texts = [plain(line).strip() for line in lines]
    assert any(COMMAND in text for text in texts)
    assert all(cells(line) <= width for line in lines if COMMAND not in plain(line))
    if width == 80:
        at = texts.index(COMMAND)
        assert texts[at - 1 : at + 2] == [
            "for the recorded machine, as it was:",
            COMMAND,
            "lasting: start without OMP_PROC_BIND",
        ]


def test_a_head_that_is_too_long_goes_on_in_a_second_line() -> None:
    shown = replace(reports.eight_ranks(), title="torchrun 41200 of a user with a long name in a container")
    first, second, *_ = diff_lines(shown, Outcome(0, "clean"), width=80)
    assert plain(first).startswith("bind.json")
    assert plain(second).startswith("  against torchrun 41200")
