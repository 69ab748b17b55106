from __future__ import annotations

from plan.dialects.reading import NPUS, given_cpus, notes, plan_in, refusal
from shapes import Shape, machine


def test_torch_npu_mode_1_is_a_range_each_and_equal_slices_for_the_rest() -> None:
    plan = plan_in("export CPU_AFFINITY_CONF=1,npu1:2-3,npu1:6-6", NPUS)
    assert given_cpus(plan) == {"device0 any": "0-7", "device1 any": "2-3,6"}
    assert given_cpus(plan_in("CPU_AFFINITY_CONF=1,npu0:0-3")) == {"device0 any": "0-3"}
    assert "gives each NPU an equal slice, and no accelerator is seen here" in refusal("CPU_AFFINITY_CONF=1")


def test_torch_npu_mode_2_pins_the_hot_threads_to_the_first_cpus() -> None:
    plan = plan_in("CPU_AFFINITY_CONF=2,npu0:4-9,npu1:12-13", NPUS)
    assert given_cpus(plan) == {
        "device0 main": "4",
        "device0 name:acl_thread": "5",
        "device0 name:release_thread": "6",
        "device0 name:hccl_watchdog_t": "7",
        "device0 autograd": "4",
        "device0 any": "8-9",
        "device1 any": "12-13",
    }
    assert "fewer than five: all its threads get all of them" in notes(plan)[0]


def test_torch_npu_binds_nobody_where_one_cpu_is_missing_unless_forced() -> None:
    assert "torch_npu then binds nobody, unless force:1" in notes(plan_in("CPU_AFFINITY_CONF=1,npu0:8-20"))[0]
    assert notes(plan_in("CPU_AFFINITY_CONF=1,npu0:8-20,force:1")) == []
    assert "it binds nothing" in refusal("CPU_AFFINITY_CONF=0")
    assert "expected 0 (off), 1" in refusal("CPU_AFFINITY_CONF=7,npu0:0-1")


def test_torch_npu_affine_takes_the_cpus_of_the_device_s_node() -> None:
    assert given_cpus(plan_in("CPU_AFFINITY_CONF=1,npu_affine:1", NPUS)) == {
        "device0 any": "0-7",
        "device1 any": "8-15",
    }


def test_with_affine_the_devices_of_a_node_part_its_cpus_and_the_last_gets_the_rest() -> None:
    host = machine(Shape(2, 1, 2, 4), devices=(0, 0, 0, 1))
    assert given_cpus(plan_in("CPU_AFFINITY_CONF=1,npu_affine:1", host)) == {
        "device0 any": "0-1", "device1 any": "2-3", "device2 any": "4-7", "device3 any": "8-15",
    }  # fmt: skip
    crowded = machine(Shape(1, 1, 1, 2), devices=(0, 0, 0))
    assert set(given_cpus(plan_in("CPU_AFFINITY_CONF=1,npu_affine:1", crowded)).values()) == {"0-1"}
    unknown = host._replace(devices=(host.devices[0], host.devices[1]._replace(node=None)))
    plan = plan_in("CPU_AFFINITY_CONF=1,npu_affine:1", unknown)
    assert given_cpus(plan) == {"device0 any": "0-7", "device1 any": "8-15"}
    assert "the node of device 1 is not known here: equal slices" in notes(plan)[0]


def test_the_value_is_read_as_torch_npu_reads_it_blanks_and_all() -> None:
    plan = plan_in("CPU_AFFINITY_CONF='mode:1, npu0:0-3,npu1:8-9,mode:2,npu_affine:yes,npu123:0,x'", NPUS)
    assert given_cpus(plan) == {"device0 any": "0-7", "device1 any": "8-9"}
    assert [note.partition(": ")[2] for note in notes(plan)] == [
        'torch_npu does not know " npu0:0-3" and ignores it: it takes no blanks',
        'torch_npu does not know "npu123:0" and ignores it',
        'torch_npu does not know "x" and ignores it',
    ]
    for value in ("", "force:1", "npu0:0-3", "mode:1x"):
        assert "mode" in refusal(f"CPU_AFFINITY_CONF={value}", NPUS)
    assert "torch_npu then binds nobody" in notes(plan_in("CPU_AFFINITY_CONF=1,npu0:8-20,force:2", NPUS))[0]
