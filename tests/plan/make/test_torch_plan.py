from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import Shape, machine
from torch_machines import machine_of, seats_of

from numascope.cpuset import EMPTY, CpuSet
from numascope.plan.make.made import Made, NoPlanError
from numascope.plan.make.seats import Seat, Seats, found_seats
from numascope.plan.make.torch_modes import MODES
from numascope.plan.make.torch_plan import TorchWish, make_torch

CORPUS: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[3] / "snapshots" / "plans" / "torch-answers.json").read_text(encoding="utf-8")
)


def made(name: str, mode: str, *, allowed: str | None = None, ranks: int | None = None, strict: bool = False) -> Made:
    topology = CORPUS["topologies"][name]
    on = machine_of(topology)
    seats = tuple(seat._replace(address=f"0000:{seat.number:02x}:00.0") for seat in seats_of(topology["devices"]))
    usable = on.cpus.online if allowed is None else CpuSet.parse(allowed)
    return make_torch(on, TorchWish(mode, usable, Seats(seats), seats[:ranks], strict))


def cpus(plan: Made) -> list[str]:
    return [str(share.cpus) for share in plan.shares]


@pytest.mark.parametrize("mode", MODES)
def test_where_torch_answers_for_every_device_the_plan_is_torchs_and_torchrun_makes_it_itself(mode: str) -> None:
    wanted = [case["expect"] for case in CORPUS["cases"] if (case["name"], case["mode"]) == ("no_smt", mode)]
    plan = made("no_smt", mode)
    assert cpus(plan) == wanted
    assert plan.torch_mode == mode
    assert all(share.memory is None for share in plan.shares)


def test_strict_ends_with_the_words_of_torch() -> None:
    with pytest.raises(NoPlanError) as caught:
        made("memory_only_node", "socket", strict=True)
    assert caught.value.exit_code == 1
    assert str(caught.value) == (
        "torchrun --numa-binding=socket fails here for device 0 (0000:00:00.0) (ValueError: min() arg is an empty sequence)"
    )


@pytest.mark.parametrize("name", ["memory_only_node", "possible_wider_than_present"])
def test_socket_passes_over_nodes_without_cpus_and_says_that_torchrun_would_fail(name: str) -> None:
    plan = made(name, "socket")
    assert cpus(plan) == ["0-15,32-47", "0-15,32-47", "16-31,48-63", "16-31,48-63"]
    assert plan.torch_mode is None
    assert plan.notes[0].startswith("torchrun --numa-binding=socket fails here for device 0")


def test_a_device_whose_node_has_no_cpu_to_use_goes_to_the_next_node() -> None:
    plan = made("memory_only_node", "node", allowed="8-31,40-63")
    assert cpus(plan)[0] == "8-15,40-47"
    assert any("node 0 has no CPU to use, node 1 is next" in note for note in plan.notes)


def test_exclusive_with_fewer_cores_than_devices_shares_them() -> None:
    plan = made("fewer_cores_than_devices", "exclusive")
    assert cpus(plan) == [cpus(plan)[at % 2] for at in range(4)]
    assert "node 0 has 2 cores for 4 devices: cores are shared" in plan.notes


def test_without_any_usable_cpu_there_is_no_plan() -> None:
    with pytest.raises(NoPlanError, match="no node of this machine has one of the allowed CPUs"):
        make_torch(
            machine_of(CORPUS["topologies"]["no_smt"]),
            TorchWish("node", EMPTY, Seats((Seat(0, None, 0, 0),)), (Seat(0, None, 0, 0),)),
        )


def test_what_torch_does_silently_is_told() -> None:
    assert (
        "the kernel knows no node of device 0, 1, 2, 3: torch takes node 0"
        in made("minus_one_on_multi_node", "node").notes
    )
    assert any("less than two cores" in note for note in made("no_l3", "core-complex").notes)
    fewer = made("no_smt", "exclusive", ranks=4)
    assert "torch counts every visible device: 4 without a rank make the shares smaller" in fewer.notes
    assert cpus(fewer) == cpus(made("no_smt", "exclusive"))[:4]


def test_an_exclusive_share_that_cuts_a_cache_is_told() -> None:
    notes = made("uneven_3_2_0_1", "exclusive").notes
    assert any("shares an L3 with another device" in note for note in notes)


@settings(deadline=None)
@given(st.sampled_from(sorted(CORPUS["topologies"])), st.sampled_from(MODES), st.data())
def test_a_kind_plan_is_never_outside_the_allowed_cpus(name: str, mode: str, data: st.DataObject) -> None:
    online = machine_of(CORPUS["topologies"][name]).cpus.online
    allowed = CpuSet.of(data.draw(st.sets(st.sampled_from(list(online)), min_size=1)))
    for share in made(name, mode, allowed=str(allowed)).shares:
        assert share.cpus
        assert share.cpus <= allowed


def test_a_part_of_the_devices_is_told_to_be_all_that_torch_may_see() -> None:
    on = machine(Shape(2, 1, 2, 4), devices=(0, 0, 1))
    on = on._replace(devices=tuple(one._replace(kind="gpu") for one in on.devices))
    seats = found_seats(on, ("gpu",), None).seats
    for chosen, told in ((seats[:2], True), (seats, False)):
        notes = make_torch(on, TorchWish("node", on.cpus.online, Seats(chosen), chosen)).notes
        assert any("CUDA_VISIBLE_DEVICES names these 2 alone" in note for note in notes) is told
