"""What is lost: one line each, and one for all of which the same is to be said."""

from __future__ import annotations

from numascope.cpuset import CpuSet
from numascope.plan.make.made import RoleCpus
from numascope.plan.objects import SCHEDULER, Place, Subject
from numascope.plan.write.losses import Losses, told


def main_of(cpus: str) -> RoleCpus:
    return RoleCpus("main", CpuSet.parse(cpus))


def test_a_single_loss_keeps_its_figures_and_its_place() -> None:
    losses = Losses({(Subject(3), "main"): Place("bind.json", 4, 41)})
    losses.role(Subject(3), main_of("0-1"), "srun binds a rank as a whole")
    losses.memory(Subject(3), None, "srun binds no memory")
    losses.whole("actor_thread_fix_bind", "srun has none")
    assert told(losses.found) == [
        "bind.json:4:41: main of device3 (CPU 0-1): srun binds a rank as a whole",
        "memory of device3 (the local node): srun binds no memory",
        "actor_thread_fix_bind: srun has none",
    ]


def test_what_is_lost_of_several_for_one_reason_is_one_line_with_the_first_place() -> None:
    places = {(Subject(number), "main"): Place("bind.json", 4 + number, 5) for number in range(4)}
    losses = Losses(places)
    for number in range(4):
        losses.role(Subject(number), main_of(str(number)), "srun binds a rank as a whole")
    losses.role(Subject(9), main_of("9"), "another reason")
    assert told(losses.found) == [
        "bind.json:4:5 and 3 more: main of devices 0-3: srun binds a rank as a whole",
        "main of device9 (CPU 9): another reason",
    ]


def test_numbers_larger_than_any_set_and_the_scheduler_are_named_beside_the_others() -> None:
    losses = Losses({})
    for subject in (Subject(1), Subject(123_456_789), SCHEDULER, Subject(2)):
        losses.memory(subject, CpuSet.of([0]), "mpirun binds no memory")
    assert told(losses.found) == ["memory of devices 1-2 and device123456789 and scheduler: mpirun binds no memory"]
