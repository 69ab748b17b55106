from __future__ import annotations

from shapes import Shape, machine

from numascope.plan.load import parse_plan
from numascope.plan.make.seats import Seat
from numascope.plan.why import Owners, free_by_reason, owners_of, why_cpu

PLAN = b"""{"bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": true},
"bind_cpu": {
"device0": {"main": "0-1", "runtime": "2,6", "pynative": "3"},
"device1": {"main": "1,40"},
"scheduler": {"main": "7"}},
"bind_memory": {"device0": 1}}"""


def owners(isolated: str = "", offline: str = "") -> Owners:
    on = machine(Shape(2, 1, 1, 4, 2), isolated=isolated, offline=offline)
    return owners_of(parse_plan("bind.json", PLAN), on, (Seat(0, "0000:01:00.0", 0, 0), Seat(1, None, 1, 1)))


def why(cpu: int, **state: str) -> list[str]:
    return list(why_cpu(owners(**state), cpu))


def test_an_owner_is_told_with_its_place_in_the_file_and_the_thread_that_the_cpu_holds() -> None:
    told = why(2)
    assert told[0] == "CPU 2 is runtime of device0: bind.json:3:39 gives it CPUs 2,6"
    assert told[1] == "by position 0 it holds ActorThread_0"
    assert why(6)[1] == "by position 1 it holds launch_queue"
    assert why(3)[1] == "by position 0 it holds frontend_queue"


def test_how_near_it_is_and_where_the_memory_comes_from() -> None:
    told = why(6)
    assert "it is on node 1, device 0 (0000:01:00.0) is near node 0, distance 24" in told
    assert "the memory of device0 is bound to its own node" in told
    assert "the memory of device0 is bound to node 1, distance 24" in why(2)
    assert any(one.startswith("the memory of device1 is not bound") for one in why(1))


def test_several_owners_and_the_rest_of_the_core_are_told() -> None:
    told = why(1)
    assert told[0].startswith("CPU 1 is main of device0")
    assert "it has 2 owners: their threads take turns on it" in told
    assert "the other thread of its core, CPU 9, is in no role" in told
    assert any(one.startswith("its L3 is shared by 0-3,8-11: 4 in no role") for one in told)


def test_a_cpu_that_cannot_be_used_is_told() -> None:
    assert "this machine has no such CPU" in why(40)
    assert "it is offline: nothing can run there" in why(3, offline="3")
    assert "it is isolated: the kernel does not balance threads there" in why(3, isolated="3")


def test_cpus_in_no_role_are_told_by_why() -> None:
    found = {reason: str(cpus) for reason, cpus in free_by_reason(owners(isolated="4", offline="5"))}
    assert found == {
        "left idle beside a role on their core": "8-11,14-15",
        "the plan leaves it to the system and to whoever is not bound": "12-13",
        "it is isolated": "4",
        "it is offline": "5",
    }
    assert why(8)[0] == "CPU 8 is in no role: it is left idle beside main of device0 on its core"
