"""The `plan` document: what a plan gives to each device on a machine, as JSON-ready values."""

from __future__ import annotations

from collections.abc import Sequence

from numascope import __version__
from numascope.plan.objects import SCHEDULER, Subject
from numascope.plan.owners import Owners
from numascope.plan.resolve import rule_cpus
from numascope.show.document import Document, set_or_null, source_of

SCHEMA = "numascope.plan/1"


def plan_document(owners: Owners, policy: str | None, notes: Sequence[str]) -> Document:
    """The document `numascope.plan/1`; `policy` is what made it, null for one that was read, `memory_nodes` null where nothing is asked for."""
    plan, machine = owners.plan, owners.machine
    return {
        "schema": SCHEMA,
        "numascope": __version__,
        "source": source_of(machine),
        "partial": machine.partial,
        "notes": list(notes),
        "plan": None if policy is not None else {"path": plan.path, "dialect": plan.dialect, "sha256": plan.sha256},
        "policy": policy,
        "devices": [_device(owners, subject) for subject in plan.subjects() if subject != SCHEDULER],
        "scheduler": str(owners.cpus_of(SCHEDULER)) if SCHEDULER in owners.of_subject else None,
    }


def _device(owners: Owners, subject: Subject) -> Document:
    seat = None if subject.device is None else owners.seats.get(subject.device)
    rules = owners.of_subject.get(subject, ())
    return {
        "device": subject.device,
        "address": None if seat is None else seat.address,
        "node": None if seat is None else seat.node,
        "cpus": str(owners.cpus_of(subject)),
        "memory_nodes": set_or_null(owners.memory.get(subject)),
        "memory_policy": owners.policies.get(subject),
        "roles": {rule.role: str(rule_cpus(rule, owners.machine)) for rule in rules},
    }
