"""The `topo` document: the machine as JSON-ready values."""

from __future__ import annotations

from collections.abc import Container, Iterable

from numascope import __version__
from numascope.machine.objects import Cpus, Device, Group, Machine
from numascope.show.document import Document, set_or_null, source_of

SCHEMA = "numascope.topo/1"


def topo_document(machine: Machine) -> Document:
    """The document `numascope.topo/1`: sets as range strings, unknown as null; `part` is null where nothing was left out."""
    return {
        "schema": SCHEMA,
        "numascope": __version__,
        "source": source_of(machine),
        "partial": machine.partial,
        "notes": list(machine.notes),
        "part": None if machine.part is None else {"nodes": str(machine.part.nodes)},
        "machine": _machine(machine),
    }


def _machine(machine: Machine) -> Document:
    return {
        "arch": machine.arch,
        "model": machine.model,
        "cpus": _cpus(machine.cpus, machine.untold),
        "nodes_allowed": set_or_null(machine.nodes_allowed),
        "packages": [{"id": package.id, "cpus": str(package.cpus)} for package in machine.packages],
        "dies": _groups(machine.dies),
        "clusters": _groups(machine.clusters),
        "books": _groups(machine.books),
        "drawers": _groups(machine.drawers),
        "nodes": [
            {
                "id": node.id,
                "cpus": str(node.cpus),
                "memory_kib": node.memory_kib,
                "free_kib": node.free_kib,
                "packages": list(node.packages),
                "kind": node.kind,
                "distances": {str(other): distance for other, distance in node.distances.items()},
                "huge_pages": [one._asdict() for one in node.huge_pages],
                "access": [{**one._asdict(), "initiators": str(one.initiators)} for one in node.access],
                "tier": node.tier,
            }
            for node in machine.nodes
        ],
        "caches": [
            {
                "level": cache.level,
                "type": cache.type,
                "size_kib": cache.size_kib,
                "cpus": str(cache.cpus),
                "memory_side": cache.memory_side,
            }
            for cache in machine.caches
        ],
        "cores": [
            {"package": core.package, "die": core.die, "node": core.node, "cpus": str(core.cpus), "kind": core.kind}
            for core in machine.cores
        ],
        "kinds": [
            {"cpus": str(kind.cpus), "kind": kind.kind, "capacity": kind.capacity, "max_khz": kind.max_khz}
            for kind in machine.kinds
        ],
        "policies": [
            {
                "cpus": str(policy.cpus),
                "governor": policy.governor,
                "driver": policy.driver,
                "min_khz": policy.min_khz,
                "max_khz": policy.max_khz,
                "hardware_min_khz": policy.hardware_min_khz,
                "hardware_max_khz": policy.hardware_max_khz,
            }
            for policy in machine.policies
        ],
        "platform": {**machine.platform._asdict(), "lxcfs": list(machine.platform.lxcfs)},
        "nodes_offline": str(machine.nodes_offline),
        "devices": [_device(device) for device in machine.devices],
        "links": [],
    }


def _cpus(cpus: Cpus, untold: Container[str]) -> Document:
    return {
        "possible": str(cpus.possible),
        "present": str(cpus.present),
        "online": str(cpus.online),
        "offline": str(cpus.offline),
        "allowed": set_or_null(cpus.allowed),
        "isolated": None if "isolated" in untold else str(cpus.isolated),
        "nohz_full": None if "nohz_full" in untold else str(cpus.nohz_full),
        "rcu_nocbs": None if "rcu_nocbs" in untold else str(cpus.rcu_nocbs),
        "partitioned": None if "partitioned" in untold else str(cpus.partitioned),
    }


def _groups(groups: Iterable[Group]) -> list[Document]:
    return [{"package": group.package, "id": group.id, "cpus": str(group.cpus)} for group in groups]


def _device(device: Device) -> Document:
    return {
        "address": device.address,
        "class": f"{device.class_code:06x}",
        "kind": device.kind,
        "vendor": device.vendor,
        "name": device.name,
        "node": device.node,
        "node_source": device.node_source,
        "claims": [claim._asdict() for claim in device.claims],
        "path": list(device.path),
        "local_cpus": set_or_null(device.local_cpus),
    }
