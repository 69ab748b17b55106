from __future__ import annotations

import pytest
from large_machines import epyc, kunpeng
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.plan.load import parse_plan
from numascope.plan.make.balanced import BalancedWish, make_balanced
from numascope.plan.make.seats import found_seats
from numascope.plan.objects import Subject
from numascope.plan.owners import Owners, owners_of
from numascope.plan.write.mindspore import mindspore_text
from numascope.show.canvas import cells
from numascope.show.ink import Line, plain
from numascope.show.plan_document import plan_document
from numascope.show.plan_explain import explain_cpu_lines, explain_device_lines, explain_lines
from numascope.show.plan_map import letters_of, plan_map


def owners(on: Machine, ranks: int | None = None) -> Owners:
    there = found_seats(on, ("npu",), ranks)
    made = make_balanced(on, BalancedWish(on.cpus.online, there.seats))
    return owners_of(parse_plan("bind.json", mindspore_text(made).encode()), on, there.seats)


def text(lines: list[Line]) -> str:
    return "\n".join(plain(line) for line in lines)


def test_the_map_has_each_device_s_letter_and_role_and_what_is_in_no_role() -> None:
    assert [plain(line) for line in plan_map(owners(kunpeng()), 140).lines][:2] == [
        " N0   0        4        8        12       16       20        N1   24       28       32       36       40       44",
        "      smararar araramam amamamam ambrbrbr brbrbmbm bmbmbmbm       · adadad adadadad adadadad adbdbdbd bdbdbdbd bdbdbdbd",
    ]


def test_siblings_stand_above_each_other() -> None:
    assert [plain(line) for line in plan_map(owners(machine(Shape(1, 1, 2, 4, 2)), 1), 80).lines] == [
        " N0     0            4",
        " smt 0  sm ad ad ad  ar ar am am",
        " smt 1  sm ad ad ad  ·  ·  ·  ·",
    ]


def test_one_cpu_is_marked_among_the_others_and_the_words_name_only_signs_that_are_there() -> None:
    drawn = plan_map(owners(kunpeng()), 80, cpu=25)
    assert " N1   24       28       32       36       40       44\n      · ■■adad adadadad" in text([*drawn.lines])
    assert drawn.words == "1 cell = 1 CPU: letter of the device, then m main, r runtime, d minddata; · free; ■ CPU 25"


def test_at_80_columns_each_cpu_of_192_has_room_for_its_role() -> None:
    lines = [plain(line) for line in plan_map(owners(kunpeng()), 80).lines]
    assert len(lines) == 16
    assert lines[:2] == [
        " N0   0        4        8        12       16       20",
        "      smararar araramam amamamam ambrbrbr brbrbmbm bmbmbmbm",
    ]


def test_one_device_is_drawn_alone() -> None:
    drawn = plan_map(owners(kunpeng()), 80, only=Subject(1))
    assert "      · · · ·  · · · ·  · · · ·  · brbrbr brbrbmbm bmbmbmbm" in text([*drawn.lines])
    assert drawn.words == "1 cell = 1 CPU: b device1, then m main, r runtime, d minddata; · not device1"


def test_cells_of_one_column_show_the_roles_of_a_device_drawn_alone() -> None:
    on = machine(Shape(1, 1, 1, 40))
    drawn = plan_map(owners(on, 1), 60, only=Subject(0))
    assert "rrr" in text([*drawn.lines])
    assert drawn.words.startswith("1 cell = 1 CPU: m main, r runtime, d minddata; · not device0")


def test_a_planned_cpu_that_may_not_be_used_is_marked() -> None:
    here = owners(machine(Shape(1, 1, 1, 8)), 1)
    cpus = here.machine.cpus._replace(allowed=CpuSet.parse("0-3"))
    drawn = plan_map(here._replace(machine=here.machine._replace(cpus=cpus)), 80)
    assert "⊘A" in text([*drawn.lines])
    assert "⊘ planned, not allowed" in drawn.words


def test_names_of_two_digits_do_not_run_into_the_rows() -> None:
    on = machine(Shape(11, 1, 1, 2, 2))
    lines = [plain(line) for line in plan_map(owners(on, 1), 80).lines]
    assert any(line.startswith(" N10 ") for line in lines)
    assert not [line for line in lines if "N10smt" in line]


def test_the_whole_plan_names_each_role_with_its_place() -> None:
    told = text(explain_lines(owners(kunpeng()), 100))
    assert "bind.json: MindSpore's unified bind JSON, 8 devices, 185 of 192 CPUs planned" in told
    assert "A device0 0000:01:00.0 near node 0: CPUs on nodes 0-1, memory bound to node 0" in told
    assert "    main       7 CPUs  6-12   bind.json:9:15" in told
    assert "24,48,72,96,120,144,168: left to the system" in told


def test_one_cpu_and_one_device_are_told_why() -> None:
    here = owners(kunpeng())
    assert "CPU 3 is runtime of device0: bind.json:10:18 gives it CPUs 1-5" in text(explain_cpu_lines(here, 3, 100))
    device = text(explain_device_lines(here, Subject(1), 100))
    assert "- 13-23: on node 0, where device 1 (0000:02:00.0) is" in device
    assert "- runtime: by position, the first actor on 13, the second actor on 14" in device


@pytest.mark.parametrize("width", [40, 80, 140])
@pytest.mark.parametrize("on", [kunpeng(), epyc(), machine(Shape(1, 1, 1, 2, 2))], ids=["kunpeng", "epyc", "small"])
def test_no_line_is_wider_than_asked(on: Machine, width: int) -> None:
    here = owners(on, 2)
    device = next(subject for subject in here.plan.subjects() if subject.device is not None)
    for lines in (
        explain_lines(here, width), explain_cpu_lines(here, 1, width), explain_device_lines(here, device, width)
    ):  # fmt: skip
        assert max(cells(line) for line in lines) <= width


def test_devices_without_a_letter_left_share_one() -> None:
    here = owners(machine(Shape(2, 1, 4, 16)), 40)
    letters = letters_of(here)
    assert letters[Subject(24)] == "Z"
    assert {letters[Subject(at)] for at in range(25, 40)} == {"+"}
    assert letters[Subject(None)] == "S"


def test_the_document_has_every_role_as_a_range_string() -> None:
    document = plan_document(owners(kunpeng()), "balanced", ["a note"])
    assert document["schema"] == "numascope.plan/1"
    assert (document["policy"], document["plan"], document["scheduler"], document["notes"]) == (
        "balanced",
        None,
        "0",
        ["a note"],
    )
    devices = document["devices"]
    assert isinstance(devices, list)
    assert devices[0] == {
        "device": 0, "address": "0000:01:00.0", "node": 0, "cpus": "1-12,25-36", "memory_nodes": "0",
        "memory_policy": "bind", "roles": {"main": "6-12", "runtime": "1-5", "minddata": "25-36"},
    }  # fmt: skip
