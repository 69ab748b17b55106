from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from captures import MACHINES, expected, unpack
from click.testing import CliRunner
from large_machines import epyc, kunpeng

from numascope.cli.topo import topo
from numascope.cpuset import EMPTY, CpuSet
from numascope.host.archive.root import open_archive
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Cache, Core, Device, Machine
from numascope.machine.walk import Place, walk
from numascope.show.ink import plain
from numascope.show.topo.document import topo_document
from numascope.show.topo.facts import cache_lines, device_lines
from numascope.show.topo.lines import topo_lines
from numascope.show.topo.words import cpu_list, tied

KEPT = sorted(path.parent.name for path in MACHINES.glob("*/about.toml"))


def text_of(machine: Machine, width: int = 80) -> list[str]:
    return [plain(line) for line in topo_lines(machine, width)]


def kept_machine(name: str) -> Machine:
    about = tomllib.loads((MACHINES / name / "about.toml").read_text(encoding="utf-8"))
    root = open_archive(str(MACHINES / name / about["file"]))
    return build_machine(root, details=True)._replace(source=name)


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_machine_is_told_as_it_was_reviewed(name: str, golden: Callable[[str, Path], None]) -> None:
    machine = kept_machine(name)
    document = topo_document(machine) | {"numascope": "any"}
    golden("".join(f"{line}\n" for line in text_of(machine)), MACHINES / name / "topo.txt")
    golden(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n", MACHINES / name / "topo.json")


def test_a_large_arm_server_is_told_in_22_lines() -> None:
    assert text_of(kunpeng()) == [
        "aarch64, Kunpeng-920: 4 packages, 8 nodes, 192 cores, 192 CPUs, 2,048 GiB",
        "all CPUs online, all allowed, none isolated",
        "",
        "package 0",
        "├─ node 0   0-23      256 GiB, 182.4 free   L3 24 MiB   npu d0 d1",
        "└─ node 1   24-47     256 GiB, 183.0 free   L3 24 MiB",
        "package 1",
        "├─ node 2   48-71     256 GiB, 141.7 free   L3 24 MiB   npu d2 d3",
        "└─ node 3   72-95     256 GiB,   1.2 free   L3 24 MiB",
        "package 2",
        "├─ node 4   96-119    256 GiB, 180.9 free   L3 24 MiB   npu d4 d5",
        "└─ node 5   120-143   256 GiB, 183.1 free   L3 24 MiB",
        "package 3",
        "├─ node 6   144-167   256 GiB, 181.8 free   L3 24 MiB   npu d6 d7",
        "└─ node 7   168-191   256 GiB, 182.2 free   L3 24 MiB",
        "every node: 24 cores, 1 thread each, 6 clusters of 4",
        "L2 512 KiB, L1 64+64 KiB a core",
        "",
        "d0 0000:01:00.0 N0  d2 0000:41:00.0 N2  d4 0000:81:00.0 N4  d6 0000:c1:00.0 N6",
        "d1 0000:02:00.0 N0  d3 0000:42:00.0 N2  d5 0000:82:00.0 N4  d7 0000:c2:00.0 N6",
        "dN is PCI order: 8 × Huawei npu; node by numa_node",
        "distance: 10 own node, 12 same package, 24 other package",
    ]


def test_devices_of_unknown_node_stand_below_the_tree_at_the_level_of_the_machine() -> None:
    machine = kunpeng()
    lost = tuple(one._replace(node=None) if at in (0, 7) else one for at, one in enumerate(machine.devices))
    lines = text_of(machine._replace(devices=lost))
    at = lines.index("node unknown: npu d0 d7")
    assert lines[at - 1].startswith("└─ node 7")
    assert "npu d1" in lines[4]
    assert not any(line.startswith("node unknown") for line in text_of(machine))


def test_what_the_numbers_of_devices_follow_is_told_by_the_sorts_that_are_there() -> None:
    npu, other = kunpeng().devices[:2]
    nic = other._replace(kind="nic", vendor="Intel")
    drive = other._replace(kind="nvme", vendor="Samsung")

    def told(*devices: Device) -> str:
        found = device_lines(kunpeng()._replace(devices=devices), 200)
        return found[-1].partition(": ")[0]

    assert told(npu, other) == told(nic) == "dN is PCI order"
    assert told(npu, nic) == "dN counts accelerators, then NICs, each in PCI order"
    assert told(npu, nic, drive) == "dN counts accelerators, then NICs, then NVMe drives, each in PCI order"


def test_many_caches_of_a_node_stand_in_columns() -> None:
    lines = text_of(epyc())
    assert lines[3:9] == [
        "package 0",
        "└─ node 0   0-95,192-287     755 GiB, 604.2 free   gpu d0 d1 d2 d3",
        "   └─ 12 × L3 32 MiB: 8 cores, 16 CPUs each",
        "      0-7,192-199     8-15,200-207    16-23,208-215   24-31,216-223",
        "      32-39,224-231   40-47,232-239   48-55,240-247   56-63,248-255",
        "      64-71,256-263   72-79,264-271   80-87,272-279   88-95,280-287",
    ]
    assert "every node: 96 cores, 2 threads each; threads of a core: CPU n and n+192" in lines


@pytest.mark.parametrize("width", [40, 46, 60, 80, 120, 400])
@pytest.mark.parametrize("machine", [kunpeng(), epyc()], ids=["kunpeng", "epyc"])
def test_no_line_is_wider_than_asked(machine: Machine, width: int) -> None:
    assert max(map(len, text_of(machine, width))) <= width


@pytest.mark.parametrize("name", sorted(expected()) or ["the store is absent"])
def test_every_capture_is_told_whole_and_within_its_width(name: str, stored_root: Callable[[str], Path]) -> None:
    machine = build_machine(HostRoot(str(stored_root(name))))
    for width in (40, 80, 120):
        lines = text_of(machine, width)
        assert max(map(len, lines)) <= width
    text = "\n".join(text_of(machine, 1000))
    for node in machine.nodes:
        assert f"node {node.id}" in text
    for note in machine.notes:
        assert note in text
    walked = walk(machine)
    places = [place for top in walked.tops for place in with_all_inside(top)]
    drawn = {(place.kind, place.number) for place in places if place.kind != "cache"}
    assert drawn | {("node", node.id) for node in walked.memory_only} >= {
        *(("package", package.id) for package in machine.packages),
        *(("node", node.id) for node in machine.nodes),
    }
    document = json.loads(msgspec.json.encode(topo_document(machine)))
    assert document["machine"]["cpus"]["online"] == str(machine.cpus.online)


def with_all_inside(place: Place) -> list[Place]:
    return [place, *(below for part in place.inside for below in with_all_inside(part))]


def test_what_no_file_tells_of_cpus_is_null_in_the_document() -> None:
    fields = ("isolated", "nohz_full", "rcu_nocbs", "partitioned")
    document = msgspec.to_builtins(topo_document(kunpeng()._replace(untold=fields)))
    assert [document["machine"]["cpus"][name] for name in fields] == [None] * 4


def test_offline_disallowed_and_isolated_cpus_are_named_in_the_second_line() -> None:
    machine = kunpeng()
    cpus = machine.cpus._replace(
        offline=CpuSet.parse("192-195"), allowed=CpuSet.parse("0-47"), isolated=CpuSet.parse("2-23")
    )
    told = text_of(machine._replace(cpus=cpus, nodes_allowed=CpuSet.parse("0-1")), 120)[1]
    assert told == "offline: 192-195; allowed: 0-47 (48 of 192); memory of nodes 0-1 only; isolated: 2-23"


@pytest.mark.parametrize(
    ("allowed", "told"),
    [("1", "memory of node 1 only"), ("1-2", "memory of nodes 1-2 only"), ("", "memory of no node only")],
)
def test_one_memory_node_is_a_node_and_two_are_nodes(allowed: str, told: str) -> None:
    machine = kunpeng()._replace(nodes_allowed=CpuSet.parse(allowed))
    assert told in ", ".join(text_of(machine, 120)[:2])


def test_a_core_with_one_thread_left_has_the_caches_of_the_others() -> None:
    for online in ("0-7", "0-4,6-7", "1-7"):
        assert cache_lines(sibling_pairs(CpuSet.parse(online))) == [tied("L1 32+32 KiB a thread")]


def sibling_pairs(online: CpuSet) -> Machine:
    """Cores of CPUs n and n+1, each thread with a first-level cache of its own."""
    caches = [Cache(1, kind, 32, CpuSet.of([cpu])) for cpu in online for kind in ("Data", "Instruction")]
    cores = [Core(CpuSet.span(cpu, cpu + 1) & online, 0, None, 0, cpu // 2) for cpu in range(0, 8, 2)]
    return kunpeng()._replace(caches=tuple(caches), cores=tuple(cores), clusters=())


def test_figures_of_memory_are_a_column_in_a_narrow_window_too() -> None:
    lines = text_of(kept_machine("qemu-chiplets"), 40)
    assert len({line.index("0.7 GiB,") for line in lines if "0.7 GiB," in line}) == 1
    assert len({line.index("L3") for line in lines if "die" in line and "L3" in line}) == 1


def test_unknown_is_a_question_mark_and_never_a_zero() -> None:
    machine = kunpeng()
    nodes = tuple(node._replace(memory_kib=None, free_kib=None) for node in machine.nodes)
    devices = tuple(one._replace(node=None, node_source=None) for one in machine.devices)
    cpus = machine.cpus._replace(allowed=None)
    unknown = machine._replace(arch=None, model=None, nodes=nodes, devices=devices, cpus=cpus)
    lines = text_of(unknown)
    assert lines[0].startswith("architecture ?, model ?: 4 packages")
    assert "memory ?" in "".join(lines[:2])
    assert "allowed ?" in "".join(lines[:3])
    assert any("d7 0000:c2:00.0 N?" in line for line in lines)
    assert topo_document(unknown)["machine"]["nodes"][0]["memory_kib"] is None  # type: ignore[index]


def test_a_node_that_crosses_packages_is_named_in_words() -> None:
    machine = kunpeng()
    first, second, third, *others = machine.nodes
    crossing = first._replace(cpus=CpuSet.parse("0-23,48-50"), packages=(0, 1))
    cut = third._replace(cpus=CpuSet.parse("51-71"))
    lines = text_of(machine._replace(nodes=(crossing, second, cut, *others)))
    assert "node 0 spans packages 0, 1" in lines
    assert "L3 24 MiB spans nodes: 0,2" in lines


def test_long_lists_with_a_step_are_written_as_taskset_takes_them() -> None:
    assert cpu_list(CpuSet.of(range(0, 80, 2))) == "0-78:2"
    assert cpu_list(CpuSet.of([*range(0, 40, 4), *range(100, 140)])) == "0-36:4,100-139"
    assert cpu_list(CpuSet.of([0, 2, 4, 6])) == "0,2,4,6"
    assert cpu_list(EMPTY) == ""


def test_the_verb_prints_text_json_and_colour(tmp_path: Path) -> None:
    name = "qemu-chiplets"
    root = unpack(MACHINES / name / "host.tar.gz", tmp_path)
    text = CliRunner().invoke(topo, ["--root", str(root), "--width", "80"])
    assert text.exit_code == 0
    assert text.output == (MACHINES / name / "topo.txt").read_text(encoding="utf-8")
    document = json.loads(CliRunner().invoke(topo, ["--root", str(root), "--json"]).output)
    assert document["schema"] == "numascope.topo/1"
    assert document["source"] == {"root": str(root), "live": False}
    coloured = CliRunner().invoke(topo, ["--root", str(root), "--color", "always"])
    assert "\x1b[1m" in coloured.output


def test_the_verb_shows_this_machine() -> None:
    result = CliRunner().invoke(topo, [])
    assert result.exit_code == 0
    assert "node 0" in result.output
