from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shapes import Shape, machine
from torch_machines import machine_of, regular, seats_of

from numascope.cpuset import CpuSet
from numascope.machine.objects import Claim, Machine
from numascope.plan.make.seats import found_seats
from numascope.plan.make.torch_modes import MODES, TorchError, TorchView

SELECTION = Path(__file__).resolve().parents[3] / "snapshots" / "plans" / "torch-answers.json"


def answer(view: TorchView, mode: str, device: int) -> tuple[str | None, dict[str, str] | None]:
    seat = next(one for one in view.seats if one.number == device)
    try:
        return str(view.bound(seat, mode)), None
    except TorchError as error:
        return None, {"type": error.kind, "message": error.message}


def disagreements(corpus: dict[str, Any]) -> list[str]:
    machines = {name: machine_of(topology) for name, topology in corpus["topologies"].items()}
    found = []
    for case in corpus["cases"]:
        on = machines[case["name"]]
        allowed = on.cpus.online if case["allowed"] is None else CpuSet.parse(case["allowed"])
        view = TorchView(on, allowed, seats_of(corpus["topologies"][case["name"]]["devices"]))
        ours = answer(view, case["mode"], case["device"])
        if ours != (case["expect"], case["error"]):
            found.append(
                f"{case['name']} {case['mode']} {case['device']}: {ours}, torch {case['expect']} {case['error']}"
            )
    return found


def test_answers_are_torchs_own_in_a_selection_of_the_corpus() -> None:
    corpus = json.loads(SELECTION.read_text(encoding="utf-8"))
    assert {case["mode"] for case in corpus["cases"]} == set(MODES)
    assert sum(1 for case in corpus["cases"] if case["error"]) >= 8
    assert disagreements(corpus) == []


def test_answers_are_torchs_own_in_the_whole_corpus(shared: Path) -> None:
    corpus = json.loads((shared / "data" / "torch" / "torch-oracle-corpus.json").read_text(encoding="utf-8"))
    assert len(corpus["cases"]) == 552
    assert disagreements(corpus) == []


def torchs_cases() -> list[Any]:
    path = SELECTION.parents[3] / "shared" / "data" / "torch" / "torch-numa-cases.json"
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason="needs ../shared"))]
    return [pytest.param(case, id=case["name"]) for case in json.loads(path.read_text(encoding="utf-8"))["cases"]]


@pytest.mark.parametrize("case", torchs_cases())
def test_torchs_own_test_table(case: dict[str, Any]) -> None:
    topology = regular(case["topology"])
    on = machine_of(topology)
    devices = {**topology["devices"], **(case["numa_node_override"] or {})}
    allowed = on.cpus.online if case["allowed"] is None else CpuSet.of(case["allowed"])
    view = TorchView(on, allowed, seats_of(devices), has_numactl=case["name"] != "numactl_missing")
    cpus, error = answer(view, case["mode"], case["device"])
    assert cpus == case["expect"]
    assert (error and error["message"]) == case["expect_error"]


GPUS = machine(Shape(2, 1, 2, 2), devices=(0, 1))


def ends(on: Machine, mode: str, device: int = 0) -> tuple[str, str]:
    view = TorchView(on, on.cpus.online, found_seats(on, ("gpu",), None).seats)
    with pytest.raises(TorchError) as caught:
        view.bound(view.seats[device], mode)
    return caught.value.kind, caught.value.message


def test_a_file_that_is_not_there_ends_torch_with_its_name() -> None:
    """As the real one answers for the same files: a kernel without NUMA, without caches, and a sandbox without topology."""
    claims = (Claim("local_cpulist", "/sys/bus/pci/devices/0000:01:00.0/local_cpulist", "0-7", None),)
    first = GPUS.devices[0]
    mute = GPUS._replace(devices=(first._replace(claims=claims), *GPUS.devices[1:]))
    said = f"[Errno 2] No such file or directory: '/sys/bus/pci/devices/{first.address}/numa_node'"
    for mode in MODES:
        assert ends(mute, mode) == ("FileNotFoundError", said)
    assert ends(mute, "exclusive", 1) == ("FileNotFoundError", said)  # it asks for the node of every device
    bare = GPUS._replace(caches=())
    said = "[Errno 2] No such file or directory: '/sys/devices/system/cpu/cpu4/cache'"
    assert ends(bare, "core-complex", 1) == ("FileNotFoundError", said)
    flat = GPUS._replace(packages=(), cores=())
    said = "[Errno 2] No such file or directory: '/sys/devices/system/cpu/cpu4/topology/thread_siblings_list'"
    assert ends(flat, "exclusive", 1) == ("FileNotFoundError", said)
    assert ends(flat, "socket", 1) == ("RuntimeError", "Could not determine socket for cpu_index=4")


def test_socket_asks_the_nodes_in_the_order_of_a_set() -> None:
    """Of two nodes that are not there the one is named that Python comes to first."""
    gone = GPUS._replace(nodes_offline=CpuSet.of((9, 16)))
    nodes: set[int] = set()
    nodes.update((0, 1, 9, 16))
    first = next(node for node in nodes if node in (9, 16))
    assert ends(gone, "socket")[1] == f"Could not determine CPUs corresponding to numa_node_index={first}."
