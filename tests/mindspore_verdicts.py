"""What MindSpore 2.10 itself answered to some 180 inputs: the lines of two measured files, as kept in snapshots/plans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

KEPT = Path(__file__).resolve().parent.parent / "snapshots" / "plans" / "mindspore-verdicts.json"
FILES = ("validator_results_1.txt", "validator_results_2.txt")

Answers = Mapping[str, Mapping[str, str]]
"""Heading → what was tried → the answer, or `!` and the exception."""

_TRIED = re.compile(r"\[(OK |ERR)\] (.*?) -> ?(.*)")
_SAID = re.compile(r"(\S.*?)[ ](True|False|[\[{].*)")
_ENVIRONMENT = "      env: "


def kept() -> Answers:
    """The answers that the repository keeps."""
    answers: Answers = json.loads(KEPT.read_text(encoding="utf-8"))["answers"]
    return answers


def stored(shared: Path) -> Answers:
    """The answers of the measured files themselves; ValueError on a line of no known form."""
    found: dict[str, dict[str, str]] = {}
    for name in FILES:
        heading = ""
        for line in (shared / "data" / "mindspore" / name).read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                heading = line.removeprefix("## ")
                continue
            before = next(reversed(found.get(heading, {})), "")
            for tried, answer in _answered(line, before):
                assert tried not in found.setdefault(heading, {}), f"{heading}: {tried} is there twice"
                found[heading][tried] = answer
    return found


def _answered(line: str, before: str) -> Iterator[tuple[str, str]]:
    if not line.strip():
        return
    tried, said = _TRIED.fullmatch(line), _SAID.fullmatch(line)
    if line.startswith(_ENVIRONMENT):
        yield f"{before} env", line.removeprefix(_ENVIRONMENT)
    elif tried is not None:
        yield tried[2], tried[3] if tried[1] == "OK " else f"!{tried[3].split()[0]}"
    elif said is not None:
        yield said[1], said[2]
    else:
        raise ValueError(f"no answer: {line}")


def lines(answers: Answers) -> list[tuple[str, str]]:
    """Heading and what was tried, of every answer."""
    return [(heading, tried) for heading, part in answers.items() for tried in part]
