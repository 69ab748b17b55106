from __future__ import annotations

import pytest
from plan.dialects.reading import HOST, PAIRED, given_cpus, memory, notes, plan_in, refusal

from numascope.machine.objects import Machine


def test_vllm_pins_openmp_and_binds_memory_near_it() -> None:
    plan = plan_in("VLLM_CPU_OMP_THREADS_BIND='0-3|8-9' vllm serve m")
    assert given_cpus(plan) == {
        "device0 any": "0-3", "device0 omp": "0-3", "device1 any": "8-9", "device1 omp": "8-9",
    }  # fmt: skip
    assert memory(plan) == {"device0": "bind 0", "device1": "bind 1"}
    assert given_cpus(plan_in("0-1|2", dialect="vllm"))["device1 any"] == "2"
    assert "binds nothing" in refusal("VLLM_CPU_OMP_THREADS_BIND=nobind")


def auto(options: str, host: Machine, variables: str = "") -> list[str]:
    plan = plan_in(f"{variables} VLLM_CPU_OMP_THREADS_BIND=auto vllm serve m {options}", host)
    return [str(rule.cpus) for rule in plan.rules if rule.role == "omp"]


@pytest.mark.parametrize(
    ("arch", "host", "options", "variables", "lists"),
    [
        ("x86_64", PAIRED, "", "", ["8-10"]),
        ("x86_64", PAIRED, "-tp 2", "", ["8-11", "12-14"]),
        ("x86_64", PAIRED, "--tensor-parallel-size=2", "VLLM_CPU_NUM_OF_RESERVED_CPU=3", ["8-10", "12-13"]),
        ("x86_64", PAIRED, "-tp=1 -dp 2", "", ["8-10", "12-14"]),
        ("x86_64", PAIRED, "", "VLLM_CPU_NUM_OF_RESERVED_CPU=0 CPU_VISIBLE_MEMORY_NODES=1", ["12-15"]),
        ("x86_64", PAIRED, "", "VLLM_CPU_NUM_OF_RESERVED_CPU=9", ["8-11"]),
        ("aarch64", HOST, "", "", ["0-6"]),
        ("aarch64", HOST, "--pipeline_parallel_size 2", "", ["0-6", "8-14"]),
        ("ppc64le", HOST, "-tp 2", "", ["0-3", "8-10"]),
        ("s390x", PAIRED, "", "", ["8-10"]),
    ],
)
def test_auto_is_computed_as_vllm_computes_it(
    arch: str, host: Machine, options: str, variables: str, lists: list[str]
) -> None:
    assert auto(options, host._replace(arch=arch), variables) == lists


def test_auto_binds_memory_to_each_rank_s_node_and_says_of_which_vllm_it_is() -> None:
    plan = plan_in("VLLM_CPU_OMP_THREADS_BIND=auto vllm serve m -tp 2", HOST)
    assert memory(plan) == {"device0": "bind 0", "device1": "bind 1"}
    assert "as vLLM does since April 2026; up to 0.18" in notes(plan)[0]
    assert "so one rank" in notes(plan_in("VLLM_CPU_OMP_THREADS_BIND=auto"))[1]


def test_auto_that_vllm_cannot_compute_is_refused_with_its_reason() -> None:
    three = "VLLM_CPU_OMP_THREADS_BIND=auto vllm serve m -tp 3"
    assert "1:27: auto gives each rank a node of its own, and 3 ranks find 2 here" in refusal(three)
    text = "VLLM_CPU_OMP_THREADS_BIND=auto"
    assert "the processor is riscv64: give lists" in refusal(text, HOST._replace(arch="riscv64"))
    assert "the processor is not known here" in refusal(text, HOST._replace(arch=None))
    assert '--tensor-parallel-size is "x": expected 1 to' in refusal(f"{text} vllm --tensor-parallel-size x")
    assert 'CPU_VISIBLE_MEMORY_NODES is "a"' in refusal(f"CPU_VISIBLE_MEMORY_NODES=a {text}")
    few = HOST._replace(cpus=HOST.cpus._replace(allowed=HOST.nodes[1].cpus))
    assert "gives a rank node 0, which has no CPU that may be used" in refusal(text, few)


def test_lists_that_do_not_fit_the_number_of_ranks_are_told_of() -> None:
    plan = plan_in("VLLM_CPU_OMP_THREADS_BIND='0-3|8-9' vllm serve m -tp 4")
    assert notes(plan) == ["1:28: 2 lists for 4 ranks: vLLM ends, give each rank one"]
