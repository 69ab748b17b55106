from __future__ import annotations

import pytest

from numascope.review.outcome import FailOn, Outcome, outcome_of_findings, worse
from numascope.review.report import Severity


@pytest.mark.parametrize(
    ("severities", "fail_on", "code"),
    [
        (["error"], "error", 1),
        (["warning"], "error", 0),
        (["info", "warning"], "warning", 1),
        (["info"], "warning", 0),
        (["info"], "info", 1),
        (["error"], "never", 0),
        ([], "info", 0),
    ],
)
def test_findings_at_or_above_the_chosen_severity_end_1(severities: list[Severity], fail_on: FailOn, code: int) -> None:
    assert outcome_of_findings(severities, fail_on, partial=False).code == code


def test_findings_outrank_what_could_not_be_read_and_that_outranks_clean() -> None:
    assert outcome_of_findings(["warning"], "warning", partial=True).code == 1
    assert outcome_of_findings(["info"], "warning", partial=True).code == 3


def test_a_clean_end_says_whether_anything_was_found() -> None:
    assert outcome_of_findings(["info"], "warning", partial=False).reason == 'findings, all below "warning"'
    assert outcome_of_findings([], "warning", partial=False).reason == "clean"
    assert outcome_of_findings(["error"], "never", partial=False).reason == "clean"


def test_of_two_outcomes_the_worse_stands_and_not_the_one_with_the_higher_code() -> None:
    clean, found, partial, gone = (Outcome(code, "") for code in (0, 1, 3, 4))
    assert worse(clean, partial) == partial
    assert worse(partial, found) == found
    assert worse(gone, found) == gone
