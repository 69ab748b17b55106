from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from torch_machines import machine_of, regular, seats_of

from numascope.cpuset import CpuSet
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
