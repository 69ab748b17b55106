from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_machines import kunpeng
from shapes import Shape, machine

from numascope.errors import InputError, NumascopeError, UsageError
from numascope.plan.given import read_command_line, read_given
from numascope.plan.make.made import NoPlanError

DEVICES = machine(Shape(2, 1, 2, 4), devices=(0, 0, 1))


def line(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "line.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def refusal(tmp_path: Path, text: str | bytes) -> str:
    path = line(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_given(path, DEVICES)
    return str(caught.value).removeprefix(path)


def test_a_mode_of_torch_is_a_plan_by_its_name() -> None:
    plan = read_given("torch:exclusive", DEVICES)
    assert [(str(rule.subject), rule.role, str(rule.cpus)) for rule in plan.rules] == [
        ("device0", "any", "0-3"),
        ("device1", "any", "4-7"),
        ("device2", "any", "8-15"),
    ]
    assert (plan.dialect, plan.memory_mode) == ("torch", "none")


def test_a_torchrun_command_line_is_the_plan_of_its_mode(tmp_path: Path) -> None:
    plan = read_given(
        line(tmp_path, "# as started\ntorchrun --nproc-per-node 2 --numa-binding=node train.py --lr 1\n"), DEVICES
    )
    assert [str(rule.cpus) for rule in plan.rules] == ["0-7", "0-7"]


def test_where_torch_fails_the_plan_says_so_with_exit_code_1() -> None:
    crowded = machine(Shape(1, 1, 1, 2), devices=(0, 0, 0))
    with pytest.raises(NoPlanError, match="There are only 2 physical cores") as caught:
        read_given("torch:exclusive", crowded)
    assert caught.value.exit_code == 1


def test_an_unknown_mode_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r'"sockets" is no mode of torch: node, .*did you mean "socket"'):
        read_given("torch:sockets", DEVICES)


def test_an_msrun_command_line_is_read_with_its_dict_forms(tmp_path: Path) -> None:
    text = """#!/bin/sh
    /opt/bin/msrun --worker_num=2 --local_worker_num=2 \\
        --bind_core='{"device0": ["0-3"], "device1": ["4-7"]}' --bind_numa '{"device0": ["1"]}' train.py
    """
    plan = read_given(line(tmp_path, text), DEVICES)
    assert [str(rule.cpus) for rule in plan.rules] == ["0-3", "4-7"]
    assert [str(rule.nodes) for rule in plan.memory] == ["1"]
    assert [*map(str, plan.notes)] == [
        f"{plan.path}:3:78: --bind_numa has no key for worker 1, and binds nothing there"
    ]


def test_true_is_what_msrun_computes_on_the_machine(tmp_path: Path) -> None:
    plan = read_given(line(tmp_path, "msrun --worker_num=8 --bind_core=True x.py"), kunpeng())
    assert [str(rule.cpus) for rule in plan.rules][:2] == ["0-23", "24-47"]


def test_ids_that_the_machine_has_not_are_told(tmp_path: Path) -> None:
    plan = read_given(line(tmp_path, """msrun --bind_core '{"device0":["12-19"]}' x"""), DEVICES)
    assert plan.notes[-1].text == (
        "CPU 16-19 of device0 is not there or not allowed here: msrun ends with RuntimeError, whoever would get it"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("msrun train.py", ":1:1: this msrun binds nothing: it has neither --bind_core nor --bind_numa"),
        ("torchrun train.py", ":1:1: this torchrun binds nothing: it has no --numa-binding"),
        ("msrun --bind_numa=a.json x", ':1:19: --bind_numa names the file "a.json": give that file as the plan'),
        ("msrun --bind_core='{", ":1:7: a quote or backslash of the command line is not closed"),
        (b"msrun \xff --bind_core=true", ":1:7: is not UTF-8: save it as UTF-8"),
        ("msrun --bind_core=true --worker_num=x y", ':1:37: --worker_num is "x": expected a number of ranks'),
        ("msrun " + "x" * 70_000, ":1:1: a command line of over 64 KiB: keep the binding options alone"),
        ("#\n" * 200_000, ':1:1: begins with "#", this is no bind plan'),
    ],
)
def test_a_command_line_that_cannot_be_a_plan(tmp_path: Path, text: str | bytes, problem: str) -> None:
    assert refusal(tmp_path, text).startswith(problem)


WORDS = st.sampled_from([
    "--bind_core=true", "--bind_numa=True", "--bind_core", "{}", '{"device0":["0-3"]}', "--worker_num=3", "--numa-binding=node",
    "--numa_binding", "exclusive", "--nproc-per-node", "2", "auto", "x.py", "'", "\\\n", "#", "--", "--=",
])  # fmt: skip


@settings(deadline=None)
@given(st.sampled_from(["msrun ", "torchrun ", "/a/b/msrun "]), st.lists(WORDS | st.text(max_size=5), max_size=6))
def test_any_command_line_is_a_plan_or_one_error(program: str, words: list[str]) -> None:
    data = (program + " ".join(words)).encode(errors="replace")
    try:
        told = read_command_line("line", data, DEVICES).dialect
    except NumascopeError as error:
        told = str(error)
    assert told
    assert "\n" not in told


def test_a_text_that_is_no_command_line_is_not_called_one_of_msrun() -> None:
    with pytest.raises(InputError, match=r"words:1:1: this text binds nothing: it has neither --bind_core"):
        read_command_line("words", b"hello world", DEVICES)


def test_the_mode_of_a_torchrun_in_a_file_has_its_place() -> None:
    with pytest.raises(
        InputError, match=r'words:1:10: --numa-binding: "nod" is no mode of torch: .*did you mean "node"'
    ):
        read_command_line("words", b"torchrun --numa-binding=nod train.py", DEVICES)


def test_torchs_modes_need_an_accelerator_and_no_option_is_named_that_is_not_there() -> None:
    with pytest.raises(NoPlanError, match="no accelerator is seen here: --device 0=PCI-ADDRESS"):
        read_given("torch:node", machine(Shape(1, 1, 1, 2)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# bind.conf\n[Service]\nCPUAffinity=0-3\n", ':1:1: begins with "#", this is no bind plan'),
        ('# a plan\n{"bind_cpu": {}}', ':1:1: found "#": expected a value (JSON has no comments)'),
        ("rank 99999999999=host slot=0\n", "is no line of a rankfile"),
    ],
)
def test_what_is_nearly_of_a_dialect_is_told_in_its_terms(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text)
