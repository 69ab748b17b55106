"""py-cpuinfo is asked in a process of its own, and what it does not answer is unknown."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

from numascope.host.system.cpu_name import ask_cpu_name


def saying(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"print({text!r})")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps({"brand_raw": "  Kunpeng   920\n"}), "Kunpeng 920"),
        (json.dumps({"brand_raw": "evil\x1b[31m"}), "evil\\x1b[31m"),
        (json.dumps({"brand_raw": ""}), None),
        (json.dumps({"brand_raw": 7}), None),
        (json.dumps(["brand_raw"]), None),
        (json.dumps({}), None),
        ("not json", None),
        ("", None),
    ],
)
def test_the_name_is_taken_where_there_is_one(text: str, name: str | None) -> None:
    assert ask_cpu_name(saying(text), within_s=60) == name


@pytest.mark.parametrize(
    "command",
    [
        (sys.executable, "-c", "import sys; sys.exit(1)"),
        (sys.executable, "-c", "import time; time.sleep(60)"),
        ("/nowhere/at/all",),
    ],
)
def test_what_fails_or_takes_long_is_unknown(command: tuple[str, ...]) -> None:
    assert ask_cpu_name(command, within_s=0.5) is None


@pytest.mark.live
@pytest.mark.skipif(importlib.util.find_spec("cpuinfo") is None, reason="py-cpuinfo is not installed")
def test_py_cpuinfo_itself_names_this_processor_or_says_nothing() -> None:
    name = ask_cpu_name(within_s=60)
    assert name is None or name.isprintable()
