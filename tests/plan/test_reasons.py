from __future__ import annotations

from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import read_given, read_plan
from numascope.plan.load import parse_plan
from numascope.plan.make.seats import Seat, Seats
from numascope.plan.objects import Subject
from numascope.plan.owners import Owners, memory_words, owners_of
from numascope.plan.reasons import free_by_reason, why_cpu, why_subject

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
    assert told[1] == "by position 0 it holds the first actor"
    assert why(6)[1] == "by position 1 it holds launch_queue"
    assert why(3)[1] == "by position 0 it holds frontend_queue"


def test_how_near_it_is_and_where_the_memory_comes_from() -> None:
    told = why(6)
    assert "on node 1, device 0 (0000:01:00.0) is near node 0, distance 24" in told
    assert "memory of device0 bound to its own node" in told
    assert "memory of device0 bound to node 1, distance 24" in why(2)
    assert any(one.startswith("memory of device1 not bound") for one in why(1))


def test_several_owners_and_the_rest_of_the_core_are_told() -> None:
    told = why(1)
    assert told[0].startswith("CPU 1 is main of device0")
    assert "it has 2 owners: their threads take turns on it" in told
    assert "the other thread of its core, CPU 9: in no role" in told
    assert any(one.startswith("L3 shared by 0-3,8-11: 4 in no role") for one in told)


def test_a_cpu_that_cannot_be_used_is_told() -> None:
    assert "not on this machine: nothing can run there" in why(40)
    assert "offline: nothing can run there" in why(3, offline="3")
    assert "isolated: the kernel does not balance threads there" in why(3, isolated="3")


def test_cpus_in_no_role_are_told_by_why() -> None:
    found = {reason: str(cpus) for reason, cpus in free_by_reason(owners(isolated="4", offline="5"))}
    assert found == {
        "left idle beside a role on the same core": "8-11,14-15",
        "left to the system and to whoever is not bound": "12-13",
        "isolated": "4",
        "offline": "5",
    }
    assert why(8)[0] == "CPU 8 is in no role: it is left idle beside main of device0 on its core"


def test_a_machine_that_does_not_let_a_cpu_be_used_is_told() -> None:
    on = machine(Shape(2, 1, 1, 4, 2))
    on = on._replace(cpus=on.cpus._replace(allowed=CpuSet.parse("0-3")))
    told = list(why_cpu(owners_of(parse_plan("bind.json", PLAN), on, ()), 6))
    assert "outside the allowed CPUs 0-3: whoever is bound there is refused or cut" in told


def test_four_threads_of_a_core_are_told_at_once() -> None:
    on = machine(Shape(1, 1, 1, 2, 4))
    plan = (
        b'{"bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "none"}, "bind_cpu": {"device0": {"main": "0"}}}'
    )
    assert "the other threads of its core, CPUs 2,4,6: in no role" in why_cpu(
        owners_of(parse_plan("bind.json", plan), on, ()), 0
    )


def test_all_of_a_device_is_told_once_with_the_cpus_that_it_holds_of() -> None:
    told = list(why_subject(owners(), Subject(0)))
    assert "runtime: by position, the first actor on 2, launch_queue on 6" in told
    assert "main: also where every thread runs that no other role binds" in told
    assert "1: also main of device1: their threads take turns" in told
    assert "0-3: on node 0, where device 0 (0000:01:00.0) is" in told
    assert "40: not on this machine: nothing can run there" in why_subject(owners(), Subject(1))


OWN = b"""{"numascope": 1, "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"},
"bind_cpu": {"device0": {"main": "0-1", "any": {"nodes": 0}}, "device1": {"any": "4-5"}, "device2": {"omp": "6"}},
"bind_memory": {"device0": {"policy": "preferred", "nodes": 1}, "device1": {"policy": "local"},
"device2": {"policy": "interleave", "nodes": "0-1"}}}"""


def test_a_role_within_the_whole_process_is_no_second_owner_and_has_not_the_rest_of_the_threads() -> None:
    on = machine(Shape(2, 1, 1, 4, 2))
    told = list(why_cpu(owners_of(parse_plan("own.json", OWN), on, ()), 0))
    assert [one for one in told if one.startswith("CPU 0")] == [
        "CPU 0 is main of device0: own.json:2:34 gives it CPUs 0-1",
        "CPU 0 is device0: own.json:2:48 gives it node 0, here CPUs 0-3,8-11",
    ]
    assert not [one for one in told if "take turns" in one or "no other role binds" in one]


def test_memory_that_is_not_bound_is_not_said_to_be() -> None:
    here = owners_of(parse_plan("own.json", OWN), machine(Shape(2, 1, 1, 4, 2)), ())
    assert [memory_words(here, Subject(device)) for device in range(4)] == [
        "memory preferred on node 1",
        "memory on the node of whoever first writes it",
        "memory interleaved over nodes 0-1",
        "memory not bound",
    ]
    assert "memory of device0 preferred on node 1, distance 24" in why_cpu(here, 0)
    assert "memory of device1 local: the kernel takes pages near whoever first writes them" in why_cpu(here, 4)


def test_a_cpu_that_is_isolated_and_not_allowed_is_told_as_both() -> None:
    here = owners()
    cpus = here.machine.cpus._replace(partitioned=CpuSet.parse("4-5"), allowed=CpuSet.parse("0-3,6-15"))
    found = dict(free_by_reason(here._replace(machine=here.machine._replace(cpus=cpus))))
    assert str(found["in an isolated partition, outside the allowed CPUs"]) == "4-5"


def test_a_mode_of_torch_is_told_by_its_part_of_the_node() -> None:
    on = machine(Shape(2, 1, 1, 4))
    seats = (Seat(0, "0000:01:00.0", 0, 0), Seat(1, "0000:02:00.0", 0, 0), Seat(2, "0000:81:00.0", 1, 1))
    here = owners_of(read_given("torch:exclusive", on, Seats(seats)), on, seats)
    assert "2 of the 4 CPUs of node 0: 2 devices have CPUs there" in why_cpu(here, 1)
    assert "4 of the 4 CPUs of node 1: no other device has CPUs there" in why_cpu(here, 5)


def test_each_cpu_of_vllm_holds_one_thread() -> None:
    on = machine(Shape(2, 1, 1, 4))
    here = owners_of(read_plan("vllm.sh", b"export VLLM_CPU_OMP_THREADS_BIND='0-2|4-6'", Scene(on, None)), on, ())
    told = list(why_cpu(here, 5))
    assert told[0].startswith("CPU 5 is omp of device1: ")
    assert told[1] == "by position 1 it holds OpenMP's thread 1"
    assert not [one for one in told if "take turns" in one]
    assert "omp: each CPU holds one of OpenMP's threads, in the order of the list" in why_subject(here, Subject(1))
