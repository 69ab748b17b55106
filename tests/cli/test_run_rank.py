"""Which part of a plan a rank gets: what its launcher set in its environment, as the other verbs read it of a rank that runs."""

from __future__ import annotations

import pytest

from numascope.cli.run_rank import subject_of
from numascope.errors import UsageError
from numascope.plan.load import parse_plan
from numascope.plan.objects import SCHEDULER, Subject

PLAN = parse_plan(
    "bind.json",
    b'{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"scheduler": {"main": "0"}, "device0": {"main": "0"}, '
    b'"device1": {"main": "1"}, "device3": {"main": "3"}, "device5": {"main": "5"}}}',
)


@pytest.mark.parametrize(
    ("environ", "device"),
    [
        ({"LOCAL_RANK": "1"}, 1),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "3"}, 3),
        ({"SLURM_LOCALID": "1", "SLURM_STEP_ID": "0"}, 1),
        ({"LOCAL_RANK": "1", "SLURM_LOCALID": "0", "SLURM_STEP_ID": "0"}, 1),
        ({"LOCAL_RANK": "1", "CUDA_VISIBLE_DEVICES": "5,3"}, 3),
        ({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "3"}, 3),
        ({"MS_ROLE": "MS_WORKER", "DEVICE_ID": "1", "ASCEND_RT_VISIBLE_DEVICES": "5,3"}, 5),  # MindSpore sorts
        ({"MS_ROLE": "MS_SCHED", "DEVICE_ID": "1"}, None),
    ],
)
def test_a_rank_has_the_device_that_diff_finds_for_it(environ: dict[str, str], device: int | None) -> None:
    assert subject_of(PLAN, None, environ) == (SCHEDULER if device is None else Subject(device))


@pytest.mark.parametrize(
    ("given", "subject"),
    [("3", Subject(3)), ("device3", Subject(3)), ("device_3", Subject(3)), ("scheduler", SCHEDULER)],
)
def test_what_is_given_by_hand_goes_before_the_environment(given: str, subject: Subject) -> None:
    assert subject_of(PLAN, given, {"LOCAL_RANK": "0"}) == subject


@pytest.mark.parametrize(
    ("given", "environ", "words"),
    [
        (None, {}, "no launcher's variable"),
        (None, {"SLURM_LOCALID": "0"}, "no launcher's variable"),  # a batch script, which is no rank
        (None, {"SLURM_LOCALID": "0", "SLURM_STEP_ID": "4294967291"}, "no launcher's variable"),
        (None, {"LOCAL_RANK": "x\n"}, r'LOCAL_RANK is "x\x0a": expected a device number'),
        (None, {"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "GPU-8"}, "no known place in CUDA_VISIBLE_DEVICES=GPU-8: give --device N"),
        (None, {"LOCAL_RANK": "2"}, "bind.json says nothing of device2 (LOCAL_RANK): it names device0, device1, device3"),
        ("-1", {}, '--device is "-1": expected a device number, or scheduler'),
    ],
)  # fmt: skip
def test_a_rank_is_never_guessed(given: str | None, environ: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        subject_of(PLAN, given, environ)
    assert words in str(caught.value)
