"""Whole checks: the examples of MindSpore's documentation, and our own plans on every machine that is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping

import ascend_server
import pytest
from captures import MACHINES
from large_machines import epyc, kunpeng
from plan_questions import checked, rules

from numascope.errors import NumascopeError
from numascope.host.archive.root import open_archive
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine
from numascope.plan.check.objects import HostFacts
from numascope.plan.check.run import Checked
from numascope.plan.given import allowed_cpus
from numascope.plan.make.balanced import BalancedWish, make_balanced
from numascope.plan.make.msrun import MsrunWish, make_msrun
from numascope.plan.make.seats import first_ranks, found_seats
from numascope.plan.write.mindspore import mindspore_text

KEPT = sorted(path.parent.name for path in MACHINES.glob("*/about.toml"))
SERVER = "made-ascend-server"

MODULES = {
    "device0": {"main": "0-4", "runtime": "5-9", "pynative": "10-14", "minddata": "15-19"},
    "device1": {"main": "20-24", "runtime": "25-29", "pynative": "30-34", "minddata": "35-39"},
}
SCHEDULER = {"scheduler": {"main": "40-45"}}
WITHOUT_MAIN = {
    device: {name: cpus for name, cpus in roles.items() if name != "main"} for device, roles in MODULES.items()
}

EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "CPUs and memory": {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": True},
        "bind_cpu": SCHEDULER | MODULES,
        "bind_memory": {"device0": 0, "device1": 1, "scheduler": 2},
    },
    "nodes and memory": {
        "bind_config": {"bind_cpu_mode": "numa", "bind_memory_mode": "numa"},
        "bind_cpu": {"device0": 0, "device1": 1},
        "bind_memory": {"device0": 0, "device1": 1, "scheduler": "2-3,4"},
    },
    "CPUs without memory": {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "none", "actor_thread_fix_bind": False},
        "bind_cpu": SCHEDULER | MODULES,
    },
    "main alone": {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"},
        "bind_cpu": {"device0": {"main": "0-4"}, "device1": {"main": "20-24"}},
    },
    "nodes alone": {
        "bind_config": {"bind_cpu_mode": "numa", "bind_memory_mode": "none"},
        "bind_cpu": {"device0": 0, "device1": 1},
    },
    "memory alone": {
        "bind_config": {"bind_cpu_mode": "none", "bind_memory_mode": "numa"},
        "bind_memory": {"device0": 0, "device1": 1},
    },
    "modules without main": {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "none"},
        "bind_cpu": WITHOUT_MAIN,
    },
}  # fmt: skip
"""The seven plans that the documentation of MindSpore 2.9 shows, by what they bind."""

OUTCOMES = {
    "CPUs and memory": "accept it, bind 2 ranks and the scheduler at the start; runtime, pynative, minddata when the job calls set_cpu_affinity(bind_file=…)",
    "nodes and memory": "accept it, bind 2 ranks and the scheduler at the start",
    "CPUs without memory": "accept it, bind 2 ranks and the scheduler at the start; runtime, pynative, minddata when the job calls set_cpu_affinity(bind_file=…)",
    "main alone": "accept it, bind 2 ranks at the start",
    "nodes alone": "accept it, bind 2 ranks at the start",
    "memory alone": "accept it, bind 2 ranks at the start",
    "modules without main": "accept it, bind no ranks at the start; runtime, pynative, minddata when the job calls set_cpu_affinity(bind_file=…)",
}


def kept(name: str) -> Machine:
    return build_machine(open_archive(str(MACHINES / name / "host.tar.gz")), details=True)


def serious(one: Checked) -> list[tuple[str, str]]:
    return [(rule, severity) for rule, severity in rules(one.findings) if severity != "info"]


def test_the_kept_server_is_what_its_builder_makes() -> None:
    assert (MACHINES / SERVER / "host.tar.gz").read_bytes()[:2] == b"\x1f\x8b"
    root = open_archive(str(MACHINES / SERVER / "host.tar.gz"))
    assert all(root.read(path).decode() == text for path, text in ascend_server.files())


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_mindspore_s_documentation_has_no_fault_on_a_server_of_192_cpus(name: str) -> None:
    one = checked(json.dumps(EXAMPLES[name]).encode(), kept(SERVER), HostFacts(has_v1_cpuset=True))
    assert serious(one) == []
    assert one.outcome == OUTCOMES[name]


def balanced(machine: Machine, ranks: int | None) -> bytes:
    seats = found_seats(machine, ("npu",), ranks)
    wish = BalancedWish(allowed_cpus(machine), first_ranks(seats, None if not seats.are_dealt else ranks))
    return mindspore_text(make_balanced(machine, wish)).encode()


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", KEPT)
def test_a_balanced_plan_is_clean_on_every_kept_machine(name: str, ranks: int) -> None:
    machine = kept(name)
    try:
        data = balanced(machine, ranks)
    except NumascopeError as error:
        pytest.skip(f"no such plan there: {error}")
    one = checked(data, machine)
    assert serious(one) == []
    assert one.outcome is not None
    assert one.outcome.startswith("accept it")


@pytest.mark.parametrize("machine", [kunpeng(), epyc()], ids=["kunpeng", "epyc"])
def test_a_balanced_plan_is_clean_on_large_servers(machine: Machine) -> None:
    one = checked(balanced(machine, 8), machine)
    assert serious(one) == []


def msrun_plan(machine: Machine) -> bytes:
    seats = found_seats(machine, ("npu",), None)
    return mindspore_text(make_msrun(machine, MsrunWish(allowed_cpus(machine), seats.seats))).encode()


def test_the_generator_s_plan_is_clean_on_a_server_for_which_it_was_made() -> None:
    one = checked(msrun_plan(kept(SERVER)), kept(SERVER))
    assert serious(one) == []
    assert {"dev-far", "idle"} <= {rule for rule, _ in rules(one.findings)}


def test_the_generator_s_defects_are_found_where_its_slices_fall_badly() -> None:
    """One device on eight nodes of eight CPUs: its slice is all of them, positions 13-19 lie on far nodes."""
    machine = kept("qemu-large")
    assert serious(checked(msrun_plan(machine), machine)) == [("spread-package", "warning"), ("mem-far", "warning")]


def test_without_cgroup_v1_a_note_says_which_versions_end() -> None:
    one = checked(balanced(kept(SERVER), None), kept(SERVER), HostFacts(has_v1_cpuset=False))
    assert ("cgroup-v1", "info") in rules(one.findings)
    assert one.outcome is not None
    assert one.outcome.endswith("MindSpore 2.9 and 2.10 end here instead, as there is no cpuset of cgroup v1")
