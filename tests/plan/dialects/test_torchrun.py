"""torchrun's command line: the answers are those of torch 2.13's own parser for the same words."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.dialects.reading import given_cpus, plan_in
from shapes import Shape, machine

from numascope.errors import InputError, NumascopeError
from numascope.plan.dialects.detect import dialect_of
from numascope.plan.dialects.torchrun import read_torchrun
from numascope.plan.make.made import NoPlanError

GPUS = machine(Shape(2, 1, 2, 4), devices=(0, 0, 1, 1))


@pytest.mark.parametrize(
    ("line", "mode", "ranks"),
    [
        ("torchrun --numa-binding=node x.py", "node", "1"),
        ("torchrun --numa_binding node x.py --numa-binding=socket", "node", "1"),
        ("torchrun --numa-b=socket --nproc-per-node 4 x.py", "socket", "4"),
        ("torchrun --no_python --numa_b node --nproc_per_node=gpu prog --nproc-per-node=2", "node", "gpu"),
        ("torchrun --numa-binding=node --numa-binding=socket x.py", "socket", "1"),
        ("torchrun -m --numa-binding=node pkg.mod", "node", "1"),
        ("torchrun -mr3 --numa-binding=node mod", "node", "1"),
        ("torchrun --mod --numa-binding=node mod", "node", "1"),
        ("torchrun -r 3 -t3 --standalone --rdzv-conf a=1,b=2 --numa-binding=node x.py", "node", "1"),
        ("torchrun --numa-binding=node -- x.py", "node", "1"),
        ("torchrun --nproc-per-node=2.5 --numa-binding=node x.py", "node", "2.5"),
        ("PET_NPROC_PER_NODE=4 torchrun --numa-binding=node x.py", "node", "4"),
        ("export PET_NPROC_PER_NODE=4\ntorchrun --numa-binding=node x.py", "node", "4"),
        ("PET_NPROC_PER_NODE=4 torchrun --nproc-per-node=2 --numa-binding=node x.py", "node", "2"),
        ("python3 -u -m torch.distributed.run --numa-binding=exclusive x.py", "exclusive", "1"),
        ("python -m torch.distributed.launch --use-env --numa-binding=node x.py", "node", "1"),
        ("srun -N1 /opt/bin/torchrun --nnodes 2 --node_rank 0 \\\n  --numa-binding core-complex x.py", "core-complex", "1"),
    ],
)  # fmt: skip
def test_every_spelling_that_torchrun_takes(line: str, mode: str, ranks: str) -> None:
    found = read_torchrun("line", line.encode())
    assert found is not None
    assert (found.mode, found.ranks.text) == (mode, ranks)
    assert dialect_of(line.encode()) == "torch"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("torchrun --numa=node x.py", "ambiguous option: --numa=node could match --numa-binding, --numa_binding"),
        ("torchrun --nproc 4 --numa-b=socket x.py", "ambiguous option: --nproc"),
        ("torchrun --numa-binding=node", "the following arguments are required"),
        ("torchrun --unknown --numa-binding=node x.py", "unrecognized arguments: --unknown"),
        ("torchrun -x --numa-binding=node x.py", "unrecognized arguments: -x"),
        ("torchrun --role --numa-binding=node x.py", "argument --role: expected one argument"),
        ("torchrun --standalone=1 --numa-binding=node x.py", "ignored explicit argument"),
        ("torchrun --node-rank x --numa-binding=node x.py", "invalid int value"),
        ("torchrun --start-method=thread --numa-binding=node x.py", "invalid choice: 'thread'"),
        ("torchrun --numa-binding x.py y", '--numa-binding: "x.py" is no mode of torch'),
        ("torchrun --numa-binding=Node x.py", '"Node" is no mode of torch'),
        ("torchrun --numa-binding= x.py", '"" is no mode of torch'),
        ("torchrun -h --numa-binding=node x.py", "prints its help and starts nobody"),
        ("torchrun x.py --numa-binding=node", "this torchrun binds nothing"),
        ("torchrun -- x.py --numa-binding=node", "this torchrun binds nothing"),
        ("torchrun - --numa-binding=node", "this torchrun binds nothing"),
        ("PET_NUMA_BINDING=node torchrun x.py", "this torchrun binds nothing"),
    ],
)
def test_every_line_that_torchrun_refuses_or_that_binds_nothing(line: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_torchrun("line", line.encode())
    assert problem in str(caught.value)


def test_there_is_one_rank_unless_the_line_says_more() -> None:
    assert list(given_cpus(plan_in("torchrun --numa-binding=node x", GPUS)).values()) == ["0-7"]
    by_device = plan_in("torchrun --nproc-per-node=auto --numa-binding=node x", GPUS)
    assert list(given_cpus(by_device).values()) == ["0-7", "0-7", "8-15", "8-15"]


@pytest.mark.parametrize("count", ["5", "cpu"])
def test_more_ranks_than_devices_end_as_torch_ends(count: str) -> None:
    with pytest.raises(
        NoPlanError, match=r"fails here for local rank 4: it counts 4 devices \(AssertionError: Invalid"
    ):
        plan_in(f"torchrun --nproc-per-node={count} --numa-binding=node x", GPUS)


@pytest.mark.parametrize("count", ["0", "-1", "2.5", "many", "99999"])
def test_a_count_that_is_none(count: str) -> None:
    with pytest.raises(InputError, match="expected 1 to 4096 ranks, auto, gpu or cpu"):
        plan_in(f"torchrun --nproc-per-node={count} --numa-binding=node x", GPUS)


WORDS = st.sampled_from(
    [
        "--numa-binding",
        "node",
        "--numa_b=exclusive",
        "-m",
        "-r",
        "--",
        "x.py",
        "--nproc-per-node=3",
        "-h",
        "%s",
        "%(prog)s",
    ]
)


@settings(deadline=None)
@given(st.lists(WORDS | st.text(max_size=6), max_size=7))
def test_any_words_are_a_plan_or_one_error(words: list[str]) -> None:
    try:
        told = plan_in(f"torchrun {shlex.join(words)}", GPUS, "torch").dialect
    except NumascopeError as error:
        told = str(error)
    assert told
    assert "\n" not in told
