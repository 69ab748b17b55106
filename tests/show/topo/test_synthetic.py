from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_machines import epyc, kunpeng
from lstopo import CAPTURES, SNAPSHOTS, lstopo, machine_of, snapshot_root, xml_of_root

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.machine.objects import Core, Machine
from numascope.machine.synthetic.machine import synthetic_machine
from numascope.show.topo.synthetic import synthetic_text


def kept(machine: Machine) -> dict[str, object]:
    """What a description keeps of a machine."""
    return {
        "online": machine.cpus.online,
        "packages": {package.cpus for package in machine.packages},
        "clusters": {cluster.cpus for cluster in machine.clusters},
        "nodes": [(node.id, node.cpus) for node in machine.nodes],
        "caches": {(one.level, one.type, one.size_kib, one.cpus) for one in machine.caches if not one.memory_side},
        "cores": {core.cpus for core in machine.cores},
    }


def test_a_large_server_is_one_line() -> None:
    assert synthetic_text(epyc()) == (
        "Package:2 [NUMANode(memory=810675077120)] L3Cache:12(size=33554432) L2Cache:8(size=1048576) "
        "L1dCache:1(size=32768) L1iCache:1(size=32768) Core:1 PU:2(indexes=2*192:1*2)"
    )
    assert kept(synthetic_machine(synthetic_text(kunpeng()))) == kept(kunpeng())


def test_the_description_of_an_irregular_machine_is_refused_with_the_level() -> None:
    machine = epyc()
    shorn = machine._replace(caches=machine.caches[:-1])
    with pytest.raises(UsageError, match="Package 1 holds 11 × L3Cache, 8 × L2Cache"):
        synthetic_text(shorn)
    node = machine.nodes[1]._replace(memory_kib=1 << 20)
    with pytest.raises(UsageError, match="nodes 1 and 0 differ in memory by more than a tenth"):
        synthetic_text(machine._replace(nodes=(machine.nodes[0], node)))
    crossing = Core(CpuSet.of([95, 96]), None, None, None)
    with pytest.raises(UsageError, match="Core of CPUs 95-96: crosses the Package"):
        synthetic_text(machine._replace(cores=(*machine.cores, crossing)))
    cache = machine.caches[0]._replace(size_kib=1)
    with pytest.raises(UsageError, match="the caches of level 1 are not all of one type and size"):
        synthetic_text(machine._replace(caches=(cache, *machine.caches[1:])))


SMALL_COUNTS = st.integers(1, 3)
SIZES = st.none() | st.integers(1, 1 << 30)


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    """Texts of regular machines with most levels there or not."""
    words = []
    has_node = draw(st.booleans())
    memory = "".join(f"(memory={size * 1024})" for size in [draw(SIZES)] if size)
    if draw(st.booleans()):
        words.append(f"package:{draw(SMALL_COUNTS)}")
        words += [f"[numa{memory}]" for _ in range(draw(st.integers(0, 2)) if has_node else 0)]
        has_node = has_node and "[" not in "".join(words)
    if has_node:
        words.append(f"node:{draw(SMALL_COUNTS)}{memory}")
    for level in ("l3", "l2", "l1i", "l1"):
        if draw(st.booleans()):
            size = draw(SIZES)
            words.append(f"{level}:{draw(SMALL_COUNTS)}" + (f"(size={size * 1024})" if size else ""))
    return " ".join(
        [
            *words,
            f"core:{draw(SMALL_COUNTS)}",
            f"pu:{draw(SMALL_COUNTS)}{draw(st.sampled_from(['', '(threads=last)']))}",
        ]
    )


@given(descriptions())
def test_what_is_described_is_written_and_read_back(text: str) -> None:
    machine = synthetic_machine(text)
    again = synthetic_machine(synthetic_text(machine))
    assert kept(again) == kept(machine)
    assert [node.memory_kib for node in again.nodes] == [node.memory_kib for node in machine.nodes]


@settings(max_examples=15, deadline=None)
@given(descriptions())
def test_hwloc_reads_what_is_described_and_writes_as_many_of_each(text: str) -> None:
    written = synthetic_text(synthetic_machine(text))
    _, complaints = lstopo("-i", written, "--if", "synthetic", "--of", "console")
    assert complaints == ""


DIFFERS = {
    "ghw-offlineCPUs": "clusters that are packages: hwloc leaves them out",
    "openshift-worker1": "clusters that are cores: hwloc leaves them out",
    "openshift-worker2": "the same",
    "hwloc-256ppc-8n8s4t": "nodes of very different memory: hwloc writes that of the first for all",
    "hwloc-64amd64-bulldozer": "the same",
    "hwloc-fakecpuid1f-dies": "the same",
    "hwloc-8em64t-buggynuma": "8 nodes that share all CPUs: hwloc keeps one",
    "hwloc-memorysidecaches": "hwloc 2.9 ends with a failed assertion",
    "lscpu-sparc64": "hwloc does not read sparc64's files of cache sizes",
    "lscpu-ppc64-POWER7-64cpu": "hwloc holds the caches of nodes without CPUs for irregular",
}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_description_of_a_machine_is_the_one_that_hwloc_writes(
    name: str, stored_root: Callable[[str], Path], tmp_path: Path
) -> None:
    root = stored_root(name)
    xml_of_root(root, tmp_path)
    arguments = ("--of", "synthetic", "--no-io", "--filter", "Misc:none", "--disallowed")
    theirs, _ = lstopo("-i", str(tmp_path / "machine.xml"), *arguments)
    try:
        ours = synthetic_text(machine_of(root))
    except UsageError:
        ours = ""
    assert (theirs.strip() == ours) == (name not in DIFFERS), (theirs, ours)


@pytest.mark.parametrize(
    "where", [*(f"capture {name}" for name in CAPTURES), *(f"snapshot {name}" for name in SNAPSHOTS)]
)
def test_the_description_of_a_machine_gives_the_same_machine_to_us_and_to_hwloc(
    where: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    name = where.partition(" ")[2]
    is_capture = where.startswith("capture")
    root = request.getfixturevalue("stored_root")(name) if is_capture else snapshot_root(name, tmp_path)
    machine = machine_of(root)
    try:
        text = synthetic_text(machine)
    except UsageError as refusal:
        assert str(refusal).startswith("not regular")  # noqa: PT017 - a machine is either regular or says why not
        return
    assert kept(synthetic_machine(text)) == kept(machine)
    _, complaints = lstopo("-i", text, "--if", "synthetic", "--of", "console")
    assert complaints == ""
