"""A whole msrun command line on a machine: how many workers it starts, which devices they have, what ends it."""

from __future__ import annotations

import pytest
from large_machines import kunpeng
from shapes import Shape, machine

from numascope.errors import InputError
from numascope.machine.objects import Machine
from numascope.plan.dialects.detect import dialect_of
from numascope.plan.given import read_command_line
from numascope.plan.make.made import NoPlanError
from numascope.plan.objects import Plan

_NPUS = machine(Shape(2, 1, 1, 8), devices=(1, 0))
GPUS = _NPUS._replace(devices=tuple(one._replace(kind="gpu") for one in _NPUS.devices))
"""Two GPUs, of which MindSpore asks nobody."""


def read(line: str, on: Machine = GPUS) -> Plan:
    return read_command_line("line", line.encode(), on)


def cpus(plan: Plan) -> dict[str, str]:
    return {str(rule.subject): str(rule.cpus) for rule in plan.rules}


def test_true_deals_to_eight_workers_where_no_number_is_given() -> None:
    plan = read("msrun --bind_core=True train.py")
    assert cpus(plan) == {f"device{at}": str(plan.rules[at].cpus) for at in range(8)}
    assert [str(rule.cpus) for rule in plan.rules[:2]] == ["0-1", "2-3"]


def test_gpus_are_not_what_npu_smi_shows() -> None:
    line = "msrun --worker_num=2 --local_worker_num=2 --bind_core=true x.py"
    assert cpus(read(line, _NPUS)) == {"device0": "8-15", "device1": "0-7"}
    assert cpus(read(line)) == {"device0": "0-7", "device1": "8-15"}


@pytest.mark.parametrize("options", ["--worker_num=4", "--local_worker_num=16", "--worker_num=2 --local_worker_num=4"])
def test_more_local_workers_than_workers_end_msrun(options: str) -> None:
    (note,) = [
        note for note in read(f"msrun {options} --bind_core='{{}}' x.py").notes if "ends at the first" in note.text
    ]
    assert note.text.endswith("msrun ends at the first worker, the scheduler stays behind")


@pytest.mark.parametrize("options", ["", "--worker_num=16", "--worker_num=8 --local_worker_num=8"])
def test_eight_of_eight_and_eight_of_more_are_fine(options: str) -> None:
    assert read(f"msrun {options} --bind_core='{{}}' x.py").notes == ()


def test_visible_devices_before_the_command_name_the_keys() -> None:
    line = """ASCEND_RT_VISIBLE_DEVICES=7,6 GLOG_v=2 msrun --bind_core='{"device6": ["10-19"], "device7": ["20-29"]}' x.py"""
    assert dialect_of(line.encode()) == "msrun"
    assert cpus(read(line, kunpeng())) == {"device6": "10-19", "device7": "20-29"}
    simulated = read(f"MS_SIMULATION_LEVEL=1 {line}", kunpeng())
    assert cpus(simulated) == {}


def test_a_script_may_export_them_first() -> None:
    text = """#!/bin/bash
    export ASCEND_RT_VISIBLE_DEVICES=7,6;
    # two of eight
    /usr/bin/msrun --bind_core='{"device6": ["10-19"]}' x.py
    """
    assert dialect_of(text.encode()) == "msrun"
    assert cpus(read(text, kunpeng())) == {"device6": "10-19"}


def test_what_stands_behind_the_script_is_the_script_s_own() -> None:
    with pytest.raises(InputError, match="this msrun binds nothing"):
        read("msrun --worker_num 2 train.py --bind_core=True")
    line = "python3 /opt/bin/msrun --join True --worker_num 2 --local_worker_num 2 --bind_core {} t.py --worker_num=x"
    assert read(line).notes == ()


def test_a_dry_run_by_option_asks_no_device() -> None:
    line = "msrun --worker_num=2 --local_worker_num=2 --sim_level 1 --bind_core=True x.py"
    assert cpus(read(line, kunpeng())) == {"device0": "0-95", "device1": "96-191"}


def test_options_without_their_command_are_read_too() -> None:
    assert cpus(read("""--bind_core='{"device0": ["0-3"]}'""")) == {"device0": "0-3"}


def test_a_bind_json_may_stand_in_the_place_of_its_file_and_goes_before_the_other_option() -> None:
    unified = '{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0-3"}}}'
    plan = read(f"""msrun --bind_numa='{unified}' --bind_core='{{"device1": ["4"]}}' x.py""")
    assert (plan.dialect, cpus(plan)) == ("mindspore", {"device0": "0-3"})
    assert [*map(str, plan.notes)] == ["line:1:118: --bind_core has no effect beside a bind JSON"]
    with pytest.raises(InputError, match="line:1:20: --bind_core is the unified bind JSON"):
        read(f"msrun --bind_core='{unified}' x.py")


def test_visible_devices_that_are_no_numbers_end_msrun() -> None:
    with pytest.raises(InputError, match='ASCEND_RT_VISIBLE_DEVICES is "0,x": msrun ends with ValueError'):
        read("ASCEND_RT_VISIBLE_DEVICES=0,x msrun --bind_core='{}' x.py")


def test_a_simulation_deals_equally_and_asks_no_device() -> None:
    line = "msrun --worker_num=2 --local_worker_num=2 --bind_core=True x.py"
    assert cpus(read(f"MS_SIMULATION_LEVEL=1 {line}", kunpeng())) == {"device0": "0-95", "device1": "96-191"}


def test_what_the_command_line_refuses_comes_before_what_true_would_end_with() -> None:
    few = kunpeng()._replace(nodes=kunpeng().nodes[:4])
    with pytest.raises(NoPlanError, match="StopIteration"):
        read("msrun --local_worker_num=4 --bind_numa=True x.py", few)
    with pytest.raises(InputError, match="line:1:57: --bind_core: found"):
        read("msrun --local_worker_num=4 --bind_numa=True --bind_core=yes x.py", few)


CASES = [
    (
        'msrun --local_worker_num 2 \\\n  --bind_core="{\\"device0\\": [\\"0-3\\"],\n  \\"device5\\": [\\"4\\"]}" x.py',
        "line:3:4: msrun matches keys by their order: device5 stands where worker 1 looks for device1, who stays unbound",
    ),
    (
        "msrun --local_worker_num=16 --worker_num=4 --bind_core='{}' x.py",
        "line:1:42: --local_worker_num is 16 (given) and --worker_num 4: msrun ends at the first worker, the scheduler stays behind",
    ),
]


@pytest.mark.parametrize(("text", "told"), CASES)
def test_what_is_odd_is_told_with_its_line_and_column_in_the_file(text: str, told: str) -> None:
    assert [str(note) for note in read(text).notes if str(note).startswith(told[:8])] == [told]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("msrun --bind-core=True x.py", '1:7: msrun has no option "--bind-core" and refuses it, did you mean "bind_core"'),
        ("msrun --bind_core=True --w 2 x.py", '1:24: "--w" is short for worker_num and worker_log_name: msrun refuses it'),
        ("msrun --bind_core", '1:7: "--bind_core" has no value, which msrun refuses'),
        ("msrun --bind_core --join=True x.py", '1:7: "--bind_core" has no value, which msrun refuses'),
        ("msrun --bind_core={'device0':['0']} x.py", '1:21: --bind_core: found "device": expected a key in double quotes'),
        ("msrun\n\n--bind_core=True", "1:1: this msrun binds nothing"),
        ("msrun --bind_numa='{\"bind_config\":{\"bind_cpu_mode\":\"x\"}}' a", '1:52: "bind_cpu_mode" is "x"'),
        ("export ASCEND_RT_VISIBLE_DEVICES=a\nmsrun --bind_core='{}' x", "1:34: ASCEND_RT_VISIBLE_DEVICES is"),
    ],
)  # fmt: skip
def test_what_msrun_itself_refuses_is_refused_in_its_place(line: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(line)
    assert str(caught.value).startswith(f"line:{problem}")


@pytest.mark.parametrize(
    "text",
    [
        'cd /data && msrun --bind_c=\'{"device0": ["0-3"]}\' x.py > log 2>&1 &',
        'nohup python3 -m mindspore.parallel.cluster.run --bind_core \'{"device0": ["0-3"]}\' x.py; echo --bind_core=False',
        'bash -c "msrun --bind_core=\'{\\"device0\\": [\\"0-3\\"]}\' x.py"',
        '\ufeffmsrun \\\r\n --bind_core=\'{"device0": ["0-3"]}\' \\\r\n x.py # all\r\n',
        'which msrun\nnumactl -C 0-7 msrun --bind_core=\'{"device0": ["0-3"]}\' x.py',
    ],
)
def test_an_msrun_within_a_script_is_found(text: str) -> None:
    assert dialect_of(text.encode()) == "msrun"
    assert cpus(read(text)) == {"device0": "0-3"}


def test_a_tool_that_starts_msrun_is_told_as_not_read() -> None:
    text = 'numactl -m 0 msrun --local_worker_num=1 --worker_num=1 --bind_core=\'{"device0": ["0-3"]}\' x.py'
    assert [*map(str, read(text).notes)] == [
        "line:1:1: numactl before msrun is not read here: ranks inherit of it what msrun does not bind"
    ]
