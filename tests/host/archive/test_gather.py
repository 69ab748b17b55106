"""A capture is the same machine as the one that it was taken of, and holds nothing of whose it is."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import expected
from roots import system_root

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.archive.gather import gather
from numascope.host.archive.pack import usual_name, write_capture
from numascope.host.archive.root import open_archive
from numascope.host.pci.irqs import MOST_IRQS, read_device_irqs
from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine, Node


@pytest.mark.parametrize("name", expected())
def test_every_machine_of_the_store_is_the_same_after_it_was_captured(
    name: str, stored_root: Callable[[str], Path], tmp_path: Path
) -> None:
    root = HostRoot(str(stored_root(name)))
    path = str(tmp_path / "capture.tar.gz")
    write_capture(gather(root), path)
    captured, machine = build_machine(open_archive(path), io=True), build_machine(root, io=True)
    assert captured._replace(source="") == machine._replace(source="")


@pytest.mark.live
def test_this_machine_is_the_same_after_it_was_captured(tmp_path: Path) -> None:
    """But for free memory, which changes, and for what this process may use, which a capture tells by its cpuset alone."""
    live = HostRoot()
    path = str(tmp_path / "capture.tar.gz")
    write_capture(gather(live), path)
    captured, machine = build_machine(open_archive(path), io=True), build_machine(live, io=True)
    assert _settled(captured) == _settled(machine)
    if captured.cpus.allowed is not None and machine.cpus.allowed is not None:
        assert machine.cpus.allowed <= captured.cpus.allowed


def _settled(machine: Machine) -> Machine:
    def still(node: Node) -> Node:
        return node._replace(free_kib=None, huge_pages=tuple(pages._replace(free=None) for pages in node.huge_pages))

    platform = machine.platform
    if platform.container == "unnamed":  # told by the namespaces of a process, which no file holds
        platform = platform._replace(container=None)
    return machine._replace(
        source="",
        cpus=machine.cpus._replace(allowed=None),
        nodes_allowed=None,
        nodes=tuple(map(still, machine.nodes)),
        platform=platform,
    )


@pytest.fixture
def whose(tmp_path: Path) -> Path:
    """A machine full of what must not be told, its files spread as a kernel spreads them."""
    root = tmp_path / "whose"
    device = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
    for path, text in {
        "sys/devices/system/cpu/online": "0\n",
        "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
        "sys/devices/system/cpu/cpu0/topology/ppin": "SECRET\n",
        "sys/devices/system/cpu/cpu0/uevent": "SECRET\n",
        "sys/devices/pci0000:00/0000:00:01.0/numa_node": "0\n",
        f"{device}/class": "0x020000\n",
        f"{device}/vendor": "0x15b3\n",
        f"{device}/device": "0x1017\n",
        f"{device}/vpd": "SECRET\n",
        f"{device}/config": "SECRET\n",
        f"{device}/net/enx5ec2e75ec2e7/address": "SECRET\n",
        f"{device}/infiniband/mlx5_0/node_guid": "SECRET\n",
        f"{device}/nvme/nvme0/serial": "SECRET\n",
        "sys/devices/virtual/net/SECRET-vpn/address": "SECRET\n",
        "sys/devices/virtual/dmi/id/sys_vendor": "QEMU\n",
        "sys/devices/virtual/dmi/id/product_uuid": "SECRET\n",
        "sys/devices/virtual/dmi/id/product_serial": "SECRET\n",
        "sys/class/kfd/kfd/topology/nodes/1/properties": "domain 0\nunique_id SECRET\n",
        "proc/cpuinfo": "processor : 0\nSerial : SECRET\n",
        "proc/version": "Linux version 6.1 (SECRET@SECRET)\n",
        "proc/cmdline": "root=UUID=SECRET isolcpus=0\n",
        "proc/self/cgroup": "0::/SECRET-pod\n",
        "proc/self/mountinfo": "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 SECRET rw\n2 0 0:2 / /SECRET rw - nfs SECRET rw\n",
        "proc/self/environ": "SECRET=1",
        "proc/self/cmdline": "SECRET",
        "proc/sys/kernel/hostname": "SECRET\n",
        "proc/sys/kernel/osrelease": "6.1\n",
        "sys/fs/cgroup/SECRET-pod/cpuset.cpus.effective": "0\n",
        "etc/hostname": "SECRET\n",
        "run/.containerenv": 'name="SECRET"\n',
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path, target in {
        "sys/bus/pci/devices/0000:01:00.0": f"../../../../{device}",
        "sys/class/net/enx5ec2e75ec2e7": f"../../../{device}/net/enx5ec2e75ec2e7",
        "sys/class/net/SECRET-vpn": "../../devices/virtual/net/SECRET-vpn",
        "sys/class/dmi/id": "../../devices/virtual/dmi/id",
        f"{device}/net/enx5ec2e75ec2e7/device": "../../../0000:01:00.0",
        "proc/mounts": "self/mounts",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    return root


def test_nothing_of_whose_it_is_gets_into_a_capture(whose: Path, tmp_path: Path) -> None:
    path = tmp_path / "capture.tar.gz"
    write_capture(gather(HostRoot(str(whose))), str(path))
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        contents = [file.read() for one in members if (file := archive.extractfile(one) if one.isreg() else None)]
    told = repr([(one.name, one.linkname, one.uname, one.gname, one.uid, one.mtime) for one in members]) + repr(
        contents
    )
    assert "SECRET" not in told
    assert "5ec2e7" not in told
    assert not any(one.name.startswith("/") or ".." in one.name for one in members)


def test_what_tells_of_the_machine_does_get_into_it(whose: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "capture.tar.gz")
    write_capture(gather(HostRoot(str(whose))), path)
    root = open_archive(path)
    nic = build_machine(root, io=True).devices[0]
    assert (nic.address, nic.path) == ("0000:01:00.0", ("pci0000:00", "0000:00:01.0", "0000:01:00.0"))
    assert str(build_machine(root).cpus.allowed) == "0"
    assert root.read("sys/bus/pci/devices/0000:01:00.0/../numa_node") == b"0\n"
    assert root.read("sys/class/dmi/id/sys_vendor") == b"QEMU\n"
    assert root.read("proc/cmdline") == b"isolcpus=0\n"
    assert root.read("run/.containerenv") == b""
    (interface,) = root.names("sys/class/net")
    assert interface.startswith("enx00000000000")
    assert root.link(f"sys/class/net/{interface}/device") == "../../../0000:01:00.0"


def test_each_file_is_read_once(whose: Path) -> None:
    class Counting(HostRoot):
        def read(self, path: str, limit: int = 1 << 20) -> bytes:
            reads.append(path.strip("/"))
            return super().read(path, limit)

    reads: list[str] = []
    gather(Counting(str(whose)))
    in_sys = [path for path in reads if path.startswith("sys/devices")]
    assert len(in_sys) == len(set(in_sys)) > 5


def test_the_interrupts_of_accelerators_are_kept_and_no_other_device_s(tmp_path: Path) -> None:
    bus = "sys/devices/pci0000:00"
    for path, text in {
        "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
        f"{bus}/0000:00:01.0/class": "0x120000\n", f"{bus}/0000:00:01.0/vendor": "0x19e5\n",
        f"{bus}/0000:00:01.0/device": "0xd802\n", f"{bus}/0000:00:01.0/msi_irqs/41": "msix\n",
        f"{bus}/0000:00:01.0/msi_irqs/42": "msix\n",
        f"{bus}/0000:00:02.0/class": "0x010802\n", f"{bus}/0000:00:02.0/vendor": "0x8086\n",
        f"{bus}/0000:00:02.0/device": "0x0a54\n", f"{bus}/0000:00:02.0/msi_irqs/43": "msix\n",
        "proc/irq/41/effective_affinity_list": "5\n", "proc/irq/41/smp_affinity_list": "0-7\n",
        "proc/irq/41/spurious": "count 0\n", "proc/irq/42/smp_affinity_list": "3\n",
        "proc/irq/43/smp_affinity_list": "4\n",
    }.items():  # fmt: skip
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_text(text)
    devices = tmp_path / "root/sys/bus/pci/devices"
    devices.mkdir(parents=True)
    for name in ("0000:00:01.0", "0000:00:02.0"):
        (devices / name).symlink_to(f"../../../devices/pci0000:00/{name}")
    captured = gather(HostRoot(str(tmp_path / "root")))
    write_capture(captured, str(tmp_path / "capture.tar.gz"))
    expected_irqs = {41: CpuSet.parse("5"), 42: CpuSet.parse("3")}
    for root in (HostRoot(str(tmp_path / "root")), open_archive(str(tmp_path / "capture.tar.gz"))):
        assert read_device_irqs(root, "0000:00:01.0") == expected_irqs
    assert [path for path in sorted(captured.files) if "irq" in path] == [
        "proc/irq/41/effective_affinity_list", "proc/irq/41/smp_affinity_list", "proc/irq/42/smp_affinity_list",
        f"{bus}/0000:00:01.0/msi_irqs/41", f"{bus}/0000:00:01.0/msi_irqs/42",
    ]  # fmt: skip


def test_a_device_with_more_interrupts_than_any_has_fills_no_capture(tmp_path: Path) -> None:
    root = system_root(tmp_path, {"cpu/cpu0/topology/core_id": "0\n"})
    for at in range(3):
        device = tmp_path / f"sys/bus/pci/devices/0000:00:0{at}.0"
        (device / "msi_irqs").mkdir(parents=True)
        for name, text in (("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2330")):
            (device / name).write_text(text)
        for irq in range(2_000):
            (device / f"msi_irqs/{at * 2_000 + irq}").touch()
    assert sum("msi_irqs" in path for path in gather(root).files) == MOST_IRQS


def test_every_cpu_keeps_its_link_to_a_clock_that_all_share(tmp_path: Path) -> None:
    files = {f"cpu/cpu{cpu}/topology/core_id": f"{cpu}\n" for cpu in range(64)}
    root = system_root(tmp_path, {**files, "cpu/cpufreq/policy0/cpuinfo_max_freq": "3000000\n"})
    for cpu in range(64):
        (tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cpufreq").symlink_to("../cpufreq/policy0")
    assert gather(root).links == {f"sys/devices/system/cpu/cpu{cpu}/cpufreq": "../cpufreq/policy0" for cpu in range(64)}


def test_a_hostile_root_ends_in_a_capture_or_an_error(tmp_path: Path) -> None:
    cpu = tmp_path / "root/sys/devices/system/cpu"
    cpu.mkdir(parents=True)
    with pytest.raises(InputError, match="no machine to capture"):
        gather(HostRoot(str(tmp_path / "root")))
    (cpu / "cpu0").symlink_to("cpu1")
    (cpu / "cpu1").symlink_to("cpu0")
    (cpu / "cpu2").symlink_to("/../../../etc")
    (cpu / "cpu3/topology").mkdir(parents=True)
    (cpu / "cpu3/online").symlink_to("/dev/zero")
    os.mkfifo(cpu / "cpu3/topology/core_id")
    captured = gather(HostRoot(str(tmp_path / "root")))
    assert "sys/devices/system/cpu/cpu3/topology/core_id" in captured.denied
    assert captured.files == {}


def test_a_capture_is_written_whole_for_its_owner_and_never_over_anything(whose: Path, tmp_path: Path) -> None:
    captured = gather(HostRoot(str(whose)))
    first, second = tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"
    assert write_capture(captured, str(first)) == first.stat().st_size
    write_capture(captured, str(second))
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert first.read_bytes() == second.read_bytes()
    link = tmp_path / "link.tar.gz"
    link.symlink_to("nowhere")
    for taken in (first, link, tmp_path):
        with pytest.raises(InputError, match="is there already: give another name with -o FILE"):
            write_capture(captured, str(taken))
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_capture(captured, str(tmp_path / "nowhere/x"))
    assert sorted(os.listdir(tmp_path)) == ["first.tar.gz", "link.tar.gz", "second.tar.gz", "whose"]


def test_the_usual_name_has_architecture_and_cpus_and_no_more(stored_root: Callable[[str], Path]) -> None:
    def name(capture: str) -> str:
        return usual_name(gather(HostRoot(str(stored_root(capture)))))

    assert name("hwloc-16em64t-offlines") == "numascope-capture-x86_64-12cpus.tar.gz"
    assert name("lscpu-arm-A510-A710-A715-X3") == "numascope-capture-aarch64-8cpus.tar.gz"
    assert name("nri-sysfs:sysfs/desktop") == "numascope-capture-unknown-20cpus.tar.gz"


_READERS = {
    "lscpu": ["lscpu", "--sysroot", "{}", "-p=CPU,CORE,SOCKET,NODE,ONLINE,CACHE"],
    "lstopo-no-graphics": ["lstopo-no-graphics", "--of", "console", "--no-io"],
}


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("name", ["hwloc-32amd64-cgroup2", "hwloc-memorysidecaches", "hwloc-fakecpuid1f-dies"])
def test_lscpu_and_hwloc_read_a_capture_as_what_it_was_taken_of(
    name: str, reader: str, stored_root: Callable[[str], Path], tmp_path: Path
) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"{reader} is not installed")
    path, unpacked = tmp_path / "capture.tar.gz", tmp_path / "unpacked"
    write_capture(gather(HostRoot(str(stored_root(name)))), str(path))
    unpacked.mkdir()
    subprocess.run(["tar", "xzf", path, "-C", unpacked], check=True)

    def told(root: Path) -> str:
        command = [word.format(root) for word in _READERS[reader]]
        environment = os.environ | {
            "HWLOC_FSROOT": str(root),
            "HWLOC_THISSYSTEM": "0",
            "HWLOC_COMPONENTS": "linux,stop",
        }
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert told(unpacked) == told(stored_root(name))
    assert len(told(unpacked).splitlines()) > 8
