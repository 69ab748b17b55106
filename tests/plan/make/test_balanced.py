from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from captures import MACHINES, expected
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from large_machines import epyc, kunpeng
from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.host.archive.root import open_archive
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine
from numascope.plan.given import allowed_cpus
from numascope.plan.load import parse_plan
from numascope.plan.make.balanced import BalancedWish, Smt, make_balanced
from numascope.plan.make.made import Made, NoPlanError
from numascope.plan.make.msrun import MsrunWish, make_msrun
from numascope.plan.make.seats import Seat, found_seats
from numascope.plan.make.torch_modes import MODES
from numascope.plan.make.torch_plan import TorchWish, make_torch
from numascope.plan.objects import HOT_ROLES
from numascope.plan.write.mindspore import mindspore_text

SMT: Final[tuple[Smt, ...]] = ("avoid", "use", "pair")
KEPT = sorted(path.parent.name for path in MACHINES.glob("*/about.toml"))


def seats(nodes: Sequence[int | None]) -> tuple[Seat, ...]:
    return tuple(Seat(number, None, node, node) for number, node in enumerate(nodes))


def made(on: Machine, nodes: Sequence[int | None], **wish: Any) -> Made:  # noqa: ANN401  (any field of the wish)
    return make_balanced(on, BalancedWish(on.cpus.online, seats(nodes))._replace(**wish))


def roles(plan: Made, device: int) -> dict[str, str]:
    return {one.role: str(one.cpus) for one in plan.shares[device].roles}


def kept_machine(name: str) -> Machine:
    about = tomllib.loads((MACHINES / name / "about.toml").read_text(encoding="utf-8"))
    root = open_archive(str(MACHINES / name / about["file"]))
    try:
        return build_machine(root)
    finally:
        root.close()


def test_two_devices_of_a_node_share_it_and_load_data_on_the_node_beside_it() -> None:
    plan = made(kunpeng(), (0, 0, 2, 2, 4, 4, 6, 6))
    assert roles(plan, 0) == {"main": "6-12", "runtime": "1-5", "minddata": "25-36"}
    assert roles(plan, 1) == {"main": "18-23", "runtime": "13-17", "minddata": "37-47"}
    assert [str(share.memory) for share in plan.shares] == ["0", "0", "2", "2", "4", "4", "6", "6"]
    assert (str(plan.scheduler), plan.notes) == ("0", ())


def test_hot_roles_are_alone_on_their_cores_and_the_data_loading_has_both_threads() -> None:
    on = machine(Shape(1, 1, 2, 8, 2))
    plan = made(on, (0,))
    assert roles(plan, 0) == {"main": "13-15", "runtime": "8-12", "minddata": "1-7,17-23"}
    assert roles(made(on, (0,), smt="avoid"), 0)["minddata"] == "1-7"
    assert roles(made(on, (0,), smt="pair"), 0)["runtime"] == "8-12,24-28"


def test_a_role_of_a_given_size_lies_in_the_cache_that_it_just_fits() -> None:
    on = machine(Shape(1, 1, 4, 4))
    plan = made(on, (0,), roles={"main": 4, "runtime": 3, "loader": 4}, reserve=1)
    assert roles(plan, 0) == {"main": "4-7", "runtime": "1-3", "loader": "8-11"}


def test_a_role_gets_just_as_many_cpus_as_are_given_and_no_other_role_the_rest_of_its_last_core() -> None:
    on = machine(Shape(1, 1, 1, 8, 2))
    plan = made(on, (0,), roles={"main": 3, "minddata": 5, "comm": 3}, smt="pair", reserve=0)
    assert roles(plan, 0) == {"main": "0-1,8", "minddata": "2-4,10-11", "comm": "5-6,13"}


def test_what_does_not_fit_near_goes_to_the_nearest_free_cores_and_says_so() -> None:
    on = machine(Shape(2, 1, 1, 8))
    plan = made(on, (0, 0), roles={"main": 3, "loader": 3}, reserve=0)
    assert roles(plan, 0) == {"main": "0-2", "loader": "8-10"}
    assert roles(plan, 1) == {"main": "4-6", "loader": "11-13"}
    assert "devices 0-1: loader is on node 1, distance 24, nearer there is no room" in plan.notes
    assert [str(share.memory) for share in plan.shares] == ["0", "0"]


def test_cores_are_kept_on_each_node_and_the_first_are_the_scheduler_s() -> None:
    plan = made(machine(Shape(2, 1, 1, 8, 2)), (0, 1), reserve=2)
    assert str(plan.scheduler) == "0-1,16-17"
    assert all(share.cpus.isdisjoint(CpuSet.parse("0-1,8-9,16-17,24-25")) for share in plan.shares)


def test_where_none_is_kept_the_scheduler_has_the_last_core_in_no_role_of_the_node_with_most() -> None:
    plan = made(machine(Shape(2, 1, 1, 8, 2)), (0, 1), roles={"main": 4, "minddata": 2}, reserve=0)
    assert str(plan.scheduler) == "7,23"
    plan = made(machine(Shape(2, 1, 1, 8, 2)), (0,), roles={"main": 4, "minddata": 2}, reserve=0)
    assert str(plan.scheduler) == "15,31"


def test_the_core_that_is_kept_by_default_is_given_up_before_a_plan_fails() -> None:
    plan = made(machine(Shape(1, 1, 1, 8)), (0,) * 8)
    assert [str(share.cpus) for share in plan.shares] == [str(cpu) for cpu in range(8)]
    assert plan.notes[-1] == "no core is kept for the system, as all are needed"


def test_isolated_and_busy_cpus_are_left_out_a_busy_one_with_its_whole_core() -> None:
    on = machine(Shape(1, 1, 1, 8, 2), isolated="6-7,14-15")
    plan = made(on, (0,), busy=CpuSet.of([9]), reserve=0)
    assert plan.shares[0].cpus.isdisjoint(CpuSet.parse("1,6-7,9,14-15"))
    assert plan.notes[:2] == (
        "isolated CPUs 6-7,14-15 are left out: no threads are balanced there",
        "busy CPUs 9 are left out with their whole cores",
    )


def test_cpus_of_an_isolated_partition_are_left_out_as_isolated_ones_are() -> None:
    on = machine(Shape(1, 1, 1, 8))
    apart = on._replace(cpus=on.cpus._replace(partitioned=CpuSet.parse("4-5")))
    plan = made(apart, (0,), reserve=0)
    assert str(plan.shares[0].cpus) == "0-3,6-7"
    assert plan.notes[0] == "isolated CPUs 4-5 are left out: no threads are balanced there"


def test_a_device_near_a_node_without_cores_or_memory_gets_the_nearest() -> None:
    on = machine(Shape(2, 1, 1, 4))
    first, second = on.nodes
    plan = make_balanced(on, BalancedWish(CpuSet.span(4, 7), seats((0,))))
    assert roles(plan, 0) == {"main": "5-6", "runtime": "4", "minddata": "7"}
    assert plan.notes[0] == "device 0: node 0 has no core to plan, node 1 is next, distance 24"
    bare = on._replace(nodes=(first, second._replace(memory_kib=0)))
    plan = made(bare, (1,))
    assert str(plan.shares[0].memory) == "0"
    assert "device 0: node 1 has no memory to use, node 0 is next" in plan.notes


def test_a_device_whose_node_nobody_knows_goes_where_most_room_is() -> None:
    plan = made(machine(Shape(2, 1, 1, 8)), (0, None))
    assert plan.shares[1].cpus <= CpuSet.span(8, 15)
    assert any("device 1: no source knows its node, node 1 is taken" in note for note in plan.notes)


def test_a_node_with_fewer_cores_than_devices_sends_the_rest_to_the_next() -> None:
    plan = made(machine(Shape(2, 1, 1, 2)), (0, 0, 0), reserve=0)
    assert [str(share.cpus) for share in plan.shares] == ["0", "1", "2-3"]
    assert plan.notes[0] == "device 2: node 0 has no core left to plan, node 1 is next, distance 24"


def test_few_cores_leave_out_roles_before_they_share() -> None:
    assert roles(made(machine(Shape(1, 1, 1, 1, 2)), (0,)), 0) == {"main": "0-1"}
    assert roles(made(machine(Shape(1, 1, 1, 2)), (0,)), 0) == {"main": "0", "minddata": "1"}
    assert roles(made(machine(Shape(1, 1, 1, 3)), (0,)), 0) == {"main": "1", "runtime": "0", "minddata": "2"}


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"ranks": seats((0,) * 9)}, "device 8 gets no core of its own: 8 may be planned, for 9 devices"),
        ({"roles": {"main": 9}}, "main=9 of device 0 does not fit, 8 CPUs are left for it"),
        ({"busy": CpuSet.span(0, 7)}, "no core is left to plan"),
        ({"allowed": EMPTY}, "no core is left to plan"),
        ({"reserve": 8}, "no core is left to plan"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(wish: dict[str, Any], sentence: str) -> None:
    on = machine(Shape(1, 1, 1, 8))
    with pytest.raises(NoPlanError) as caught:
        make_balanced(on, BalancedWish(on.cpus.online, seats((0,)), reserve=0)._replace(**wish))
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def check(on: Machine, plan: Made, allowed: CpuSet) -> None:
    """Every CPU is there, online, allowed and not isolated, and has one owner."""
    seen = plan.scheduler
    assert plan.scheduler <= on.cpus.online & allowed
    for share in plan.shares:
        for one in share.roles:
            assert one.cpus
            assert one.cpus <= (on.cpus.online & allowed) - on.cpus.isolated - on.cpus.partitioned
            assert one.cpus.isdisjoint(seen)
            seen |= one.cpus


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("ranks", [None, 2])
def test_plans_for_every_kept_machine_are_valid(name: str, ranks: int | None) -> None:
    on = kept_machine(name)
    allowed = allowed_cpus(on)
    there = found_seats(on, ("npu",), ranks or 1)
    plan = make_balanced(on, BalancedWish(allowed, there.seats[:ranks], notes=tuple(map(str, there.notes))))
    check(on, plan, allowed)
    assert len(plan.shares) == len(there.seats[:ranks])
    for mode in MODES:
        for share in make_torch(on, TorchWish(mode, allowed, there, there.seats)).shares:
            assert share.cpus
            assert share.cpus <= on.cpus.online & allowed
    with suppress(NoPlanError):
        wide = MsrunWish(allowed, there.seats, runtime=(0, 0), minddata=(0, 0), main=(0, 0), scheduler=(0, 0))
        for share in make_msrun(on, wide).shares:
            assert share.cpus <= on.cpus.online & allowed


@pytest.mark.parametrize("name", sorted(expected()))
def test_plans_for_every_machine_of_the_store_are_valid(name: str, stored_root: Callable[[str], Path]) -> None:
    on = build_machine(HostRoot(str(stored_root(name))))
    allowed = allowed_cpus(on)
    there = found_seats(on, ("npu",), 2)
    for smt in SMT:
        check(on, make_balanced(on, BalancedWish(allowed, there.seats, smt=smt)), allowed)
    for mode in MODES:
        with suppress(NoPlanError):  # where no cache is told, core-complex has nothing to go by
            for share in make_torch(on, TorchWish(mode, allowed, there, there.seats)).shares:
                assert share.cpus
                assert share.cpus <= on.cpus.online & allowed


shapes = st.builds(
    Shape,
    st.integers(1, 2),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 3),
    st.just(0),
)
sizes = st.none() | st.dictionaries(
    st.sampled_from(["main", "runtime", "pynative", "minddata"]), st.integers(1, 5), min_size=1
)


@settings(deadline=None)
@given(shapes, sizes, st.sampled_from(SMT), st.none() | st.integers(0, 2), st.data())
def test_plans_never_overlap_and_never_leave_what_is_allowed(
    shape: Shape, wanted: dict[str, int] | None, smt: Smt, reserve: int | None, data: st.DataObject
) -> None:
    whole = machine(shape)
    numbers = list(whole.cpus.online)
    some = st.sets(st.sampled_from(numbers), max_size=4)
    gone, apart = data.draw(some), data.draw(some)
    assume(len(gone) < len(numbers))
    on = machine(shape, offline=str(CpuSet.of(gone)), isolated=str(CpuSet.of(apart)))
    few = st.sets(st.sampled_from(numbers), max_size=len(numbers) // 4)
    allowed = CpuSet.of(numbers) - CpuSet.of(data.draw(few))
    busy = CpuSet.of(data.draw(some))
    near = data.draw(st.lists(st.none() | st.sampled_from([node.id for node in on.nodes]), min_size=1, max_size=6))
    try:
        plan = make_balanced(on, BalancedWish(allowed, seats(near), wanted, smt, reserve, busy))
    except NoPlanError:
        reject()
    check(on, plan, allowed)
    cores = {cpu: core.cpus for core in on.cores for cpu in core.cpus}
    for share in plan.shares:
        for one in share.roles:
            assert wanted is None or len(one.cpus) == wanted[one.role]
            assert all(cores[cpu].isdisjoint(busy) for cpu in one.cpus)
            others = CpuSet.of(cpu for other in plan.shares for role in other.roles if role != one for cpu in role.cpus)
            assert all(cores[cpu].isdisjoint(others) for cpu in one.cpus)
            alone = smt == "avoid" or (
                smt == "use" and one.role in HOT_ROLES and (wanted is not None or len(share.roles) > 1)
            )
            assert not alone or all(len(cores[cpu] & one.cpus) == 1 for cpu in one.cpus)
    read = parse_plan("bind.json", mindspore_text(plan).encode())
    assert read.notes == ()
    told = {(rule.subject.device, rule.role): rule.cpus for rule in read.rules}
    wished = {(share.seat.number, one.role): one.cpus for share in plan.shares for one in share.roles}
    if plan.scheduler:
        wished[None, "main"] = plan.scheduler  # type: ignore[index]  # the scheduler has no number
    assert told == wished
    assert {rule.subject.device: rule.nodes for rule in read.memory} == {
        share.seat.number: share.memory for share in plan.shares if share.memory is not None
    }


def test_a_large_server_is_planned_in_whole_caches() -> None:
    on = epyc()
    there = found_seats(on, ("gpu",), None)
    plan = make_balanced(on, BalancedWish(on.cpus.online, there.seats))
    thirds = [cache.cpus for cache in on.caches if cache.level == 3]
    for cache in thirds:
        assert sum(1 for share in plan.shares if not share.cpus.isdisjoint(cache)) <= 1
