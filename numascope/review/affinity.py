"""The verdict on one thread, by the first rule that holds, and how much it weighs. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.observe.roles import Role
from numascope.plan.objects import Target
from numascope.review.report import Outside, Severity, Verdict

NARROW_FROM: Final = 4
"""A target of at least four CPUs of which a quarter or less is allowed: nearly always an OpenMP or BLAS variable."""

QUIET_ROLES: Final = frozenset({"housekeeping", "store", "log", "pool", "stress", "cleaner"})
_IDLE_SHARE: Final = 0.01

_SEVERITY: Final[dict[Verdict, Severity | None]] = {
    "unknown": "info", "unplanned": "info", "blocked": "error", "pending": "info", "escaped": "error", "astray": "error",
    "loose": "warning", "narrow": "warning", "ok": None,
}  # fmt: skip

_MILDER: Final[dict[Severity, Severity]] = {"error": "warning", "warning": "info", "info": "info"}


class Judged(NamedTuple):
    """A verdict and its reason in a few words, empty where the verdict says it all."""

    verdict: Verdict
    reason: str


def judge(
    target: Target | None,
    allowed: CpuSet | None,
    cpu: int | None,
    outside: Outside,
    *,
    pending: bool,
    isolated: CpuSet = EMPTY,
    flips: int = 0,
) -> Judged:
    """The first row that holds, from unknown to ok; on isolated CPUs, which nobody balances, and where the framework pins each thread, one CPU a thread is right.

    `flips` counts how often its mask was not what it is now, within the window that is judged.
    """
    if allowed is None or cpu is None:
        return Judged("unknown", "its allowed CPUs cannot be read" if allowed is None else "its CPU cannot be read")
    if target is None:
        return Judged("unplanned", "")
    if not target.cpus:
        return Judged("blocked", f"planned {target.planned or target.why}: not online, or not in its cpuset")
    if not allowed:
        return Judged("blocked", "only offline CPUs are left in its allowed set")
    if pending:
        return Judged("pending", "the framework binds this role later")
    if not allowed <= target.cpus:
        if outside.seen or outside.min_ns:
            return Judged("escaped", "")
        if allowed.isdisjoint(target.cpus):
            return Judged("astray", "it may not run on any planned CPU; no CPU time seen yet")
        if outside.max_ns:
            return Judged(
                "loose",
                f"moved {outside.migrations} time{'' if outside.migrations == 1 else 's'}: cannot rule out time outside",
            )
        return Judged("loose", "no CPU time seen outside")
    if flips and outside.max_ns:
        return Judged(
            "loose", f"its mask changed {flips} time{'' if flips == 1 else 's'}: cannot rule out time outside"
        )
    spread = not target.one_each and not target.cpus <= isolated
    if spread and len(target.cpus) >= NARROW_FROM and 4 * len(allowed) <= len(target.cpus):
        return Judged("narrow", "")
    return Judged("ok", "")


def weigh(verdict: Verdict, role: Role, busy: float | None) -> Severity | None:
    """How much a verdict weighs: less for inferred roles and for housekeeping that does nothing."""
    severity = _SEVERITY[verdict]
    if severity is None or verdict in ("unknown", "unplanned", "pending"):
        return severity
    if severity == "error" and role.confidence != "named":
        severity = "warning"
    if role.name in QUIET_ROLES and busy is not None and busy < _IDLE_SHARE and verdict != "blocked":
        return "warning" if verdict in ("escaped", "astray") else _MILDER[severity]
    return severity
