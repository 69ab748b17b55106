"""docs/roles.md has every row of every table, and every role."""

from __future__ import annotations

from pathlib import Path

from numascope.observe.roles import ROLES
from numascope.observe.roles.tables import TABLES
from numascope.observe.roles.tables.serving import TITLES

LINES = (Path(__file__).resolve().parents[3] / "docs/roles.md").read_text().splitlines()


def test_every_name_is_documented_with_its_role_and_source() -> None:
    missing = [
        line
        for rows in (*TABLES.values(), TITLES)
        for row in rows
        if (line := f"| `{row.start}` | {row.role} | {row.source} |") not in LINES
    ]

    assert missing == []


def test_no_name_is_documented_that_no_table_has() -> None:
    rows = {f"| `{row.start}` | {row.role} | {row.source} |" for rows in (*TABLES.values(), TITLES) for row in rows}

    assert {line for line in LINES if line.startswith("| `")} <= rows


def test_every_role_is_documented() -> None:
    assert [
        f"| {name} | {meaning} |" for name, meaning in ROLES.items() if f"| {name} | {meaning} |" not in LINES
    ] == []
