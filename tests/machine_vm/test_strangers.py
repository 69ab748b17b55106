"""Who uses a planned CPU and is not of the job has a name soon, on a slow machine too (Linux 6.1)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from machine_vm.guest import HASHING, findings
from processes import program
from steering import watching

pytestmark = [pytest.mark.vm("four-node")]

LOOKS = 10
CPU = 5
ON_CPU = f"os.sched_setaffinity(0, {{{CPU}}})\n"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ready(); spin()", "python {pid} "),
        (
            'for _ in range(7): thread(sleep)\nnamed("pipeline", hash); time.sleep(1); ready(); sleep()',
            "python {pid} (thread pipeline ",
        ),
    ],
)
def test_a_stranger_on_a_planned_cpu_is_named_within_ten_looks(tmp_path: Path, code: str, name: str) -> None:
    job = f"{HASHING}{ON_CPU}thread(hash)\nready(); sleep()"
    with program(job) as child, watching(tmp_path, child.pid, str(CPU)) as session:
        session.step()
        with program(f"{HASHING}{ON_CPU}{code}") as stranger:
            told = []
            for _ in range(LOOKS):
                time.sleep(1.0)
                told += [one.text for one in findings(session.step(), "shared")]

    assert any(name.format(pid=stranger.pid) in text and "% busy" in text for text in told), told
