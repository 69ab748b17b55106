"""What of a file's text goes into a capture: the machine, and nobody's name, number or command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from numascope.host import parse

_IDENTIFYING_KEY = re.compile(rb"serial|uuid", re.IGNORECASE)
_S390_IDENTIFICATION = re.compile(rb"(identification = )[0-9A-Fa-f]+")
"""On s390 the lines `processor N:` hold the serial number of the machine's CPUs."""

_KFD_IDENTIFYING: Final = (b"unique_id", b"hive_id")
_NVIDIA_KEPT: Final = (b"Model", b"Bus Type", b"Bus Location", b"Device Minor")

_SYSINFO_KEY = re.compile(rb"Manufacturer|Type|CPU Topology [HS]W|VM[0-9]{2} Control Program")

_WORD = re.compile(rb'(?:[^\s"]|"[^"]*")+')
_KERNEL_KEYS = re.compile(
    rb"isolcpus|nohz|nohz_full|rcu_nocbs|rcu_nocb_poll|irqaffinity|kthread_cpus|maxcpus|nr_cpus|possible_cpus|nosmt|smt"
    rb"|numa|numa[_.][a-z_.]+|movable_node|default_hugepagesz|hugepages|hugepagesz|hugetlb_cma|transparent_hugepage"
    rb"|relax_domain_level|sched_[a-z_]+|skew_tick|preempt|noautogroup|nosched[a-z_]*"
    rb"|cgroup_[a-z0-9_]+|systemd\.unified_cgroup_hierarchy|systemd\.legacy_systemd_cgroup_controller"
)
_KERNEL_VALUE = re.compile(rb"[0-9A-Za-z_,:;./@+-]{0,1024}")

_FILE_SYSTEMS: Final = (b"cgroup", b"cgroup2", b"cpuset")
_MOUNTED_FOR_ALL: Final = {b"proc": b"/proc", b"sysfs": b"/sys"}
_LXCFS: Final = b"fuse.lxcfs"
_CONTROLLERS = re.compile(rb"[a-z_,]*|name=systemd")
_OPTION = re.compile(rb"[a-z_]{1,20}|hidepid=[a-z0-9]{1,20}")

_KNOWN = re.compile(
    r"|\.|\.\.|sys|fs|dev|proc|cgroup|cgroup2|cpuset|unified|systemd|lxc|lxc\.payload|docker|libpod|podman|slurm|torque|pbs"
    r"|(?:user|system|machine|app|session|background|init|kubepods)(?:-besteffort|-burstable)?\.(?:slice|scope)"
    r"|kubepods|besteffort|burstable|guaranteed|cpuinfo|meminfo|stat|uptime|loadavg|swaps|diskstats|slabinfo"
    r"|devices|system|cpu|online|node|pressure|io|memory"
)
"""Names of directories that say nothing of whose they are."""

_OF_RUNTIME = re.compile(r"(docker|libpod|lxc|kubepods|crio|cri-containerd)[-.].*", re.DOTALL)
"""A container's own cgroup: which runtime made it stays, its name does not."""

_HARDWARE_ADDRESS = re.compile(r"(?<![0-9a-f])[0-9a-f]{12,16}(?![0-9a-f])")


def cpuinfo(raw: bytes) -> bytes:
    """/proc/cpuinfo without serial numbers (ARM, s390, MIPS name them)."""
    kept = (line for line in _lines(raw) if not _IDENTIFYING_KEY.search(line.partition(b":")[0]))
    return _joined(_S390_IDENTIFICATION.sub(rb"\g<1>000000", line) for line in kept)


def stat(raw: bytes) -> bytes:
    """The lines of the CPUs in /proc/stat."""
    return _joined(line for line in _lines(raw) if line.startswith(b"cpu"))


def version(raw: bytes) -> bytes:
    """`Linux version RELEASE`, without who built it, where and when."""
    return _joined([b" ".join(raw.split(b"\0", 1)[0].split()[:3])])


def kernel_command_line(raw: bytes) -> bytes:
    """The words of /proc/cmdline that steer the scheduler, NUMA, huge pages and cgroups; what follows `--` is init's."""
    kept = []
    for word in _WORD.findall(raw.split(b"\0", 1)[0]):
        if word == b"--":
            break
        key, _, value = word.replace(b"-", b"_").partition(b"=")
        if _KERNEL_KEYS.fullmatch(key) and _KERNEL_VALUE.fullmatch(value):
            kept.append(word)
    return _joined([b" ".join(kept)])


def kfd_properties(raw: bytes) -> bytes:
    """The properties of a node of AMD's compute driver without the numbers that no other GPU has."""
    return _joined(line for line in _lines(raw) if not line.startswith(_KFD_IDENTIFYING))


def nvidia_information(raw: bytes) -> bytes:
    """The model and the place of an NVIDIA GPU, without its UUID and firmware."""
    return _joined(line for line in _lines(raw) if line.partition(b":")[0].strip() in _NVIDIA_KEPT)


def sysinfo(raw: bytes) -> bytes:
    """What /proc/sysinfo on s390 says of type and hypervisor, without sequence code, names and UUIDs of partitions."""
    return _joined(line for line in _lines(raw) if _SYSINFO_KEY.fullmatch(line.partition(b":")[0].strip()))


def nothing(raw: bytes) -> bytes:
    """That the file is there says all: podman's `.containerenv` names the container."""
    del raw
    return b""


def hwloc_information(raw: bytes) -> bytes:
    """The architecture out of what hwloc-gather-topology notes of uname(2), without the host name."""
    return _joined(line for line in _lines(raw) if line.partition(b":")[0] in (b"OSName", b"Architecture"))


class Aliases:
    """Stands in for names that may tell of users, jobs, pods or hardware addresses; the same name always gets the same stand-in."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def group_path(self, path: str) -> str:
        """A path in a hierarchy of cgroups: known names stay, others become `group1` and so on."""
        return "/".join(map(self._group_name, path.split("/")))

    def _group_name(self, name: str) -> str:
        if _KNOWN.fullmatch(name):
            return name
        runtime = _OF_RUNTIME.fullmatch(name)
        return self._alias(name, (f"{runtime[1]}-" if runtime else "") + "group{}")

    def device_path(self, path: str) -> str:
        """A path of /sys: where a name holds a hardware address (`enx0c42a1…`), a number stands in for that."""
        if _HARDWARE_ADDRESS.search(path) is None:
            return path
        return _HARDWARE_ADDRESS.sub(lambda found: self._alias(found[0], "{:012}"), path)

    def cgroup(self, raw: bytes) -> bytes:
        """/proc/PID/cgroup (cgroups(7)), without hierarchies that somebody has named."""
        fields = (line.split(b":", 2) for line in _lines(raw))
        return _joined(
            b"%s:%s:%s" % (number, controllers, self._group(path))
            for number, controllers, path in (three for three in fields if len(three) == 3)
            if _CONTROLLERS.fullmatch(controllers)
        )

    def cpuset(self, raw: bytes) -> bytes:
        """/proc/PID/cpuset."""
        return _joined(self._group(line) for line in _lines(raw)[:1])

    def mountinfo(self, raw: bytes) -> bytes:
        """The mounts of /proc/PID/mountinfo that cpusets are found by (proc_pid_mountinfo(5)), and those of lxcfs."""
        kept: list[bytes] = []
        for line in _lines(raw):
            before, _, after = line.partition(b" - ")
            left, right = before.split(), after.split()
            if len(left) < 5 or len(right) < 3 or not _is_kept(right[0], left[4], right[2]):
                continue
            number = len(kept) + 1
            where = (self._group(left[3]), self._group(left[4]))
            kept.append(b"%d 0 0:%d %s %s rw - " % (number, number, *where) + _mount(right[0], right[2]))
        return _joined(kept)

    def mounts(self, raw: bytes) -> bytes:
        """The same of /proc/mounts."""
        kept = []
        for line in _lines(raw):
            fields = line.split()
            if len(fields) >= 4 and _is_kept(fields[2], fields[1], fields[3]):
                kind, options = _mount(fields[2], fields[3]).split(b" ", 1)[0], _options(fields[3])
                kept.append(b"%s %s %s %s 0 0" % (kind, self._group(fields[1]), kind, options))
        return _joined(kept)

    def _group(self, path: bytes) -> bytes:
        plain = parse.unescaped(path).decode("utf-8", "surrogateescape")
        return self.group_path(plain).encode("utf-8", "surrogateescape")

    def _alias(self, name: str, form: str) -> str:
        if name not in self._given:
            self._given[name] = form.format(len(self._given) + 1)
        return self._given[name]


def _is_kept(kind: bytes, point: bytes, options: bytes) -> bool:
    if kind == b"cgroup":
        return b"cpuset" in options.split(b",")
    return kind in _FILE_SYSTEMS or kind == _LXCFS or _MOUNTED_FOR_ALL.get(kind) == point


def _mount(kind: bytes, options: bytes) -> bytes:
    return b"%s %s %s" % (kind, kind, _options(options))


def _options(options: bytes) -> bytes:
    """Without such as take a path: `release_agent=…`, `name=…`."""
    return b",".join(option for option in options.split(b",") if _OPTION.fullmatch(option))


def _lines(raw: bytes) -> list[bytes]:
    return raw.split(b"\0", 1)[0].splitlines()


def _joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)
