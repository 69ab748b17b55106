"""From what the kernel says to one consistent Machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import InputError
from numascope.host import parse
from numascope.host.pci.address import PCI_DIRECTORY
from numascope.host.pci.devices import DeviceRecord, read_devices
from numascope.host.root import HostRoot
from numascope.host.system import cgroups, isolation
from numascope.host.system import lists as system
from numascope.host.system.clocks import read_policies
from numascope.host.system.cpus import CpuRecord, read_cpus
from numascope.host.system.platform import read_platform
from numascope.host.system.unread import find_unread
from numascope.machine import contradictions, quirks
from numascope.machine.groups import (
    build_caches,
    build_cores,
    build_groups,
    build_kinds,
    build_packages,
    build_policies,
    online_records,
)
from numascope.machine.nodes import Memories, build_nodes, node_of_each, read_memories
from numascope.machine.objects import NOTHING_SHOWN, Claim, Cpus, Device, Machine, Platform


def build_machine(root: HostRoot, *, io: bool = False, details: bool = False) -> Machine:
    """The machine below a root; InputError where the root holds no CPU.

    With `io` also its NICs and NVMe drives; with `details` also what placing threads does not need: clocks, huge pages,
    memory tiers and HMAT figures, hypervisor and container, offloaded RCU callbacks and cpuset partitions.
    """
    lists = system.read_cpu_lists(root)
    every_record = read_cpus(root, lists.online)
    if not every_record:
        raise InputError(
            os.path.join(root.path, system.CPU_DIRECTORY), "no cpuN directory: the root must hold a copy of /sys"
        )
    limits = cgroups.limits_of_reader(root)
    cpus, untold = _with_isolation(root, _cpus(lists, every_record, limits), lists, details=details)
    online = cpus.online
    records = online_records(every_record, online)
    packages, package_note = build_packages(records, online)
    package_of = {cpu: package.id for package in packages for cpu in package.cpus}
    node_records = system.read_nodes(root)
    is_implicit = not node_records
    if is_implicit:
        node_records = (system.NodeRecord(0, online, system.read_memory(root), None, ()),)
    node_of = node_of_each(node_records, online)
    rows, distance_note = quirks.distance_rows(node_records)
    memories = read_memories(root, node_records) if details else Memories()
    offline = memories.offline
    nodes = build_nodes(node_records, online, packages, rows, memories)
    node_cpus = {node.id: node.cpus for node in nodes}
    dies = build_groups(records, online, "die", package_of)
    kinds = build_kinds(records, system.read_kind_lists(root))
    cores = build_cores(records, online, package_of, dies, node_of, kinds)
    caches = build_caches(records, online, node_records, node_cpus)
    cpuinfo = system.read_cpuinfo(root)
    device_records = read_devices(root, node_cpus, io=io)
    found = tuple(map(_device, device_records))
    missing = [
        *find_unread(root, lists, every_record, node_records, cpuinfo, untold, details=details),
        quirks.online_without_directory(lists.online, every_record),
        quirks.cpus_without_topology(records, online),
        None if caches else "the kernel describes no caches",
        None if root.is_live or root.names(PCI_DIRECTORY) else "no PCI files: accelerators are unknown",
    ]
    notes = [
        package_note,
        quirks.implicit_node() if is_implicit else None,
        quirks.nodes_that_overlap(node_records, online),
        contradictions.siblings_that_disagree(records, online),
        quirks.cores_as_packages(packages, cores, nodes, records),
        quirks.cpus_that_are_off(node_records, online),
        quirks.cpus_of_no_node(node_of, node_records, online),
        distance_note,
        _without_distances(root, node_records),
        _offline_and_there(offline, node_records),
        quirks.devices_that_disagree(found),
        _lent_out(device_records),
        *missing,
    ]
    return Machine(
        source="live" if root.is_live else root.path,
        arch=os.uname().machine if root.is_live else parse.cpu_architecture(cpuinfo),
        model=parse.cpu_model(cpuinfo),
        cpus=cpus,
        packages=packages,
        dies=dies,
        clusters=build_groups(records, online, "cluster", package_of),
        books=build_groups(records, online, "book", package_of),
        drawers=build_groups(records, online, "drawer", package_of),
        nodes=nodes,
        nodes_allowed=None if limits.mems is None else limits.mems & CpuSet.of(node_cpus),
        caches=caches,
        cores=cores,
        kinds=kinds,
        devices=found,
        policies=build_policies(read_policies(root), online) if details else (),
        platform=Platform(*read_platform(root, cpuinfo)) if details else NOTHING_SHOWN,
        nodes_offline=offline - CpuSet.of(node_cpus),
        notes=tuple(note for note in notes if note is not None),
        partial=any(missing),
        untold=untold,
        node_of=node_of,
        kernel=system.read_value(root, "proc/sys/kernel/osrelease", parse.text),
    )


def _cpus(lists: system.CpuLists, records: Sequence[CpuRecord], limits: cgroups.CpusetLimits) -> Cpus:
    directories = CpuSet.of(record.number for record in records)
    present = directories if lists.present is None else lists.present
    online = (quirks.online_from_directories(records) if lists.online is None else lists.online) & directories
    present |= online
    possible = present if lists.possible is None else lists.possible | present
    allowed = None if limits.cpus is None else limits.cpus & online
    return Cpus(possible, present, online, present - online, allowed, EMPTY)


def _with_isolation(
    root: HostRoot, cpus: Cpus, lists: system.CpuLists, *, details: bool
) -> tuple[Cpus, tuple[str, ...]]:
    """The CPUs with those that are left alone, and the fields of these that no file tells."""
    told: dict[str, CpuSet | None] = isolation.read_isolation(
        root, lists.isolated, lists.nohz_full, cpus.possible
    )._asdict()
    if details:
        told["rcu_nocbs"] = isolation.read_rcu_nocbs(root, cpus.possible)
        told["partitioned"] = isolation.read_partitioned(root)
    known = {name: found for name, found in told.items() if found is not None}
    return cpus._replace(**known), tuple(name for name in told if name not in known)


def _without_distances(root: HostRoot, nodes: Sequence[system.NodeRecord]) -> str | None:
    """Nodes without distances where others have them; a kernel that gives none gives none to all."""
    silent = [node.number for node in nodes if node.distances is None]
    without = [one for one in silent if "distance" not in root.names(f"{system.NODE_DIRECTORY}/node{one}")]
    if not without or len(silent) == len(nodes):
        return None
    who = f"node {without[0]} has" if len(without) == 1 else f"nodes {CpuSet.of(without)} have"
    first = f"/{system.NODE_DIRECTORY}/node{without[0]}/distance"
    return f"{who} no distances, as others have ({first}): taken as unknown"


def _offline_and_there(offline: CpuSet, nodes: Sequence[system.NodeRecord]) -> str | None:
    """Nodes that the list of nodes leaves out and that have a directory, which only nodes that are online have."""
    both = offline & CpuSet.of(node.number for node in nodes)
    if not both:
        return None
    directory = f"/{system.NODE_DIRECTORY}"
    who = f"node {both} is" if len(both) == 1 else f"nodes {both} are"
    return f"{who} not in {directory}/online, yet there is {directory}/node{both.first}: taken as online"


def _device(record: DeviceRecord) -> Device:
    return Device(
        record.address,
        record.class_code,
        record.kind,
        record.vendor_id,
        record.device_id,
        record.vendor,
        record.name,
        record.node,
        record.node_source,
        record.local_cpus,
        tuple(Claim(*claim) for claim in record.claims),
        record.path,
    )


def _lent_out(records: Sequence[DeviceRecord]) -> str | None:
    """The virtual functions that are left out, with whose they are."""
    lenders = [f"{record.virtual_functions} of {record.address}" for record in records if record.virtual_functions]
    return f"virtual functions are not listed: {', '.join(lenders)}" if lenders else None
