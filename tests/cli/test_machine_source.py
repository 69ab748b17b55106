"""Which machine the user means, and what is refused before any is read."""

from __future__ import annotations

import pytest

from numascope.cli.machine_source import Wanted, opened_machine, wanted_of
from numascope.errors import InputError, UsageError


def refusal(wanted: Wanted) -> str:
    with pytest.raises(UsageError) as caught, opened_machine(wanted):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("root", Wanted(root="")),
        ("capture", Wanted(capture="")),
        ("inside", Wanted(capture="one.tar", inside="")),
        ("xml", Wanted(xml="")),
        ("synthetic", Wanted(synthetic="")),
    ],
)
def test_an_empty_value_is_refused_by_the_name_of_its_option(option: str, wanted: Wanted) -> None:
    problem = refusal(wanted)
    assert problem == f"--{option}: its value is empty: give one, or leave --{option} out"


def test_an_empty_other_machine_is_refused_as_diffs() -> None:
    with pytest.raises(UsageError, match=r"^--diff: its value is empty"):
        wanted_of("", None, io=False)


def test_an_empty_path_is_seen_in_every_error() -> None:
    assert str(InputError("", "there is no such file")) == '"": there is no such file'
    assert str(InputError("", "no number", 1, 2)) == '"":1:2: no number'
