from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.plan.dialects.detect import DIALECTS, dialect_of
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import read_plan
from numascope.plan.make.made import RoleCpus
from numascope.plan.objects import SCHEDULER, MemoryPolicy, Plan, Subject
from numascope.plan.write.forms import FORMS, Written, converted, written
from numascope.plan.write.outline import Outline, Part, Setting, outline_of_plan

HOST = machine(Shape(2, 1, 4, 2))
PAIRED = machine(Shape(2, 1, 2, 2, 2))
"""CPU n and n + 8 are one core; node 0 is 0-3,8-11."""
SETTING = Setting(PAIRED, ("python", "my train.py"))
READ_BACK = (
    "mindspore",
    "numascope",
    "msrun",
    "torch_npu",
    "mindformers",
    "vllm",
    "rankfile",
    "slurm",
    "numactl",
    "taskset",
    "torchrun",
)
OPENMP = ("vllm", "omp-places", "gomp")
CPUS = st.sets(st.integers(0, 15), min_size=1).map(CpuSet.of)
NODES = st.sets(st.integers(0, 1), min_size=1).map(CpuSet.of)
ROLE_NAMES = st.sampled_from(
    ["main", "runtime", "pynative", "minddata", "any", "loader", "omp", "comm", "name:NCCL*", "name:pt_autograd_?"]
)
POLICIES: st.SearchStrategy[MemoryPolicy] = st.sampled_from(["bind", "bind", "preferred", "interleave", "local"])
Meaning = tuple[dict[str, tuple[str, str]], tuple[str, str] | None]


def by_nodes(nodes: CpuSet) -> RoleCpus:
    cpus = EMPTY
    for node in PAIRED.nodes:
        cpus |= node.cpus if node.id in nodes else EMPTY
    return RoleCpus("any", cpus, nodes)


@st.composite
def parts(draw: st.DrawFn, subject: Subject, common: MemoryPolicy | None) -> Part:
    """A device's; `common` is the policy of all devices, as forms with one for all take it."""
    if draw(st.booleans()):
        roles: tuple[RoleCpus, ...] = (
            (by_nodes(draw(NODES)),) if draw(st.booleans()) else (RoleCpus("any", draw(CPUS)),)
        )
    else:
        roles = tuple(RoleCpus(role, draw(CPUS)) for role in draw(st.lists(ROLE_NAMES, unique=True, max_size=4)))
    policy = draw(POLICIES) if common is None else common
    memory = None if common is None and draw(st.booleans()) else EMPTY if policy == "local" else draw(NODES)
    return Part(subject, roles, memory, "bind" if memory is None else policy, f"device {subject.device}")


@st.composite
def outlines(draw: st.DrawFn) -> Outline:
    devices = draw(st.lists(st.integers(0, 12), unique=True, min_size=1, max_size=4).map(sorted))
    policy = draw(st.none() | POLICIES)
    found = [draw(parts(Subject(device), policy)) for device in devices]
    if draw(st.booleans()):
        found.append(Part(SCHEDULER, (RoleCpus("main", draw(CPUS)),), None, label="scheduler"))
    has_runtime = any(one.role == "runtime" for part in found for one in part.roles)
    return Outline(tuple(found), has_runtime and draw(st.booleans()))


def meaning(outline: Outline) -> Mapping[str, Meaning]:
    """What an outline says, without how: what a process has, everything in it inherits, whether it is called `main` or `any`."""
    found = {}
    for part in outline.parts:
        names = {one.role for one in part.roles}
        is_one = len({(one.cpus, one.nodes) for one in part.roles}) == 1
        process = names & {"main", "any"} if is_one or len(names & {"main", "any"}) == 1 else set()
        roles = {
            "process" if one.role in process or (is_one and process) else one.role: (str(one.cpus), str(one.nodes))
            for one in part.roles
            if one.cpus
        }
        memory = None if part.memory is None else (str(part.memory), part.policy)
        if roles or memory:
            found[str(part.subject)] = (roles, memory)
    return found


def read_back(text: str) -> Plan:
    return read_plan("back", text.encode(), Scene(PAIRED))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(outlines())
@pytest.mark.parametrize("form", READ_BACK)
def test_what_a_form_can_say_is_read_back_from_it(form: str, outline: Outline) -> None:
    done = written(outline, {}, form, SETTING)
    if not done.kept.parts:
        return
    assert dialect_of(done.text.encode()) in (form, None, "numactl")
    back, _ = outline_of_plan(read_back(done.text), PAIRED)
    assert meaning(back) == meaning(done.kept)
    assert back.fixed_actors == done.kept.fixed_actors


@settings(deadline=None, max_examples=60)
@given(outlines())
@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_kept_is_named_as_lost(form: str, outline: Outline) -> None:
    done = written(outline, {}, form, SETTING)
    if not done.lost and form not in ("vllm", "omp-places", "gomp"):
        assert meaning(done.kept) == meaning(outline)
    if meaning(done.kept) != meaning(outline) and form not in OPENMP:
        assert done.lost


@settings(deadline=None, max_examples=60)
@given(outlines())
@pytest.mark.parametrize("form", OPENMP)
def test_forms_of_openmp_keep_its_cpus_and_name_all_others_as_lost(form: str, outline: Outline) -> None:
    done = written(outline, {}, form, SETTING)
    kept = sorted(str(part.cpus) for part in done.kept.parts)
    pools = [
        next((one.cpus for one in part.roles if one.role == "omp"), part.cpus)
        for part in outline.parts
        if part.subject != SCHEDULER
    ]
    assert kept == sorted(str(pool) for pool in pools if pool)
    for part in outline.parts:
        pool = next((one.cpus for one in part.roles if one.role == "omp"), part.cpus)
        for one in part.roles:
            if one.cpus != pool:
                assert any(
                    lost.subject in (part.subject, SCHEDULER) and lost.what in (one.role, "") for lost in done.lost
                )


def test_the_own_form_loses_nothing_and_every_dialect_that_is_read_is_written() -> None:
    assert set(READ_BACK) - {"torchrun"} == set(DIALECTS) - {"torch"}
    assert set(READ_BACK) <= set(FORMS)


@settings(deadline=None, max_examples=80)
@given(outlines())
def test_numascope_s_own_json_says_every_plan(outline: Outline) -> None:
    done = written(outline, {}, "numascope", SETTING)
    assert done.lost == ()
    assert meaning(done.kept) == meaning(outline)


PLAN = """{"bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": true},
"bind_cpu": {
  "device0": {"main": "4-7", "runtime": "0-1", "minddata": "2-3"},
  "device1": {"main": "12-15"},
  "scheduler": {"main": "8"}},
"bind_memory": {"device0": 0}}"""


def turned(form: str, text: str = PLAN, command: tuple[str, ...] = ()) -> Written:
    return converted(read_plan("bind.json", text.encode(), Scene(HOST)), form, Setting(HOST, command))


def test_each_loss_has_its_line_of_the_plan() -> None:
    assert list(map(str, turned("taskset").lost)) == [
        "bind.json:5:25: scheduler (CPU 8): taskset starts none",
        "bind.json:3:23: main of device0 (CPU 4-7): taskset binds a rank as a whole, to all its CPUs",
        "bind.json:3:41: runtime of device0 (CPU 0-1): taskset binds a rank as a whole, to all its CPUs",
        "bind.json:3:60: minddata of device0 (CPU 2-3): taskset binds a rank as a whole, to all its CPUs",
        "bind.json:6:28: memory of device0 (node 0): taskset binds no memory",
    ]
    assert turned("mindspore").lost == ()
    assert [str(line).partition(":")[0] for line in turned("mindformers").lost] == [
        "bind.json",
        "bind.json",
        "actor_thread_fix_bind",
    ]


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("numactl", "numactl --physcpubind=0-7 --membind=0 python x.py"),
        ("taskset", "taskset -c 0-7 python x.py"),
        ("slurm", "srun --ntasks=2 --cpu-bind=mask_cpu:0xff,0xf000 python x.py"),
        ("rankfile", "rank 1=localhost slot=12-15  # device 1"),
        ("torch_npu", "export CPU_AFFINITY_CONF=1,npu0:0-7,npu1:12-15"),
        ("vllm", "export VLLM_CPU_OMP_THREADS_BIND='0-7|12-15'"),
        ("omp-places", "OMP_NUM_THREADS=4 OMP_PROC_BIND=close OMP_PLACES='{12},{13},{14},{15}' python x.py"),
        ("gomp", "OMP_NUM_THREADS=4 GOMP_CPU_AFFINITY=12-15 python x.py"),
        ("docker", "docker run --cpuset-cpus=0-7 --cpuset-mems=0 IMAGE python x.py"),
        ("podman", "podman run --cpuset-cpus=12-15 IMAGE python x.py"),
        ("systemd", "systemd-run --pty --property=CPUAffinity=0-7 --property=NUMAPolicy=bind --property=NUMAMask=0 python x.py"),
        ("kubernetes", "# topologyManagerPolicy: single-numa-node"),
        ("mindformers", "        runtime: [0, 1]"),
    ],
)  # fmt: skip
def test_the_lines_of_a_form(form: str, line: str) -> None:
    assert line in turned(form, command=("python", "x.py")).text.splitlines()


def test_srun_prefers_memory_where_all_ranks_do() -> None:
    lines = b"numactl --physcpubind=0 --preferred=0 x\nnumactl --physcpubind=8 --preferred=1 x\n"
    done = converted(read_plan("lines", lines, Scene(HOST)), "slurm", Setting(HOST))
    assert done.text == "srun --ntasks=2 --cpu-bind=mask_cpu:0x1,0x100 --mem-bind=prefer,mask_mem:0x1,0x2 COMMAND\n"
    assert done.lost == ()


def test_a_plan_of_memory_alone_binds_no_cpus() -> None:
    plan = read_plan("lines", b"numactl --membind=1 x\n", Scene(HOST))
    document = json.loads(converted(plan, "mindspore", Setting(HOST)).text)
    assert document["bind_config"]["bind_cpu_mode"] == "none"
    assert document["bind_memory"] == {"device0": 1}


def test_vllm_binds_the_memory_that_others_prefer() -> None:
    plan = read_plan("lines", b"numactl --physcpubind=0-3 --preferred=0 x\n", Scene(HOST))
    assert list(map(str, converted(plan, "vllm", Setting(HOST)).lost)) == [
        "lines:1:39: memory of device0 (node 0): vLLM binds it to the nodes of its CPUs"
    ]


def test_two_rules_of_one_role_are_the_cpus_of_both() -> None:
    plan = read_plan("lines", b"taskset -c 0-1 x\n", Scene(HOST))
    both = replace(plan, rules=(*plan.rules, replace(plan.rules[0], cpus=CpuSet.parse("4-5"))))
    assert "taskset -c 0-1,4-5 COMMAND" in converted(both, "taskset", Setting(HOST)).text


def test_a_systemd_drop_in_names_what_systemd_exec_does() -> None:
    assert turned("systemd").text.splitlines()[:5] == [
        "# device 0: rank@0.service.d/numascope.conf", "[Service]", "CPUAffinity=0-7", "NUMAPolicy=bind", "NUMAMask=0",
    ]  # fmt: skip


def test_a_rankfile_of_half_cores_counts_hardware_threads() -> None:
    def slots(cpus: str) -> list[str]:
        plan = read_plan("lines", f"taskset -c {cpus} x".encode(), Scene(PAIRED))
        return converted(plan, "rankfile", Setting(PAIRED)).text.splitlines()

    assert slots("0-3,8-11")[1] == "rank 0=localhost slot=0-3  # device 0"
    assert slots("1,3") == [
        "# mpirun -np 1 --map-by rankfile:file=THIS-FILE:hwtcpus COMMAND",
        "rank 0=localhost slot=2,6  # device 0",
    ]


def test_ranks_that_share_cpus_are_told_of_where_mpirun_refuses_them() -> None:
    shared = '{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0-3"}, "device1": {"main": "2-5"}}}'
    assert "overload-allowed" in turned("rankfile", shared).doubts[0]


def test_mode_2_of_torch_npu_comes_back_as_mode_2() -> None:
    plan = read_plan("conf", b"CPU_AFFINITY_CONF=2,npu0:0-7,npu1:8-15", Scene(HOST))
    done = converted(plan, "torch_npu", Setting(HOST))
    assert done.text == "export CPU_AFFINITY_CONF=2,npu0:0-7,npu1:8-15\n"
    assert done.lost == ()


def test_nodes_stay_nodes_where_the_form_can_follow_them() -> None:
    lines = b"numactl --cpunodebind=0 --membind=0 x\nnumactl --cpunodebind=1 --interleave=0-1 x\n"
    plan = read_plan("lines", lines, Scene(HOST))
    assert "numactl --cpunodebind=1 --interleave=0-1 COMMAND" in converted(plan, "numactl", Setting(HOST)).text
    unified = converted(plan, "mindspore", Setting(HOST))
    document = json.loads(unified.text)
    assert (document["bind_config"]["bind_cpu_mode"], document["bind_cpu"]) == ("numa", {"device0": 0, "device1": 1})
    (lost,) = unified.lost
    assert str(lost) == "lines:2:38: memory of device1 (node 0-1): MindSpore has no policy interleave"
    assert shlex.split(converted(plan, "slurm", Setting(HOST)).text)[2] == "--cpu-bind=mask_ldom:0x1,0x2"
    assert "nodes of device0 (node 0, CPU 0-7): written as the CPUs that they have here" in str(
        converted(plan, "taskset", Setting(HOST)).lost[0]
    )


def test_devices_are_counted_anew_where_a_form_counts() -> None:
    far = '{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device3": {"main": "0-3"}, "device5": {"main": "4-7"}}}'
    done = turned("slurm", far)
    assert "mask_cpu:0xf,0xf0" in done.text
    assert list(map(str, done.lost)) == [
        "bind.json:1:76: device3 (rank 0): srun counts its ranks from 0",
        "bind.json:1:104: device5 (rank 1): srun counts its ranks from 0",
    ]


def test_a_form_with_a_place_for_a_command_names_it_and_no_other_does() -> None:
    read = read_plan("plan", b"taskset -c 0-3 a", Scene(PAIRED))
    named = {name for name in FORMS if "my train.py" in converted(read, name, SETTING).text}
    assert named == {name for name, form in FORMS.items() if form.has_command}
