"""Files of the machine's shape that are there and tell nothing: denied, no files, leading nowhere, or not as a kernel writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import LARGEST_ID
from numascope.host import parse
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.host.system.cpus import CpuRecord
from numascope.host.system.isolation import COMMAND_LINE
from numascope.host.system.lists import CPU_DIRECTORY, CPU_LISTS, NODE_DIRECTORY, CpuLists, NodeRecord
from numascope.host.text import safe_text

_MOST_CHARACTERS: Final = 40
_INSTEAD: Final = {
    "possible": "the present CPUs are taken as the possible ones",
    "present": "CPUs with a directory are taken as present",
    "online": "each CPU's own `online` file is asked",
    "isolated": "`isolcpus=` of the kernel's command line is asked",
    "nohz_full": "`nohz_full=` of the kernel's command line is asked",
}
_DIRECTORY: Final = {"cpu": CPU_DIRECTORY, "node": NODE_DIRECTORY}


class Unread(NamedTuple):
    """A file that is there, why nothing comes out of it, and what follows."""

    path: str
    problem: str
    instead: str


def find_unread(
    root: HostRoot,
    lists: CpuLists,
    cpus: Sequence[CpuRecord],
    nodes: Sequence[NodeRecord],
    cpuinfo: Mapping[str, object],
    untold: Container[str],
    *,
    details: bool,
) -> tuple[str, ...]:
    """A sentence for each sort of file that is there and tells nothing, with the first path; a file that is absent is none."""
    found: dict[tuple[str, str], list[Unread]] = {}
    for one in (
        *_of_cpus(root, lists, cpus),
        *(() if cpuinfo else _one(root, "proc/cpuinfo", _nothing, "what it tells of the processor is unknown")),
        *(one for node in nodes for one in _of_node(root, node)),
        *_of_machine(root, nodes),
        *(_beside(root, untold) if details else ()),
    ):
        found.setdefault((one.path.rpartition("/")[2], one.instead), []).append(one)
    return (
        *(_sentence(alike) for alike in found.values()),
        *(note for prefix in _DIRECTORY if (note := _too_large(root, prefix)) is not None),
    )


def why_unread(root: HostRoot, path: str, parser: Callable[[bytes], object | None]) -> str | None:
    """Why a file that is there tells nothing; None where it tells something, or is absent."""
    parent, _, name = path.rpartition("/")
    if name not in root.names(parent):
        return None
    try:
        raw = root.read(path)
    except AbsentError:
        return None if root.link(path) is None else "is a link that leads to no file of this root"
    except DeniedError as error:
        return f"cannot be read ({error.strerror})"
    if parser(raw) is not None:
        return None
    told = safe_text(parse.text(b" ".join(raw[:4096].split())))[:_MOST_CHARACTERS]
    return f'holds "{told}", which cannot be' if told else "is empty"


def _of_cpus(root: HostRoot, lists: CpuLists, cpus: Sequence[CpuRecord]) -> Iterator[Unread]:
    """The lists of CPUs, and where there is none of those online, each CPU's own file."""
    for (name, parser), value in zip(CPU_LISTS.items(), lists, strict=True):
        if value is None:
            yield from _one(root, f"{CPU_DIRECTORY}/{name}", parser, _INSTEAD[name])
    for cpu in cpus if lists.online is None else ():
        if cpu.online is None:
            yield from _one(
                root, f"{CPU_DIRECTORY}/cpu{cpu.number}/online", parse.decimal, "the CPU is taken as online"
            )


def _of_machine(root: HostRoot, nodes: Sequence[NodeRecord]) -> Iterator[Unread]:
    """The memory of the machine, which stands for a node's where there is one without a directory."""
    if all(node.memory.total_kib is None for node in nodes):
        yield from _one(root, "proc/meminfo", _total_kib, "the machine's memory is unknown")


def _beside(root: HostRoot, untold: Container[str]) -> Iterator[Unread]:
    """What is read for details only."""
    if "rcu_nocbs" in untold:
        yield from _one(root, COMMAND_LINE, _nothing, "what it asks of the kernel is unknown")
    for name in ("possible", "online"):
        yield from _one(root, f"{NODE_DIRECTORY}/{name}", parse.some_ids, "which nodes are offline is unknown")


def _of_node(root: HostRoot, node: NodeRecord) -> Iterator[Unread]:
    """Of one node: the list of its CPUs, or the mask where there is no list, its memory and its distances."""
    own = f"{NODE_DIRECTORY}/node{node.number}"
    instead = "its other files are asked" if node.cpus else "the node's CPUs are unknown"
    if not node.is_listed:
        yield from _one(root, f"{own}/cpulist", parse.id_list, instead)
        if not node.cpus:
            yield from _one(root, f"{own}/cpumap", parse.mask, instead)
    if node.memory.total_kib is None:
        yield from _one(root, f"{own}/meminfo", _total_kib, "the node's memory is unknown")
    if node.distances is None:
        yield from _one(root, f"{own}/distance", parse.distances, "the node's distances are unknown")


def _nothing(raw: bytes) -> None:
    """A parser for a file of which it is known that it told nothing."""


def _total_kib(raw: bytes) -> int | None:
    return parse.meminfo(raw).total_kib


def _one(root: HostRoot, path: str, parser: Callable[[bytes], object | None], instead: str) -> Iterator[Unread]:
    problem = why_unread(root, path, parser)
    if problem is not None:
        yield Unread(f"/{path}", problem, instead)


def _sentence(alike: Sequence[Unread]) -> str:
    """`PATH PROBLEM (and 3 more like it): what follows`."""
    path, problem, instead = alike[0]
    more = f" (and {len(alike) - 1} more like it)" if len(alike) > 1 else ""
    return f"{path} {problem}{more}: {instead}"


def _too_large(root: HostRoot, prefix: str) -> str | None:
    """Directories of numbers that no kernel gives."""
    found = [
        name
        for name in root.names(_DIRECTORY[prefix])
        if re.fullmatch(rf"{prefix}[0-9]+", name) and (len(name) > 20 or int(name[len(prefix) :]) > LARGEST_ID)
    ]
    if not found:
        return None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    first = f"/{_DIRECTORY[prefix]}/{safe_text(found[0])[:_MOST_CHARACTERS]}"
    return f"{first}{more}: left out, numbers go from 0 to {LARGEST_ID}"
