"""Where this system runs: on which hypervisor, in which container, and which files of /proc are not the kernel's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.lists import read_value

_DMI: Final = "sys/class/dmi/id"
_BY_DMI: Final = (
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("parallels", "parallels"),
    ("bochs", "bochs"),
    ("bhyve", "bhyve"),
    ("firecracker", "firecracker"),
    ("xen", "xen"),
    ("google compute engine", "kvm (Google Compute Engine)"),
    ("alibaba", "kvm (Alibaba Cloud)"),
    ("openstack", "kvm (OpenStack)"),
    ("rhev", "kvm (RHEV)"),
    ("kvm", "kvm"),
    ("qemu", "qemu"),
    ("microsoft corporation virtual machine", "hyper-v"),
)
"""What vendor and product of the DMI tables hold, in lower case, and whose they are."""

_MARKERS: Final = (
    ("run/.containerenv", "podman"),
    (".dockerenv", "docker"),
    ("var/run/secrets/kubernetes.io", "kubernetes"),
)
"""Files that container runtimes leave in the root of what they start."""

_IN_CGROUP: Final = (
    (b"kubepods", "kubernetes"), (b"docker", "docker"), (b"libpod", "podman"), (b"lxc", "lxc"), (b"machine.slice", "nspawn"),
)  # fmt: skip
_INITIAL_PID_NAMESPACE: Final = "pid:[4026531836]"
"""PROC_PID_INIT_INO of include/linux/proc_ns.h."""


class PlatformRecord(NamedTuple):
    """None: nothing shows it; `lxcfs` are the files that lxcfs has put its own in place of."""

    hypervisor: str | None
    container: str | None
    lxcfs: tuple[str, ...]


def read_platform(root: HostRoot, cpuinfo: Mapping[str, tuple[str, ...]]) -> PlatformRecord:
    """Hypervisor, container and lxcfs, by the signs that they leave in /sys, /proc and the root directory."""
    mounts = (root.read_if_there("proc/self/mountinfo", 1 << 20) or b"").splitlines()
    return PlatformRecord(_hypervisor(root, cpuinfo), _container(root), _lxcfs(mounts))


def _hypervisor(root: HostRoot, cpuinfo: Mapping[str, tuple[str, ...]]) -> str | None:
    release = (read_value(root, "proc/sys/kernel/osrelease", parse.text) or "").lower()
    if "microsoft" in release:
        return "wsl2" if "wsl2" in release or "microsoft-standard" in release else "wsl1"
    told = read_value(root, "sys/hypervisor/type", parse.text)
    if told:
        return told
    names = [read_value(root, f"{_DMI}/{name}", parse.text) or "" for name in ("sys_vendor", "product_name")]
    dmi = " ".join(names).lower()
    by_dmi = next((name for sign, name in _BY_DMI if sign in dmi), None)
    if by_dmi is not None:
        return by_dmi
    tree = read_value(root, "proc/device-tree/hypervisor/compatible", parse.text)
    if tree:
        return tree
    control = next((value for key, value in _sysinfo(root) if key.endswith("Control Program")), None)
    if control:
        return control
    has_flag = any("hypervisor" in flags.split() for flags in cpuinfo.get("flags", ()))
    maker = cpuinfo.get("Hypervisor vendor", cpuinfo.get("hypervisor vendor", ("",)))[0]
    return maker or names[0] or "unnamed" if has_flag or maker else None


def _sysinfo(root: HostRoot) -> list[tuple[str, str]]:
    """`VM00 Control Program: z/VM 7.2.0` of /proc/sysinfo on s390."""
    raw = root.read_if_there("proc/sysinfo", 1 << 16) or b""
    pairs = (line.partition(b":") for line in raw.splitlines())
    return [(parse.text(key), parse.text(b" ".join(value.split()))) for key, colon, value in pairs if colon]


def _container(root: HostRoot) -> str | None:
    named = read_value(root, "run/systemd/container", parse.text)
    if named:
        return named
    for path, name in _MARKERS:
        parent, _, last = path.rpartition("/")
        if last in root.names(parent):
            return name
    cgroups = (root.read_if_there("proc/self/cgroup", 1 << 16) or b"") + (
        root.read_if_there("proc/1/cgroup", 1 << 16) or b""
    )
    by_cgroup = next((name for sign, name in _IN_CGROUP if sign in cgroups), None)
    if by_cgroup is not None:
        return by_cgroup
    namespace = root.link("proc/self/ns/pid") if root.is_live else None
    return "unnamed" if namespace not in (None, _INITIAL_PID_NAMESPACE) else None


def _lxcfs(mounts: list[bytes]) -> tuple[str, ...]:
    """The mount points of type fuse.lxcfs in /proc/self/mountinfo below /proc and /sys."""
    found = []
    for line in mounts:
        before, dash, after = line.partition(b" - ")
        fields = before.split()
        if (
            dash
            and after.startswith(b"fuse.lxcfs ")
            and len(fields) > 4
            and fields[4].startswith((b"/proc/", b"/sys/"))
        ):
            found.append(parse.text(fields[4]))
    return tuple(sorted(found))
