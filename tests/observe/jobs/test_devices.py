"""The physical device of a rank: lists of visible devices keep their order, but for MindSpore's; what contradicts is said."""

from __future__ import annotations

import pytest

from numascope.observe.jobs import BY_HAND, Job, Rank, with_held
from numascope.observe.jobs.devices import visible_device


@pytest.mark.parametrize(
    ("environ", "local", "device"),
    [
        ({}, 2, 2),
        ({"CUDA_VISIBLE_DEVICES": "5,3"}, 0, 5),
        ({"CUDA_VISIBLE_DEVICES": " 5, 3 "}, 1, 3),
        ({"ASCEND_RT_VISIBLE_DEVICES": "5,3"}, 0, 5),
        ({"HIP_VISIBLE_DEVICES": "6"}, 3, 6),
        ({"CUDA_VISIBLE_DEVICES": "4,5"}, 2, None),
        ({"CUDA_VISIBLE_DEVICES": "4,5"}, None, None),
        ({"CUDA_VISIBLE_DEVICES": "4"}, None, 4),
        ({"CUDA_VISIBLE_DEVICES": "4,-1,5"}, 1, 4),
        ({"CUDA_VISIBLE_DEVICES": ""}, 0, None),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, 0, None),
        ({"CUDA_VISIBLE_DEVICES": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"}, 0, None),
        ({"CUDA_VISIBLE_DEVICES": "MIG-1/2/3,0"}, 1, None),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0,1"}, 1, 1),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "ASCEND_RT_VISIBLE_DEVICES": "2,3"}, 1, None),
        ({"ROCR_VISIBLE_DEVICES": "4,6", "HIP_VISIBLE_DEVICES": "1,0"}, 0, 6),
        ({"ROCR_VISIBLE_DEVICES": "GPU-ab", "HIP_VISIBLE_DEVICES": "0"}, 0, None),
        ({"ROCR_VISIBLE_DEVICES": "4,6"}, 1, 6),
        ({"CUDA_VISIBLE_DEVICES": "0", "SLURM_STEP_GPUS": "6"}, 0, None),
        ({"CUDA_VISIBLE_DEVICES": "6", "SLURM_STEP_GPUS": "6,7"}, 0, 6),
        ({"NVIDIA_VISIBLE_DEVICES": "7"}, 0, 0),
    ],
)
def test_a_visible_list_maps_local_ranks_in_its_order(
    environ: dict[str, str], local: int | None, device: int | None
) -> None:
    found, source = visible_device(environ, local, "LOCAL_RANK")

    assert found == device
    assert source


def test_the_source_names_what_it_was_told_by() -> None:
    assert (
        visible_device({"CUDA_VISIBLE_DEVICES": "5,3"}, 1, "LOCAL_RANK")[1]
        == "LOCAL_RANK=1 of CUDA_VISIBLE_DEVICES=5,3"
    )
    assert (
        visible_device({"CUDA_VISIBLE_DEVICES": "5"}, 1, "LOCAL_RANK")[1] == "the only entry of CUDA_VISIBLE_DEVICES=5"
    )
    assert (
        "different devices"
        in visible_device({"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "1"}, 0, "LOCAL_RANK")[1]
    )
    assert (
        "SLURM_STEP_GPUS=6 does not have"
        in visible_device({"CUDA_VISIBLE_DEVICES": "0", "SLURM_STEP_GPUS": "6"}, 0, "LOCAL_RANK")[1]
    )


def held(device: int | None, files: tuple[str, ...] | None, source: str = "LOCAL_RANK") -> Rank:
    job = Job("torch", None, (Rank(7, 0, 0, device, source),))
    (found,) = with_held([job], {7: files})
    return found.ranks[0]


def test_the_one_device_held_open_confirms_what_the_environment_says() -> None:
    assert held(3, ("nvidia3",)).device_source == "LOCAL_RANK, holds /dev/nvidia3 open"
    assert held(3, ("nvidia3",)).notes == ()


def test_another_device_held_open_is_a_contradiction_that_is_said() -> None:
    rank = held(0, ("nvidia5",))

    assert rank.device == 0
    assert rank.device_source == "LOCAL_RANK; but holds /dev/nvidia5 open"
    assert rank.notes == (
        "7 is on device 0 by LOCAL_RANK, but holds /dev/nvidia5 open, which may be the same: the driver's numbers are not CUDA's",
    )


def test_a_rank_without_a_known_device_has_the_only_one_that_it_holds_open() -> None:
    rank = held(None, ("davinci6", "renderD128"), "")

    assert (rank.device, rank.device_source) == (6, "holds /dev/davinci6 open")


@pytest.mark.parametrize("files", [None, (), ("renderD128",), ("nvidia0", "nvidia1")])
def test_many_devices_or_none_tell_nothing(files: tuple[str, ...] | None) -> None:
    assert held(None, files, "").device is None
    assert held(1, files).device_source == "LOCAL_RANK"


def test_what_the_user_said_is_left_alone() -> None:
    assert held(4, ("nvidia5",), BY_HAND).by_hand
