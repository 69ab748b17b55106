"""What each thread is for, by its name, its process and its age: data in tables, evidence in words, unknown where nothing tells."""

from __future__ import annotations

from numascope.observe.roles.classify import framework_of, roles_of
from numascope.observe.roles.objects import (
    ROLES,
    Confidence,
    Planned,
    ProcessKind,
    ProcessView,
    Role,
    ThreadFacts,
)
from numascope.observe.roles.roll import Roll, Seat, call_roll

__all__ = [
    "ROLES",
    "Confidence",
    "Planned",
    "ProcessKind",
    "ProcessView",
    "Role",
    "Roll",
    "Seat",
    "ThreadFacts",
    "call_roll",
    "framework_of",
    "roles_of",
]
