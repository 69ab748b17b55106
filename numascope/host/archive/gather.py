"""What a capture holds of a machine, gathered: every file and link that is kept, where it really lies."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from numascope.errors import InputError
from numascope.host import parse
from numascope.host.archive.paths import KEPT, PCI, PCI_FILES, Kept
from numascope.host.archive.reduce import Aliases
from numascope.host.pci.address import is_address
from numascope.host.pci.devices import kind_of
from numascope.host.pci.irqs import IRQS, MOST_IRQS, irq_numbers
from numascope.host.root import MOST_BYTES, AbsentError, DeniedError, HostRoot
from numascope.host.system import cgroups
from numascope.host.system.interrupts import AFFINITIES, IRQ_DIRECTORY
from numascope.host.system.isolation import read_partitioned
from numascope.host.system.lists import CPU_DIRECTORY

LEFT_OUT: Final = (
    "host name", "serial numbers", "MAC addresses", "UUIDs", "names of users, jobs and pods", "command lines",
    "environment",
)  # fmt: skip
"""What no file that is kept holds, or what is taken out of it."""

_MOST_ENTRIES: Final = 1 << 20
"""Of files, links and directories: a machine of 8,192 CPUs has some 600,000."""

_MOST_KEPT_BYTES: Final = 256 << 20
_LONGEST_FILE: Final = 1 << 16
"""A file of /sys is at most a page, which some kernels have 64 KiB of; lists of CPUs may be longer, of 2,048 CPUs they are not."""

_MOST_LINKS: Final = 40

_SIGNS: Final = {"#": "[0-9]{1,9}", "@": "[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]", "~": ".{1,255}"}
_WHOLE: Final = Kept("")
"""For a file that is named outright, and kept whole."""

_INTERFACES: Final = "sys/class/net"
_VIRTUAL: Final = "/devices/virtual/"
"""Where links of bridges, tunnels and containers' ends lead: no hardware, and named by people."""

_IN_PROC: Final = {
    "proc/self/cgroup": Aliases.cgroup,
    "proc/1/cgroup": Aliases.cgroup,
    "proc/self/cpuset": Aliases.cpuset,
    "proc/self/mountinfo": Aliases.mountinfo,
    "proc/self/mounts": Aliases.mounts,
    "proc/mounts": Aliases.mounts,
}
"""What is kept of the files by which a cpuset is found; hwloc reads the last."""

_CPUSET_FILES: Final = (
    "cgroup.controllers", "cpuset.cpus", "cpuset.mems", "cpuset.cpus.effective", "cpuset.mems.effective",
    "cpuset.cpus.partition", "cpuset.cpus.isolated", "cpuset.effective_cpus", "cpuset.effective_mems",
    "cpus", "mems", "effective_cpus", "effective_mems",
)  # fmt: skip
"""Of a cpuset in cgroup v2, in v1, and in the old /dev/cpuset."""

_Ways: TypeAlias = "dict[str, list[tuple[str, tuple[str, ...]]]]"
"""A directory and by which others it is reached, each with the links on the way from there."""


class Capture(NamedTuple):
    """Files with their bytes, links with their targets, directories, by path below the root; and what may not be read."""

    files: dict[str, bytes]
    links: dict[str, str]
    directories: tuple[str, ...]
    denied: tuple[str, ...]
    """Files that are there, but whose contents this user or this kernel does not give."""


def gather(root: HostRoot) -> Capture:
    """All that is kept of the machine below a root, each file read once; InputError where it holds no CPU, or more than any machine."""
    gathering = _Gathering(root)
    for kept in KEPT:
        for directory in gathering.matching(kept.directory):
            gathering.add(kept, directory)
            if kept.directory == PCI:
                gathering.add_bridges(directory)
    if not any(path.startswith(f"{CPU_DIRECTORY}/cpu") for path in gathering.directories):
        raise InputError(posixpath.join(root.path, CPU_DIRECTORY), "no cpuN directory: there is no machine to capture")
    gathering.add_cpuset()
    gathering.add_interrupts()
    if root.is_live:
        gathering.add_architecture(os.uname().machine)
    return gathering.captured()


class _Gathering:
    """What has been found so far; paths here are those of the root, without links."""

    def __init__(self, root: HostRoot) -> None:
        self.directories: dict[str, None] = {}
        self._root = root
        self._aliases = Aliases()
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._denied: dict[str, None] = {}
        self._real: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._count = 0
        self._size_bytes = 0

    def captured(self) -> Capture:
        """The capture, with stand-ins for what names would tell."""
        shown = self._aliases.device_path
        return Capture(
            {shown(path): data for path, data in self._files.items()},
            {shown(path): shown(target) for path, target in self._links.items()},
            tuple(map(shown, self.directories)),
            tuple(map(shown, self._denied)),
        )

    def matching(self, pattern: str) -> list[str]:
        """The directories that a pattern names; the links on the way to them are kept."""
        found = [""]
        steps: list[_Ways] = []
        for part in filter(None, pattern.split("/")):
            steps.append(self._below(found, part))
            found = list(steps[-1])
        reached = dict.fromkeys(found)
        for ways in reversed(steps):
            above: dict[str, None] = {}
            for directory, links in (way for one in reached for way in ways[one]):
                above[directory] = None
                for link in links:
                    self._add_link(link)
            reached = above
        return found

    def _below(self, directories: Iterable[str], part: str) -> _Ways:
        """Where the names lead that a part of a pattern fits in any of these directories."""
        ways: _Ways = {}
        for directory in directories:
            for name in self._named(directory, part):
                path = _joined(directory, name)
                if directory != _INTERFACES or _VIRTUAL not in (self._root.link(path) or ""):
                    real, links = self._resolved(path)
                    ways.setdefault(real, []).append((directory, links))
        return ways

    def add(self, kept: Kept, directory: str) -> None:
        """The files and links of one directory."""
        if not kept.files or not _SIGNS.keys().isdisjoint(kept.directory):  # else its files bring it along
            self._charge(is_new=directory not in self.directories)
            self.directories[directory] = None
        for pattern in kept.files:
            for name in self._named(directory, pattern):
                self._add_file(_joined(directory, name), kept)
        for pattern in kept.links:
            for name in self._named(directory, pattern):
                self._add_link(_joined(directory, name))

    def add_bridges(self, directory: str) -> None:
        """The same files of the bridges above a device: a partial copy of /sys may list only some devices."""
        above, _, _ = directory.rpartition("/")
        while is_address(above.rpartition("/")[2]) and above not in self.directories:
            self.add(Kept("@", PCI_FILES), above)
            above, _, _ = above.rpartition("/")

    def add_cpuset(self) -> None:
        """What the cpuset of this process allows, how that is found, and isolated partitions: of every directory that is read for it."""
        reading = _Reading(self._root)
        cgroups.cpuset_of(reading, None)
        read_partitioned(reading)
        parts = (path.rpartition("/") for path in reading.files if not path.startswith("proc/"))
        found = dict.fromkeys(directory for directory, _, name in parts if name != "cpuset.cpus.partition")
        for directory in dict.fromkeys(above for one in found for above in _upwards(one)):
            for name in _CPUSET_FILES:
                raw = self._read(f"{directory}/{name}", _LONGEST_FILE)
                if raw is not None:
                    self._keep(f"{self._aliases.group_path(directory)}/{name}", raw)
        for path, reduced in _IN_PROC.items():
            raw = self._read(path, MOST_BYTES)
            if raw is not None:
                self._keep(path, reduced(self._aliases, raw))

    def add_interrupts(self) -> None:
        """Of accelerators, without functions that are lent out: their message interrupts, and where each may go and does go."""
        left = MOST_IRQS
        for directory in [one for one in self.directories if self._is_accelerator(one)]:
            numbers = irq_numbers(self._root, directory)[:left]
            left -= len(numbers)
            for number in numbers:
                places = (f"{IRQ_DIRECTORY}/{number}/{name}" for name in AFFINITIES)
                for path in (f"{directory}/{IRQS}/{number}", *places):
                    self._add_file(path, _WHOLE)

    def _is_accelerator(self, directory: str) -> bool:
        if not is_address(directory.rpartition("/")[2]) or f"{directory}/physfn" in self._links:
            return False
        ids = [parse.hexadecimal(self._files.get(f"{directory}/{name}", b"")) for name in ("class", "vendor", "device")]
        known = [one for one in ids if one is not None]
        return len(known) == 3 and kind_of(known[0], known[1], known[2]) in ("gpu", "npu", "accelerator")

    def add_architecture(self, machine: str) -> None:
        """What `uname -m` says, in the file where hwloc looks for it in a copied root."""
        self._keep("proc/hwloc-nofile-info", f"OSName: Linux\nArchitecture: {machine}\n".encode())

    def _named(self, directory: str, pattern: str) -> list[str]:
        """The names in a directory that a pattern fits, in order."""
        names = self._names.get(directory)
        if names is None:
            names = self._names[directory] = frozenset(self._root.names(directory))
        if _SIGNS.keys().isdisjoint(pattern):
            return [pattern] if pattern in names else []
        expression = re.compile("".join(_SIGNS.get(one) or re.escape(one) for one in pattern), re.DOTALL)
        return sorted(filter(expression.fullmatch, names))

    def _resolved(self, path: str, depth: int = 0) -> tuple[str, tuple[str, ...]]:
        """Where a path leads whose parent holds no links, and the links on the way."""
        if path not in self._real:
            self._real[path] = path, ()
            target = self._root.link(path)
            if target is not None and depth < _MOST_LINKS:
                led = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), target))
                real, links = "", [path]
                for part in filter(None, led.split("/")):
                    real, passed = self._resolved(_joined(real, part), depth + 1)
                    links += passed
                self._real[path] = real, tuple(links[:_MOST_LINKS])
        return self._real[path]

    def _add_file(self, path: str, kept: Kept) -> None:
        if path in self._files or path in self._denied:
            return
        raw = self._read(path, MOST_BYTES if path.startswith("proc/") else _LONGEST_FILE)
        if raw is not None:
            self._keep(path, raw if kept.reduced is None else kept.reduced(raw))

    def _read(self, path: str, limit: int) -> bytes | None:
        try:
            return self._root.read(path, limit)
        except AbsentError:
            return None
        except DeniedError:
            if not self._root.names(path):
                self._denied[path] = None
            return None

    def _add_link(self, path: str) -> None:
        target = None if path in self._links else self._root.link(path)
        if target is not None:
            self._charge(is_new=True)
            self._links[path] = target

    def _keep(self, path: str, data: bytes) -> None:
        self._charge(is_new=path not in self._files, size_bytes=len(data))
        self._files[path] = data

    def _charge(self, *, is_new: bool, size_bytes: int = 0) -> None:
        self._count += is_new
        self._size_bytes += size_bytes
        if self._count > _MOST_ENTRIES or self._size_bytes > _MOST_KEPT_BYTES:
            raise InputError(self._root.path, "holds more files than any machine has: give the root of one machine")


def _joined(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _upwards(directory: str) -> Iterator[str]:
    while directory:
        yield directory
        directory, _, _ = directory.rpartition("/")


class _Reading(HostRoot):
    """A root that notes which files were read from it, and passes for a copy even where it is live."""

    def __init__(self, root: HostRoot) -> None:
        # It opens nothing itself.
        self.path = root.path
        self.is_live = False
        self.files: dict[str, None] = {}
        self._root = root

    def read(self, path: str, limit: int = MOST_BYTES) -> bytes:
        """As the root reads it."""
        data = self._root.read(path, limit)
        self.files[path.strip("/")] = None
        return data

    def names(self, path: str) -> list[str]:
        """As the root lists them."""
        return self._root.names(path)

    def link(self, path: str) -> str | None:
        """As the root has it."""
        return self._root.link(path)

    def close(self) -> None:
        """Nothing of its own to give back."""
