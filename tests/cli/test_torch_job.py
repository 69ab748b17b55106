"""The plan of a live torchrun's own option, with its launcher's mask and devices."""

from __future__ import annotations

import os

from processes import OWN_CPUS, needs_two_cpus
from shapes import Shape, machine

from numascope.cli.torch_job import JobPlan, plan_of_torchrun
from numascope.cpuset import CpuSet
from numascope.observe.jobs import Job
from numascope.observe.jobs.objects import Rank
from numascope.observe.sample import ProcessFacts
from numascope.plan.load import parse_plan


def facts(pid: int, **environ: str) -> dict[int, ProcessFacts]:
    return {pid: ProcessFacts(pid, 1, 1, pid, "pt_elastic", ("torchrun",), environ)}


def torchrun(mode: str, ranks: int = 2) -> Job:
    found = tuple(Rank(1000 + number, number, number, number, "LOCAL_RANK") for number in range(ranks))
    return Job("torch", os.getpid(), found, plan_source=f"--numa-binding={mode}")


OWN = CpuSet.of(OWN_CPUS)
HOST = machine(Shape(1, 1, 1, OWN.last + 1), devices=(0, 0))
FAR = machine(Shape(2, 1, 1, OWN.last + 1), devices=(0, 1))


def test_a_live_torchrun_s_mode_is_the_plan_within_its_launcher_s_mask() -> None:
    found = plan_of_torchrun(torchrun("node"), facts(os.getpid()), HOST)
    assert isinstance(found, JobPlan)
    assert {str(rule.subject): rule.cpus for rule in found.plan.rules} == {"device0": OWN, "device1": OWN}
    assert found.source == f"--numa-binding=node of torchrun {os.getpid()}, computed"
    assert found.plan.path == "torch:node"
    kept = parse_plan("kept", found.data)
    assert [(rule.subject, rule.cpus) for rule in kept.rules] == [
        (rule.subject, rule.cpus) for rule in found.plan.rules
    ]


def test_only_devices_that_the_launcher_sees_count_for_torch_s_shares() -> None:
    alone = plan_of_torchrun(torchrun("exclusive", 1), facts(os.getpid(), CUDA_VISIBLE_DEVICES="1"), HOST)
    assert isinstance(alone, JobPlan)
    assert [(str(rule.subject), rule.cpus) for rule in alone.plan.rules] == [("device1", OWN)]
    for value, words in (("1,1", "names a device twice"), ("GPU-8f2a", "names no numbers")):
        told = plan_of_torchrun(torchrun("node"), facts(os.getpid(), CUDA_VISIBLE_DEVICES=value), HOST)
        assert isinstance(told, str)
        assert words in told


@needs_two_cpus
def test_shares_go_in_the_order_in_which_the_launcher_lists_its_devices() -> None:
    """Logical device 0 is the first of the list, and gets the first cores."""

    def of_list(listed: str) -> dict[str, CpuSet]:
        found = plan_of_torchrun(torchrun("exclusive"), facts(os.getpid(), CUDA_VISIBLE_DEVICES=listed), HOST)
        assert isinstance(found, JobPlan)
        return {str(rule.subject): rule.cpus for rule in found.plan.rules}

    sorted_, reordered = of_list("0,1"), of_list("1,0")
    assert sorted_["device0"] | sorted_["device1"] == OWN
    assert sorted_["device0"].first < sorted_["device1"].first
    assert (reordered["device1"], reordered["device0"]) == (sorted_["device0"], sorted_["device1"])
    assert of_list("1,0,7") == reordered, "CUDA ends the list at the first that is none"


def test_where_torch_itself_fails_the_job_has_no_plan_and_torch_s_words_say_why() -> None:
    told = plan_of_torchrun(torchrun("node"), facts(os.getpid()), FAR)
    assert isinstance(told, str)
    assert "Must bind to a non-empty set of CPU indices" in told
    assert "no accelerator is seen here" in str(
        plan_of_torchrun(torchrun("node"), facts(os.getpid()), HOST._replace(devices=()))
    )
    assert "is no mode of torch" in str(plan_of_torchrun(torchrun("wide"), facts(os.getpid()), HOST))
