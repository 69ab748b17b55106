"""Redaction: nothing that may be secret gets into the file, and jobs and roles come out as they would without it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from observe.captured import read_job
from observe.recording.samples import HEADER, idle_sample
from observe.test_jobs import MSRUN

from numascope.host.system.cgroup_load import CgroupLoad
from numascope.observe.facts import rebinding
from numascope.observe.jobs import Job, find_jobs
from numascope.observe.recording.format import HEAD_BYTES, MAGIC, parse_head, unpack_payload
from numascope.observe.recording.redact import Redactor, redacted_cmdline, without_folders
from numascope.observe.recording.writer import Recorder
from numascope.observe.roles import ProcessView, Role, ThreadFacts, roles_of
from numascope.observe.sample import ProcessFacts


def process(environ: dict[str, str], cmdline: tuple[str, ...] = ("python",), pid: int = 10) -> ProcessFacts:
    return ProcessFacts(pid, 1, 100, 10, "python", cmdline, environ)


def value(name: str, text: str) -> str:
    environ = Redactor().facts(process({name: text})).environ
    assert environ is not None
    return environ[name]


def payloads(path: Path) -> bytes:
    """All that is in a recording, unpacked."""
    data, at, found = path.read_bytes(), len(MAGIC), b""
    while at < len(data):
        head = parse_head(data[at:])
        at += HEAD_BYTES
        found += unpack_payload(head, data[at : at + head.packed_bytes])
        at += head.packed_bytes
    return found


def without_names(jobs: Sequence[Job]) -> list[Job]:
    """Jobs but for the path of their plan, and values within sentences."""
    return [
        replace(
            job,
            plan_path=None if job.plan_path is None else "",
            ranks=tuple(replace(rank, device_source=re.sub("=[^ ]*", "", rank.device_source)) for rank in job.ranks),
        )
        for job in jobs
    ]


def roles(facts: Mapping[int, ProcessFacts]) -> list[tuple[Role, ...]]:
    """What every process would be as a torch helper: the roles that are told by command lines."""
    return [
        roles_of(ProcessView("torch", "helper", one.pid, one.comm, one.cmdline, None), [_THREAD])
        for one in facts.values()
    ]


_THREAD = ThreadFacts(99, "x", 1, 1, None)

ARGUMENTS = [
    "python3", "/usr/bin/python3.11", "pythonic", "-m", "-u", "-c", "x/-m", "a/-c", "-I/a/-b", "--x=/a/b", "--", "-", "=", "", "/",
    "msrun", "/opt/bin/msrun", "torchrun", "torch.distributed.run", "--out=/x/torchrun", "train.py", "/home/me/train.py",
    "--numa-binding=node", "--numa_binding", "socket", "--numa-binding=mine", "--numa-binding/x=node",
    "from multiprocessing.resource_tracker import main;main(3)", "/lib/torch/_inductor/compile_worker/__main__.py",
    "--start=multiprocessing.forkserver", "multiprocessing.forkserver/msrun", "deepspeed.launcher.launch", "/opt/bin/vllm",
    "VLLM::Worker_TP1", "VLLM::EngineCore", "sglang::scheduler_DP0_TP1", "/x/VLLM::Worker_TP1", "VLLM::Mine",
]  # fmt: skip
PARTS = st.lists(st.sampled_from(ARGUMENTS), max_size=10).map(tuple)
NUMBERS = st.sampled_from(
    ["0", "1", "7", "", "x", "12345678901", " 3", "0,1,2,3", "3, 1", "0,GPU-ab", "0,-1,1", "NoDevFiles"]
)
NAMES = [
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_MCA_orte_ess_jobid",
    "PMIX_RANK",
    "PRTE_LAUNCHED",
    "JAX_PROCESS_ID",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_STEP_ID",
    "SLURM_STEP_GPUS",
    "SLURM_JOB_ID",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "MS_ROLE",
    "RANK_ID",
    "DEVICE_ID",
    "RANK",
    "LOCAL_RANK",
    "MASTER_PORT",
    "ASCEND_RT_VISIBLE_DEVICES",
    "TORCHELASTIC_RUN_ID",
]
ENVIRONS = st.dictionaries(st.sampled_from(NAMES), NUMBERS).flatmap(
    lambda numbers: st.fixed_dictionaries(
        {},
        optional={
            "MS_ROLE": st.sampled_from(["MS_WORKER", "MS_SCHED", "MS_OTHER"]),
            "PMIX_NAMESPACE": st.sampled_from(["prterun-node-a-77@1", "prterun-node-a-78@1"]),
            "JAX_COORDINATOR_ADDRESS": st.sampled_from(["10.0.0.1:1234", "node-a:9"]),
            "MASTER_ADDR": st.sampled_from(["10.0.0.1", "node-a", ""]),
            "MS_SCHED_HOST": st.sampled_from(["10.0.0.1", "node-a"]),
            "MSRUN_BIND_FILE": st.sampled_from(["/a/plan.json", "/b/plan.json"]),
            "MSRUN_BIND_FILE_HASH": st.sampled_from(["0f" * 32]),
            "TORCHELASTIC_ERROR_FILE": st.sampled_from(
                [
                    "/tmp/x/attempt_0/3/error.json",
                    "attempt_1/2/error.json",
                    "/tmp/attempt_a/b/c",
                    "error.json",
                    "/a/attempt_0/x/e",
                ]
            ),
        },
    ).map(lambda texts: {**numbers, **texts})
)
FACTS = st.lists(
    st.tuples(
        ENVIRONS,
        PARTS,
        st.integers(0, 4),
        st.sampled_from(["python", "msrun", "bash", "pt_elastic", "mpirun", "slurmstepd", "systemd"]),
    ),
    max_size=5,
).map(
    lambda rows: {
        pid: ProcessFacts(pid, ppid, 1, 1, comm, cmdline, environ)
        for pid, (environ, cmdline, ppid, comm) in enumerate(rows, 1)
        if ppid < pid
    }
)


@given(facts=FACTS)
@example(facts=MSRUN)
def test_jobs_ranks_and_roles_are_those_of_the_whole_facts(facts: dict[int, ProcessFacts]) -> None:
    redacted = Redactor().processes(facts)

    whole, found = find_jobs(facts), find_jobs(redacted)

    assert without_names(found) == [
        replace(job, plan_source=_known_mode(job.plan_source)) for job in without_names(whole)
    ]
    assert roles(redacted) == roles(facts)


def _known_mode(source: str | None) -> str | None:
    """A mode that torchrun does not have is a text like any other."""
    return (
        source
        if source is None or source in _SOURCES
        else f"--numa-binding={redacted_cmdline(('x', source.partition('=')[2]))[1]}"
    )


_SOURCES = ("MSRUN_BIND_FILE", "--numa-binding=node", "--numa-binding=socket", "--numa-binding=?")


@pytest.mark.parametrize(
    "name", ["mindspore-m02_msrun_json_graph", "torch-ddp-gloo-nw2-nopin-torchrun", "torch-compile-pool"]
)
def test_a_real_job_is_the_same_job(snapshots: Path, name: str) -> None:
    facts = read_job(snapshots / f"jobs/{name}.json").facts

    assert without_names(find_jobs(Redactor().processes(facts))) == without_names(find_jobs(facts))
    assert roles(Redactor().processes(facts)) == roles(facts)


SECRETS = [
    "SECRET", "/home/SECRET/x", "SECRET/msrun/x", "--password=SECRET", "-pSECRET", "--x=/SECRET/-y", "10.SECRET.0.1", "0,1,SECRET",
    "--numa-binding=SECRET", "-c", "import SECRET; print('/')", "SECRET SECRET", "attempt_SECRET/SECRET/SECRET", "-SECRET=1",
    "/SECRET/attempt_0/1/SECRET.json", "--SECRET SECRET", "multiprocessing.forkserver SECRET", "{0:SECRET}", "disabled,SECRET",
]  # fmt: skip
VARIABLES = [
    "MS_ROLE", "MS_SCHED_HOST", "MSRUN_BIND_FILE", "MSRUN_BIND_FILE_HASH", "RANK", "RANK_ID", "LOCAL_RANK", "MASTER_ADDR",
    "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "CUDA_VISIBLE_DEVICES", "OMP_PLACES", "KMP_AFFINITY", "NCCL_SOCKET_IFNAME",
    "CPU_AFFINITY_CONF", "NCCL_COMM_ID", "MS_ANY", "PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid", "SLURM_JOB_ID", "SLURM_STEP_GPUS",
    "JAX_COORDINATOR_ADDRESS", "MY_VISIBLE_DEVICES", "OMPI_COMM_WORLD_ANY",
]  # fmt: skip


def test_no_secret_of_any_text_reaches_the_file(tmp_path: Path) -> None:
    planted = {
        at: replace(
            process(
                {**dict.fromkeys(VARIABLES, text), f"MS_x{text}": text},
                ("/SECRET/python3", "-u", text, text, "--numa-binding", text),
            ),
            pid=at,
            policy=text,
            libraries=(text,),
        )
        for at, text in enumerate(SECRETS, 1)
    }
    path = tmp_path / "one"
    header = msgspec.structs.replace(
        HEADER, plan_name="/SECRET/plan.json", plan_source="MSRUN_BIND_FILE=/SECRET/plan.json of 7"
    )
    first = replace(idle_sample(8), processes=planted)
    later = replace(first, number=2, processes={pid: replace(one, ppid=9) for pid, one in planted.items()})
    with Recorder(str(path), header) as recorder:
        recorder.machine(b"machine")
        recorder.write(first, ())
        recorder.write(later, ())

    whole = payloads(path)
    assert b"plan.json" in whole
    assert b"CUDA_VISIBLE_DEVICES" in whole
    assert b"SECRET" not in whole


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RANK", "3"),
        ("MASTER_PORT", "29500"),
        ("ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3"),
        ("OMP_PROC_BIND", "close"),
        ("OMP_PROC_BIND", "TRUE"),
        ("OMP_PLACES", "{0:4},{4:4}"),
        ("OMP_PLACES", "cores(8)"),
        ("GOMP_CPU_AFFINITY", "0-3 7 9-15:2"),
        ("KMP_AFFINITY", "granularity=fine,compact,1,0"),
        ("KMP_AFFINITY", "explicit,proclist=[0-3,8]"),
        ("CPU_AFFINITY_CONF", "1,npu0:0-1,npu1:2-3"),
        ("MS_ROLE", "MS_SCHED"),
        ("MSRUN_BIND_FILE_HASH", "0f" * 32),
        ("NCCL_DEBUG", "INFO"),
        ("OMP_NUM_THREADS", ""),
        ("SLURM_STEP_GPUS", "4,5"),
        ("OMPI_COMM_WORLD_RANK", "3"),
        ("CUDA_VISIBLE_DEVICES", "NoDevFiles"),
        ("NVIDIA_VISIBLE_DEVICES", "all"),
    ],
)
def test_numbers_and_the_words_of_frameworks_stay(name: str, text: str) -> None:
    assert value(name, text) == text


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("MASTER_ADDR", "10.0.0.5", "host1"),
        ("MS_SCHED_HOST", "fe80::1", "host1"),
        ("NCCL_ANY", "2001:470:1:2:3:4:5:6", "id1"),
        ("NCCL_ANY", "10.0.0.5", "id1"),
        ("TORCHELASTIC_RUN_ID", "77", "id1"),
        ("MSRUN_BIND_FILE", "/home/me/plan.json", "path1"),
        ("MS_KEY", "123456", "…"),
        ("RANK", "1234567890", "id1"),
        ("CUDA_VISIBLE_DEVICES", "GPU-1a2b", "id1"),
        ("MY_VISIBLE_DEVICES", "me", "id1"),
        ("PMIX_NAMESPACE", "prterun-node-a-77@1", "id1"),
        ("JAX_COORDINATOR_ADDRESS", "node-a:1234", "host1"),
        ("SLURM_JOB_ID", "4711", "id1"),
        ("TORCHELASTIC_ERROR_FILE", "/tmp/me/attempt_0/3/error.json", "path1/attempt_0/3/error.json"),
        ("TORCHELASTIC_ERROR_FILE", "/tmp/me/attempt_x/y/z.json", "path1/attempt_…/…/…"),
    ],
)
def test_paths_addresses_and_ids_become_aliases(name: str, text: str, shown: str) -> None:
    assert value(name, text) == shown


def test_equal_values_have_the_same_alias_in_all_processes() -> None:
    redactor = Redactor()
    environs = [
        redactor.facts(process({"MASTER_ADDR": address, "MSRUN_BIND_FILE": file})).environ or {}
        for address, file in (("a", "/x"), ("b", "/x"), ("a", "/y"))
    ]

    assert [one["MASTER_ADDR"] for one in environs] == ["host1", "host2", "host1"]
    assert [one["MSRUN_BIND_FILE"] for one in environs] == ["path1", "path1", "path2"]


def test_unchanged_facts_are_the_same_object_in_the_next_sample() -> None:
    redactor, one = Redactor(), process({"MASTER_ADDR": "a"})

    assert redactor.processes({10: one})[10] is redactor.processes({10: replace(one)})[10]
    assert redactor.processes({10: replace(one, ppid=7)})[10].ppid == 7


def test_an_environment_that_could_not_be_read_stays_unknown() -> None:
    assert Redactor().facts(replace(process({}), environ=None)).environ is None


def test_what_a_variable_does_to_threads_is_said_as_before() -> None:
    one = process({"OMP_PROC_BIND": "true", "OMP_PLACES": "{0}", "KMP_AFFINITY": "disabled"})

    assert rebinding(Redactor().facts(one)) == rebinding(one) == "OMP_PROC_BIND=true OMP_PLACES={0}"


@pytest.mark.parametrize(
    ("cmdline", "shown"),
    [
        (
            ("/opt/bin/python3.11", "-u", "train.py", "--lr=0.1", "--out", "/home/me"),
            ("python3.11", "-u", "…", "--lr=…", "--out", "…"),
        ),
        (("python", "-m", "torch.distributed.run", "x.py"), ("python", "-m", "torch.distributed.run", "…")),
        (("python", "/usr/bin/msrun", "--worker_num=8"), ("python", "msrun", "--worker_num=…")),
        (("torchrun", "--numa_binding", "node", "a"), ("torchrun", "--numa_binding", "node", "…")),
        (("python", "-c", "import multiprocessing.forkserver as f"), ("python", "-c", "…multiprocessing.forkserver")),
        (("VLLM::Worker_DP0_TP1", ""), ("VLLM::Worker_DP0_TP1", "…")),
        (("VLLM::Mine",), ("…",)),
        (("python", "-u", "-m", "deepspeed.launcher.launch"), ("python", "-u", "-m", "deepspeed.launcher.launch")),
        (("postgres: me at 10.0.0.1",), ("…",)),
        ((), ()),
    ],
)
def test_a_command_line_keeps_its_shape(cmdline: tuple[str, ...], shown: tuple[str, ...]) -> None:
    assert redacted_cmdline(cmdline) == shown


def test_a_path_in_a_sentence_is_cut_to_its_file() -> None:
    assert without_folders("given: /home/me/plan.json") == "given: plan.json"
    assert without_folders("MSRUN_BIND_FILE=/a/b of 12") == "MSRUN_BIND_FILE=b of 12"


def test_a_cgroup_loses_its_name_but_stays_the_same_for_all_its_processes() -> None:
    name = "/kubepods/pod1234/alice"
    load = CgroupLoad(8.0, f"/sys/fs/cgroup{name}/cpu.max", 1, 1, 1, None, None, None, pressure_is_own=False)
    facts = ProcessFacts(1, 0, 0, 0, "python", (), {}, cgroup=name)
    redactor = Redactor()

    one, two = redactor.facts(facts), redactor.facts(replace(facts, pid=2))
    (kept,) = redactor.cgroups({name: load}).items()

    assert one.cgroup == two.cgroup == kept[0] == "cgroup1"
    assert kept[1].quota_path == "path1/cpu.max"
    assert kept[1]._replace(quota_path=load.quota_path) == load
    assert redactor.facts(replace(facts, cgroup="/")).cgroup == "/"
