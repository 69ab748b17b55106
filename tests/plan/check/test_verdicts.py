"""MindSpore's own verdicts, measured on the real one (some 180), each with what is foretold of it; no line is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import mindspore_foretold as json_files
import mindspore_launched as launches
import pytest
from mindspore_verdicts import kept, lines, stored

ANSWERS = kept()

NO_PLAN: Final = {
    ("visible devices", "target CPU"): "the device target is set in the program: no plan and no command line shows it",
    (
        "set_cpu_affinity(bind_file) consistency",
        "second call",
    ): "how often a program calls is nothing that a plan shows",
}
"""What no plan and no launch shows, each with the reason why nothing is foretold."""

FORETOLD: Final[Mapping[str, tuple[Callable[[str], object], Callable[[str], object]]]] = {
    "CLI --bind_core values": (json_files.core_value, json_files.of_kind),
    "CLI --bind_numa values": (json_files.numa_value, json_files.numa_answer),
    "context + prefix from unified config (avail cpus 0-1, numa 0)": (json_files.launch, json_files.commands),
    "set_cpu_affinity(bind_file) extraction, device0": (json_files.extraction, json_files.extracted),
    "auto bind_core on this box": (launches.alone, launches.plain),
    "dict bind_core order": (launches.ordered, json_files.commands),
    "visible devices": (launches.visible, launches.visibly),
    "command missing": (launches.lacking, launches.lacked),
    "cgroup v2 (no /sys/fs/cgroup/cpuset/cpuset.cpus)": (launches.lacking, launches.lacked),
    "fake 8-NPU 192-cpu 8-numa box": (launches.of_large, launches.plain),
    "set_cpu_affinity(bind_file) consistency": (launches.consistent, launches.plain),
}
"""Heading of the measured files → how an answer is foretold from what was tried, and the recorded answer in the same form."""


@pytest.mark.parametrize(("heading", "tried"), [one for one in lines(ANSWERS) if one not in NO_PLAN])
def test_what_mindspore_itself_answered_is_foretold(heading: str, tried: str) -> None:
    foretell, recorded = FORETOLD[heading]
    assert foretell(tried) == recorded(ANSWERS[heading][tried])


def test_every_line_of_the_measured_files_is_kept_and_only_named_ones_are_not_foretold(shared: Path) -> None:
    assert stored(shared) == ANSWERS
    assert set(NO_PLAN) <= set(lines(ANSWERS))
    assert len(NO_PLAN) == 2
