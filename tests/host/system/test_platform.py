"""Hypervisors, containers and lxcfs by the signs that they leave; without a sign nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascope.host.root import HostRoot
from numascope.host.system.platform import PlatformRecord, read_platform


def platform(folder: Path, files: dict[str, str], **cpuinfo: str) -> PlatformRecord:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_platform(HostRoot(str(folder)), {key: (value,) for key, value in cpuinfo.items()})


DMI = "sys/class/dmi/id"


@pytest.mark.parametrize(
    ("files", "flags", "hypervisor"),
    [
        ({}, "fpu lm", None),
        ({}, "fpu hypervisor", "unnamed"),
        ({"sys/hypervisor/type": "xen\n"}, "", "xen"),
        ({f"{DMI}/sys_vendor": "VMware, Inc.\n", f"{DMI}/product_name": "VMware7,1\n"}, "hypervisor", "vmware"),
        ({f"{DMI}/sys_vendor": "QEMU\n", f"{DMI}/product_name": "Standard PC\n"}, "", "qemu"),
        (
            {f"{DMI}/sys_vendor": "Microsoft Corporation\n", f"{DMI}/product_name": "Virtual Machine\n"},
            "",
            "hyper-v",
        ),
        ({f"{DMI}/sys_vendor": "Microsoft Corporation\n", f"{DMI}/product_name": "Surface\n"}, "", None),
        ({f"{DMI}/sys_vendor": "Amazon EC2\n", f"{DMI}/product_name": "c5.large\n"}, "hypervisor", "Amazon EC2"),
        ({f"{DMI}/sys_vendor": "Amazon EC2\n", f"{DMI}/product_name": "c5.metal\n"}, "", None),
        ({"proc/sys/kernel/osrelease": "5.15.90.1-microsoft-standard-WSL2\n"}, "hypervisor", "wsl2"),
        ({"proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft\n"}, "", "wsl1"),
        ({"proc/device-tree/hypervisor/compatible": "linux,kvm\0"}, "", "linux,kvm"),
        ({"proc/sysinfo": "Manufacturer:  IBM\nVM00 Control Program: z/VM    7.2.0\n"}, "", "z/VM 7.2.0"),
    ],
)
def test_a_hypervisor_is_named_by_who_says_it(
    tmp_path: Path, files: dict[str, str], flags: str, hypervisor: str | None
) -> None:
    assert platform(tmp_path, files, flags=flags).hypervisor == hypervisor


@pytest.mark.parametrize(
    ("files", "container"),
    [
        ({"proc/version": "Linux"}, None),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": "engine=podman"}, "podman"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"var/run/secrets/kubernetes.io/serviceaccount/token": "x"}, "kubernetes"),
        ({"proc/self/cgroup": "12:cpuset:/kubepods/besteffort/pod1/2\n"}, "kubernetes"),
        ({"proc/1/cgroup": "0::/docker/abc\n"}, "docker"),
    ],
)
def test_a_container_is_known_by_what_its_runtime_leaves(
    tmp_path: Path, files: dict[str, str], container: str | None
) -> None:
    assert platform(tmp_path, files).container == container


def test_lxcfs_is_seen_in_the_mounts(tmp_path: Path) -> None:
    mounts = (
        "30 1 0:26 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n"
        "31 1 0:26 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n"
        "32 1 0:4 / /proc rw - proc proc rw\n"
        "33 1 0:26 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw\n"
    )
    assert platform(tmp_path, {"proc/self/mountinfo": mounts}).lxcfs == ("/proc/cpuinfo", "/proc/stat")
