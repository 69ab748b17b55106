"""Where a machine comes from: this host, a directory, an archive, hwloc's XML, or a few words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from numascope.cli.arguments import refuse_empty
from numascope.errors import UsageError

if TYPE_CHECKING:
    from numascope.cpuset import CpuSet
    from numascope.host.root import HostRoot
    from numascope.machine.objects import Machine


class Wanted(NamedTuple):
    """What the user named; nothing of it means this host."""

    root: str | None = None
    capture: str | None = None
    inside: str | None = None
    xml: str | None = None
    synthetic: str | None = None
    io: bool = False


class Found(NamedTuple):
    """A machine, and the root that it was read from; None where there are no files behind it."""

    machine: Machine
    root: HostRoot | None


@contextmanager
def opened_machine(wanted: Wanted) -> Iterator[Found]:
    """The machine that the user means; its root is open as long as the context lasts."""
    for name in ("root", "capture", "inside", "xml", "synthetic"):
        refuse_empty(f"--{name}", getattr(wanted, name))
    ways = [name for name in ("root", "capture", "xml", "synthetic") if getattr(wanted, name) is not None]
    if len(ways) > 1:
        raise UsageError(f"--{ways[0]} and --{ways[1]} name two machines: give one of them")
    if wanted.inside is not None and wanted.capture is None:
        raise UsageError("--inside chooses a machine of an archive: give the archive with --capture")
    if wanted.xml is not None:
        yield Found(_from_xml(wanted.xml, io=wanted.io), None)
    elif wanted.synthetic is not None:
        from numascope.machine.synthetic.machine import synthetic_machine

        yield Found(synthetic_machine(wanted.synthetic), None)
    else:
        root = _root_of(wanted)
        try:
            from numascope.machine.build import build_machine

            machine = build_machine(root, io=wanted.io, details=True)
            yield Found(_named(machine) if root.is_live and machine.model is None else machine, root)
        finally:
            root.close()


def _named(machine: Machine) -> Machine:
    """With the processor's name as py-cpuinfo has it: the kernel of this architecture gives none."""
    from numascope.host.system.cpu_name import ask_cpu_name

    return machine._replace(model=ask_cpu_name())


def _root_of(wanted: Wanted) -> HostRoot:
    if wanted.capture is not None:
        from numascope.host.archive.root import open_archive

        return open_archive(wanted.capture, wanted.inside)
    from numascope.host.root import HostRoot

    return HostRoot("/" if wanted.root is None else wanted.root)


def _from_xml(path: str, *, io: bool) -> Machine:
    from numascope.host.text import safe_text
    from numascope.host.user_file import read_user_file
    from numascope.machine.hwloc.parse import LARGEST_FILE
    from numascope.machine.hwloc.xml import read_hwloc_xml

    return read_hwloc_xml(read_user_file(path, LARGEST_FILE, "hwloc XML"), safe_text(path), io=io)


def wanted_of(path: str, inside: str | None, *, io: bool) -> Wanted:
    """A machine by a path alone, as `--diff` takes it: a directory, XML where it begins so, else an archive."""
    refuse_empty("--diff", path)
    if os.path.isdir(path):
        return Wanted(root=path, io=io)
    if _begins_like_xml(path):
        return Wanted(xml=path, io=io)
    return Wanted(capture=path, inside=inside, io=io)


def node_list(text: str, machine: Machine) -> CpuSet:
    """NUMA nodes as the user lists them; UsageError where the machine has none of that number."""
    from numascope.cpuset import BadIdListError, CpuSet

    known = CpuSet.of(node.id for node in machine.nodes)
    try:
        wanted = CpuSet.parse(text)
    except BadIdListError as error:
        raise UsageError(f"--node {error}") from None
    if not wanted or not wanted <= known:
        has = f"{'node' if len(known) == 1 else 'nodes'} {known}"
        raise UsageError(f"--node {wanted - known or 'an empty list'}: this machine has {has}")
    return wanted


def _begins_like_xml(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return False  # the archive's reader says what is wrong
    try:
        return os.read(descriptor, 64).lstrip().startswith(b"<")
    except OSError:
        return False
    finally:
        os.close(descriptor)
