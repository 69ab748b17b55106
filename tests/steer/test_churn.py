"""A process that creates and ends a thousand threads a second: afterwards every living thread is where it was planned."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from processes import OWN_CPUS, answer, needs_two_cpus, program, tell
from steering import allowed, settle, store_in, undo, watching

pytestmark = [pytest.mark.live, needs_two_cpus]

CHURN = """
made = 0
def short(): time.sleep(0.004)
def breed():
    global made
    while True:
        thread(short); made += 1
        time.sleep(0.001)
def chain():
    time.sleep(0.05); thread(chain)
for _ in range(2): thread(breed)
for _ in range(5): thread(chain)
time.sleep(0.2); ready()
while sys.stdin.readline(): print(made, flush=True)
"""


def test_under_churn_every_living_thread_has_its_planned_set_and_gets_its_old_one_back(tmp_path: Path) -> None:
    rounds = 8
    with program(CHURN) as child, store_in(tmp_path) as store:

        def made() -> int:
            tell(child)
            return int(answer(child))

        began, began_s = made(), time.monotonic()
        for number in range(rounds):
            with watching(tmp_path, child.pid, OWN_CPUS[0]) as session:
                settled = settle(session, store)
                assert settled.notes == (), settled.passes
            assert {one.outcome for one in settled.results} <= {"set", "gone", "already"}
            assert allowed(child.pid) == {frozenset({OWN_CPUS[0]})}, f"round {number}"
            found = undo(store)
            assert {one.outcome for one in found} <= {"set", "gone", "already"}
            assert allowed(child.pid) == {frozenset(OWN_CPUS)}, f"round {number}"
        per_s = (made() - began) / (time.monotonic() - began_s)

    assert per_s > 100, "two creators, each sleeping a millisecond between two threads"
