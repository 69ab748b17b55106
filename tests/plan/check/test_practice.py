"""Plans as good practice has them, in every form on the machine that they are for: nothing of weight is found."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from plan_questions import checked_text, told
from shapes import Shape, machine

from numascope.machine.objects import Machine

ONE_SOCKET = machine(Shape(1, 4, 1, 8, threads=2), devices=(3, 2, 1, 0))
"""32 cores in four nodes, the sibling of CPU c is c + 32, a GPU on each node in falling order."""

EIGHT_L3S = machine(Shape(1, 4, 2, 8, threads=2), devices=(3, 3, 1, 1, 0, 0, 2, 2))
"""64 cores in four nodes of two L3s, eight devices."""

TWO_SOCKETS = machine(Shape(2, 4, 4, 4, threads=2), devices=(3, 3, 1, 1, 7, 7, 5, 5))
"""128 cores in eight nodes of four L3s, the sibling of CPU c is c + 128."""

SERVER = machine(Shape(4, 2, 1, 24), devices=(6, 6, 4, 4, 2, 2, 0, 0))
"""192 CPUs in eight nodes, eight NPUs."""

MASKS = "mask_cpu:fe000000000000,fe00000000000000,fe0000,fe000000,fe,fe00,fe00000000,fe0000000000"

PRACTICE: Mapping[str, tuple[Machine, str]] = {
    "a node with both threads of its cores a rank": (ONE_SOCKET, """#!/bin/bash
case ${PMI_LOCAL_RANK} in
0)
\texport CUDA_VISIBLE_DEVICES=0
        exec numactl --physcpubind=24-31,56-63 --membind=3 "$@"
        ;;
1)
        exec numactl --physcpubind=16-23,48-55 --membind=2 "$@"
        ;;
2)
        exec numactl --physcpubind=8-15,40-47 --membind=1 "$@"
        ;;
3)
        exec numactl --physcpubind=0-7,32-39 --membind=0 "$@"
        ;;
esac
"""),
    "nodes by number": (ONE_SOCKET, """case $LOCAL_RANK in
    0) exec numactl --cpunodebind=3 --membind=3 "$@" ;;
    1) exec numactl --cpunodebind=2 --membind=2 "$@" ;;
    2) exec numactl --cpunodebind=1 --localalloc "$@" ;;
    3) exec numactl --cpunodebind=0 --preferred=0 "$@" ;;
esac
"""),
    "whole cores of a node that two devices share": (TWO_SOCKETS, """# device 0
numactl --physcpubind=48-55,176-183 --membind=3 python train.py &
# device 1
numactl --physcpubind=56-63,184-191 --membind=3 python train.py &
# device 2
numactl --physcpubind=16-23,144-151 --membind=1 python train.py &
"""),
    "masks that leave the first core of each L3 to the system": (EIGHT_L3S, f"srun --ntasks=8 --cpu-bind={MASKS} ./train"),
    "a node for each task": (ONE_SOCKET, "srun -n4 --cpu-bind=map_ldom:3,2,1,0 --mem-bind=map_mem:3,2,1,0 python train.py"),
    "taskset lines": (SERVER, "taskset -c 144-155 python train.py &\ntaskset -c 156-167 python train.py &\n"),
    "a rankfile": (SERVER, "rank 0=node1 slot=144-155\nrank 1=node1 slot=156-167\nrank 2=node1 slot=96-107\n"),
    "vLLM on two nodes": (ONE_SOCKET, "export VLLM_CPU_OMP_THREADS_BIND='0-6|8-14'\n"),
    "hot threads of one NPU apart": (SERVER, "export CPU_AFFINITY_CONF=2,npu0:144-159\n"),
    "MindFormers' lists and positions": (SERVER, """context:
  mode: 0
  affinity_config:
    device_0:
      affinity_cpu_list: ["144-155"]
      module_to_cpu_dict:
        main: [0, 1, 2, 3]
        runtime: [4, 5, 6, 7, 8]
        minddata: [9, 10, 11]
    device_1:
      affinity_cpu_list: ["156-167"]
"""),
    "msrun's lists": (SERVER, """msrun --worker_num=2 --local_worker_num=2 \\
  --bind_core='{"scheduler":["20-23"],"device0":["144-155"],"device1":["156-167"]}' \\
  --bind_numa='{"device0":["6"],"device1":["6"]}' train.py
"""),
    "torch's shares": (TWO_SOCKETS, "torchrun --nproc-per-node=8 --numa-binding=exclusive train.py"),
    "torch's nodes": (TWO_SOCKETS, "torchrun --standalone --nproc_per_node 8 --numa-binding node train.py"),
    "our own JSON": (SERVER, """{"numascope": 1,
 "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": true},
 "bind_cpu": {"device0": {"main": "144-149", "runtime": "150-154", "pynative": "155-158", "loader": "159-162",
                          "omp": "163-165", "name:hccl*": "166"}},
 "bind_memory": {"device0": {"policy": "preferred", "nodes": 6}}}
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", PRACTICE)
def test_good_practice_has_no_fault(name: str) -> None:
    found = checked_text(PRACTICE[name][1], PRACTICE[name][0]).findings
    assert [one for one in told(found) if one[1] != "info"] == []
