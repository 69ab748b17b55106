"""Where a rank's device is, and whether its CPU time is spent there: known, likely, or not told at all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from namespaces import needs_namespaces
from processes import OWN_CPUS, PRELUDE, needs_two_cpus
from reports import eight_ranks, placement

from numascope.cpuset import CpuSet
from numascope.host.pci.numbers import DeviceNumbers, Order
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Device, Machine, Node
from numascope.observe.jobs import BY_HAND, Rank
from numascope.observe.sample import ProcessFacts
from numascope.observe.sampler import Sampler
from numascope.observe.select import Wanted
from numascope.observe.strangers import StrangerScan
from numascope.review.devices import DevicePlace, far, place_of
from numascope.review.report import Placement, Report
from numascope.review.watch import Question, Watch
from numascope.show.rank_lines import ranks_table


def device(address: str, node: int | None, model: int = 0x2330, cpus: CpuSet | None = None) -> Device:
    return Device(address, 0x030200, "gpu", 0x10DE, model, "NVIDIA", None, node, "numa_node", cpus)


def with_devices(*devices: Device) -> Machine:
    return eight_ranks().machine._replace(devices=devices)


GPUS = with_devices(device("0000:0a:00.0", 0), device("0000:1a:00.0", 1), device("0000:2a:00.0", None))
FILES = {"nvidia0": "0000:1a:00.0", "nvidia1": "0000:0a:00.0", "nvidia2": "0000:2a:00.0"}
IN_ORDER = ("0000:0a:00.0", "0000:1a:00.0", "0000:2a:00.0")
BY_PLACE = DeviceNumbers(FILES, {"nvidia": Order(IN_ORDER, "PCI order", is_sure=False)})
BY_NVML = DeviceNumbers(FILES, {"nvidia": Order(IN_ORDER, "NVML", is_sure=True)})


def process(held: tuple[str, ...] | None, inner: int | None = None, **environ: str) -> ProcessFacts:
    return ProcessFacts(7, 1, 0, 1, "python", ("python",), environ, inner_pid=inner, devices_held=held)


def rank(number: int | None, source: str = "LOCAL_RANK") -> Rank:
    return Rank(7, 0, 0, number, source)


def told(found: DevicePlace | None) -> tuple[str, int | None, bool] | None:
    return None if found is None else (found.address, found.node, found.is_sure)


@pytest.mark.parametrize(
    ("numbers", "held", "expected"),
    [
        (BY_PLACE, ("nvidia0",), ("0000:1a:00.0", 1, True)),  # the file's own number is the driver's
        (BY_PLACE, ("nvidia0", "nvidia1", "nvidia2"), ("0000:0a:00.0", 0, False)),  # all are open: by its index
        (BY_NVML, ("nvidia0", "nvidia1", "nvidia2"), ("0000:0a:00.0", 0, True)),
        (BY_PLACE, None, ("0000:0a:00.0", 0, False)),  # what it holds may not be read
        (BY_PLACE, (), None),  # it holds none: it is on no device
        (BY_PLACE, ("nvidia2",), ("0000:2a:00.0", None, True)),
        (DeviceNumbers({}, {}), ("nvidia0",), None),
    ],
)
def test_what_a_rank_holds_open_goes_before_its_index(
    numbers: DeviceNumbers, held: tuple[str, ...] | None, expected: tuple[str, int | None, bool] | None
) -> None:
    assert told(place_of(rank(0), process(held), GPUS, numbers)) == expected


def test_a_device_that_the_user_gives_is_taken_by_its_index() -> None:
    by_hand = rank(1, BY_HAND)

    assert told(place_of(by_hand, process(("nvidia0",)), GPUS, BY_NVML)) == ("0000:1a:00.0", 1, True)
    assert told(place_of(by_hand, process(()), GPUS, BY_NVML)) == ("0000:1a:00.0", 1, True)


def test_nothing_is_guessed_of_unlike_gpus_unless_cuda_was_told_to_count_by_address() -> None:
    unlike = with_devices(device("0000:0a:00.0", 0), device("0000:1a:00.0", 1, model=0x1234), device("0000:2a:00.0", 1))

    assert place_of(rank(0), process(None), unlike, BY_NVML) is None
    asked = process(None, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    found = place_of(rank(0), asked, unlike, BY_PLACE)
    assert told(found) == ("0000:0a:00.0", 0, True)
    assert found is not None
    assert found.source == "number 0 by PCI order, as CUDA_DEVICE_ORDER asks"


def test_an_index_of_a_container_means_something_else_outside() -> None:
    assert place_of(rank(0), process(None, inner=7), GPUS, BY_NVML) is None
    assert told(place_of(rank(0), process(("nvidia0",), inner=7), GPUS, BY_NVML)) == ("0000:1a:00.0", 1, True)
    all_of_them = process(None, inner=7, NVIDIA_VISIBLE_DEVICES="all")
    assert told(place_of(rank(0), all_of_them, GPUS, BY_NVML)) == ("0000:0a:00.0", 0, True)


def test_a_rank_without_a_number_or_with_one_too_many_has_no_place() -> None:
    assert place_of(rank(None), process(None), GPUS, BY_NVML) is None
    assert place_of(rank(3), process(None), GPUS, BY_NVML) is None


def test_of_an_ascend_device_the_file_of_its_number_is_taken_and_is_certain_only_while_it_is_open() -> None:
    npus = with_devices(device("0000:c1:00.0", 1))
    numbers = DeviceNumbers({"davinci4": "0000:c1:00.0"}, {})

    assert told(place_of(rank(4), process(None), npus, numbers)) == ("0000:c1:00.0", 1, False)
    assert told(place_of(rank(4), process(("davinci4",)), npus, numbers)) == ("0000:c1:00.0", 1, True)


# Far

SURE = DevicePlace("0000:0a:00.0", 0, "/dev/nvidia1, which it holds open", is_sure=True)


def on(cpu: int, node: int, busy: float, allowed: str = "0-9") -> Placement:
    return placement(cpu + 1, "main", "main", 0, None, allowed, cpu, busy=busy, node=node)


def findings(place: DevicePlace | None, *threads: Placement, machine: Machine = GPUS) -> list[tuple[str, bool]]:
    view = eight_ranks().ranks[0]
    return [(one.severity, held) for one, held in far([view], [place], [threads], machine)]


def test_a_rank_is_far_where_more_than_half_of_its_cpu_time_is_spent_off_the_node() -> None:
    away = GPUS.nodes[1].cpus.first
    at_home = GPUS.nodes[0].cpus.first

    assert findings(SURE, on(away, 1, 0.6), on(at_home, 0, 0.4)) == [("warning", False)]
    assert findings(SURE, on(away, 1, 0.5), on(at_home, 0, 0.5)) == []
    assert findings(SURE, on(away, 1, 0.04)) == []
    assert findings(SURE._replace(node=None), on(away, 1, 1.0)) == []
    assert findings(None, on(away, 1, 1.0)) == []


def test_what_rests_on_a_likely_device_only_informs() -> None:
    away = GPUS.nodes[1].cpus.first

    assert findings(SURE._replace(is_sure=False), on(away, 1, 1.0)) == [("info", False)]


def test_a_mask_that_leaves_the_device_out_needs_no_time_to_prove_itself() -> None:
    away = GPUS.nodes[1].cpus

    assert findings(SURE, on(away.first, 1, 1.0, str(away))) == [("warning", True)]


def test_cpus_that_the_kernel_calls_local_to_the_device_are_near() -> None:
    """Where a package has several nodes, its devices may be local to two of them."""
    both = GPUS.nodes[0].cpus | GPUS.nodes[1].cpus
    split = with_devices(device("0000:0a:00.0", 0, cpus=both))
    away = GPUS.nodes[1].cpus.first

    assert findings(SURE, on(away, 1, 1.0), machine=split) == []
    everywhere = with_devices(device("0000:0a:00.0", 0, cpus=GPUS.cpus.online))
    assert findings(SURE, on(away, 1, 1.0), machine=everywhere) == [("warning", False)]


def test_one_finding_a_rank_names_distance_device_and_source() -> None:
    away = GPUS.nodes[1].cpus.first
    ((found, _),) = far([eight_ranks().ranks[0]], [SURE], [[on(away, 1, 0.9)]], GPUS)

    assert found.rule == "far"
    assert found.text == "runs on N1, its device 0 is at N0"
    assert found.evidence.startswith("100% of its CPU time; distance N0 to N1 ")
    assert found.evidence.endswith("device 0000:0a:00.0 by /dev/nvidia1, which it holds open")


# Real threads

HOLDER = """mount -t tmpfs none /dev && : > /dev/nvidia3 && exec "$0" -c "$1" """


@contextmanager
def holding_a_device(cpu: int) -> Iterator[int]:
    """A process that computes on that CPU and holds a file open that is /dev/nvidia3 to it: it has a /dev of its own."""
    code = PRELUDE + f'held = open("/dev/nvidia3"); os.sched_setaffinity(0, {{{cpu}}}); ready(); spin(0.6)'
    child = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", HOLDER, sys.executable, code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "RANK": "0", "LOCAL_RANK": "3"},
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child.pid
    finally:
        child.kill()
        child.communicate()


def two_nodes() -> Machine:
    """This machine, its first CPU one node and all others another, with a GPU at each."""
    here = build_machine(HostRoot())
    first = CpuSet.of(OWN_CPUS[:1])
    nodes = (
        Node(0, first, 1 << 20, None, distances={0: 10, 1: 21}),
        Node(1, here.cpus.online - first, 1 << 20, None, distances={0: 21, 1: 10}),
    )
    node_of = {cpu: 0 if cpu in first else 1 for cpu in here.cpus.online}
    return here._replace(nodes=nodes, node_of=node_of, devices=(device("0000:0a:00.0", 0), device("0000:1a:00.0", 1)))


def watched(pid: int) -> Report:
    machine, root = two_nodes(), HostRoot()
    numbers = DeviceNumbers({"nvidia3": "0000:1a:00.0"}, {})
    sampler = Sampler(root, [pid], [])
    try:
        watch = Watch(
            machine,
            lambda: machine,
            sampler,
            StrangerScan(root),
            Question((Wanted(pid),), None, "none", numbers=numbers),
        )
        watch.step()
        time.sleep(0.6)
        return watch.step()
    finally:
        sampler.close()


def marked(report: Report) -> str:
    """The rank's line."""
    return "".join(span.text for span in ranks_table(report, 80, 3)[1])


@pytest.mark.live
@needs_namespaces
@needs_two_cpus
def test_a_process_that_holds_a_device_open_is_far_from_it_on_the_other_node_and_near_on_its_own() -> None:
    with holding_a_device(OWN_CPUS[0]) as pid:
        away = watched(pid)
    with holding_a_device(OWN_CPUS[1]) as pid:
        near = watched(pid)

    (finding,) = [one for one in away.findings if one.rule == "far"]
    assert (finding.severity, finding.rank) == ("warning", 0)
    assert "distance N1 to N0 21" in finding.evidence
    assert away.ranks[0].device_node == near.ranks[0].device_node == 1
    assert away.ranks[0].device == 3
    assert not [one for one in near.findings if one.rule == "far"]
    assert marked(replace(away, findings=(finding,))).split()[:5] == ["≠", "A", "0", "d3@N1", "–"]
    assert marked(replace(near, findings=())).split()[:4] == ["A", "0", "d3@N1", "–"]
