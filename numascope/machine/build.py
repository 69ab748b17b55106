"""From what the kernel says to one consistent Machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import InputError
from numascope.host import cgroups, devices, parse, sysfs
from numascope.host.root import HostRoot
from numascope.machine import quirks
from numascope.machine.groups import (
    build_caches,
    build_cores,
    build_groups,
    build_kinds,
    build_packages,
    online_records,
)
from numascope.machine.objects import Cpus, Device, Machine, Node, Package


def build_machine(root: HostRoot) -> Machine:
    """The machine below a root; InputError where the root holds no CPU."""
    lists = sysfs.read_cpu_lists(root)
    every_record = sysfs.read_cpus(root, lists.online)
    if not every_record:
        raise InputError(
            os.path.join(root.path, sysfs.CPU_DIRECTORY), "no cpuN directory: the root must hold a copy of /sys"
        )
    limits = cgroups.limits_of_reader(root)
    cpus = _cpus(lists, every_record, limits)
    online = cpus.online
    records = online_records(every_record, online)
    packages, package_note = build_packages(records, online)
    package_of = {cpu: package.id for package in packages for cpu in package.cpus}
    node_records = sysfs.read_nodes(root)
    is_implicit = not node_records
    if is_implicit:
        node_records = (sysfs.NodeRecord(0, online, sysfs.read_memory(root), None, ()),)
    node_of = _node_of(node_records, online)
    rows, distance_note = quirks.distance_rows(node_records)
    nodes = tuple(_node(record, online, packages, rows.get(record.number, {})) for record in node_records)
    node_cpus = {node.id: node.cpus for node in nodes}
    dies = build_groups(records, online, "die", package_of)
    kinds = build_kinds(records, sysfs.read_kind_lists(root))
    caches = build_caches(records, online, node_records, node_cpus)
    cpuinfo = sysfs.read_cpuinfo(root)
    missing = [
        quirks.online_without_directory(lists.online, every_record),
        quirks.cpus_without_topology(records, online),
        None if caches else "the kernel describes no caches",
        None if root.is_live or root.names(devices.PCI_DIRECTORY) else "no PCI files: accelerators are unknown",
    ]
    notes = [
        package_note,
        quirks.implicit_node() if is_implicit else None,
        quirks.nodes_that_overlap(node_records, online),
        quirks.cpus_that_are_off(node_records, online),
        quirks.cpus_of_no_node(node_of, node_records, online),
        distance_note,
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
        cores=build_cores(records, online, package_of, dies, node_of, kinds),
        kinds=kinds,
        devices=tuple(_device(record) for record in devices.read_accelerators(root, node_cpus)),
        notes=tuple(note for note in notes if note is not None),
        partial=any(missing),
        node_of=node_of,
    )


def _cpus(lists: sysfs.CpuLists, records: Sequence[sysfs.CpuRecord], limits: cgroups.CpusetLimits) -> Cpus:
    directories = CpuSet.of(record.number for record in records)
    present = directories if lists.present is None else lists.present
    online = (quirks.online_from_directories(records) if lists.online is None else lists.online) & directories
    present |= online
    possible = present if lists.possible is None else lists.possible | present
    allowed = None if limits.cpus is None else limits.cpus & online
    isolated, nohz_full = lists.isolated or EMPTY, lists.nohz_full or EMPTY
    return Cpus(possible, present, online, present - online, allowed, isolated, nohz_full)


def _node_of(nodes: Sequence[sysfs.NodeRecord], online: CpuSet) -> dict[int, int]:
    """CPU → node for every online CPU that exactly one node lists."""
    found: dict[int, int] = {}
    twice: set[int] = set()
    for node in nodes:
        for cpu in (node.cpus or EMPTY) & online:
            if cpu in found:
                twice.add(cpu)
            found[cpu] = node.number
    return {cpu: node for cpu, node in found.items() if cpu not in twice}


def _node(record: sysfs.NodeRecord, online: CpuSet, packages: Sequence[Package], distances: Mapping[int, int]) -> Node:
    cpus = (record.cpus or EMPTY) & online
    return Node(
        record.number,
        cpus,
        record.memory.total_kib,
        record.memory.free_kib,
        tuple(package.id for package in packages if not package.cpus.isdisjoint(cpus)),
        None,
        distances,
    )


def _device(record: devices.DeviceRecord) -> Device:
    return Device(
        record.address,
        record.class_code,
        record.kind,
        record.vendor_id,
        record.device_id,
        record.vendor,
        None,
        record.node,
        record.node_source,
        record.local_cpus,
    )
