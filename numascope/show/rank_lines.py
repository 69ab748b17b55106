"""The ranks as a table: a line each, columns of fixed width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine
from numascope.review.memory import SPILLED_SHARE
from numascope.review.memory_findings import share_words
from numascope.review.report import Finding, MemoryView, RankView, Report
from numascope.show.canvas import cut, fitted, left, right
from numascope.show.glyphs import (
    CONDITIONS,
    FRAME,
    SEVERITIES,
    VERDICTS,
    WRONG_WORST_FIRST,
    Glyph,
    finding_glyph,
    in_severity,
    mark,
    mark_order,
    rank_token,
    verdict_severity,
)
from numascope.show.ink import Line, Span, Token

_WIDE: Final = 100
_ROOMY: Final = 110


def rank_glyph(rank: RankView, findings: Sequence[Finding]) -> Glyph | None:
    """The worst sign of a rank, verdict or condition; None where nothing is wrong."""
    return _worst(rank, findings)[1]


_CALM: Final = (len(SEVERITIES), 0)


def _worst(rank: RankView, findings: Sequence[Finding]) -> tuple[tuple[int, int], Glyph | None]:
    """The worst sign of a rank and its place in the order of signs; the calm place where nothing is wrong."""
    found: list[tuple[tuple[int, int], Glyph]] = []
    for verdict in WRONG_WORST_FIRST[:5]:
        if rank.counts.get(verdict):
            severity = verdict_severity(verdict, findings)
            found.append((mark_order(verdict, severity), in_severity(VERDICTS[verdict], severity)))
    found.extend(
        (mark_order(one.rule, one.severity), finding_glyph(one))
        for one in findings
        if one.severity != "info" and one.rule not in VERDICTS
    )
    return min(found, key=lambda entry: entry[0], default=(_CALM, None))


def rank_verdicts(rank: RankView) -> list[Span]:
    """`32 ok !1 escaped`: the ok ones, then what is wrong, worst first."""
    spans = [Span(f"{rank.counts.get('ok', 0):>3} ok", "text")]
    for verdict in WRONG_WORST_FIRST:
        count = rank.counts.get(verdict, 0)
        if count:
            glyph = VERDICTS[verdict]
            spans.extend((Span(" "), mark(glyph, str(count)), Span(f" {verdict}", glyph.token)))
    if len(spans) == 1 and not rank.counts.get("ok"):
        return [Span("  – unplanned", "dim")]
    return spans


def rank_place(machine: Machine, rank: RankView, *, cpus: bool) -> str:
    """`d5@N2 ≠ N5`: the device's node against the node of its CPUs; `cpus` adds the CPUs themselves."""
    device = "–" if rank.device is None else f"d{rank.device}"
    near = "" if rank.device_node is None else f"@N{rank.device_node}"
    nodes = CpuSet.of(node for cpu in rank.planned_cpus if (node := machine.node_of.get(cpu)) is not None)
    where = f"N{nodes}" if nodes else "–"
    sign = " "
    if near and nodes:
        sign = FRAME["near"][0] if rank.device_node in nodes else CONDITIONS["far"].sign
    plan = f" {rank.planned_cpus}" if cpus and rank.planned_cpus else ""
    return f"{left(device + near, 6)}{sign} {where}{plan}"


def rate(value: float | None, unit: str = "") -> str:
    """A figure a second without decimals; unknown is `?`."""
    return "?" if value is None else f"{value:.0f}{unit}"


class _Columns(NamedTuple):
    """Widths of the columns that a window of some width has; 0: the column is left out."""

    name: int
    place: int
    verdicts: int
    wait: int
    migrations: int
    off: int
    size: int
    policy: int
    waiter: int


def _columns(report: Report, width: int) -> _Columns:
    """Only a process without a rank number needs room for its name; where one node has all memory, none is off it."""
    unnumbered = max((len(rank.name) for rank in report.ranks if rank.number is None), default=0)
    name = min(8 if width < 76 else 20, max(6, unnumbered + 3))
    place = 22 if width >= _WIDE else 12 if width >= 76 else 0 if width < 66 else 10
    several = sum(1 for node in report.machine.nodes if node.memory_kib != 0) > 1
    off = 0 if not several or width < 66 else 16 if width >= _ROOMY else 12
    size = 6 if width >= 76 and (several or any(one.memory is not None for one in report.ranks)) else 0
    is_tight = bool(off) and width < _WIDE
    migrations = 0 if width < 66 or (off and width < 76) else 7 if is_tight else 8
    policy = 12 if width >= (136 if off else _ROOMY) else 0
    waiter = 20 if width >= (_ROOMY if off else _WIDE) else 0
    wait = 9 if is_tight else 10
    taken = 3 + name + place + 1 + 6 + wait + migrations + off + size + policy + waiter
    return _Columns(name, place, max(12, min(30, width - taken)), wait, migrations, off, size, policy, waiter)


def ranks_head(report: Report, width: int) -> Line:
    """The heads of the columns of `ranks_table`."""
    columns = _columns(report, width)
    heads = (
        ("   ", 3),
        (left("rank", columns.name), columns.name),
        (left("device   cpus" if columns.place > 12 else "device", columns.place), columns.place),
        (left(" verdicts", columns.verdicts + 1), columns.verdicts),
        (right("busy", 6), 6),
        (right("wait/s", columns.wait), columns.wait),
        (right("migr/s", columns.migrations), columns.migrations),
        (right("off-node ±95 %" if columns.off > 14 else "off-node%", columns.off - 1) + " ", columns.off),
        (right("GiB", columns.size), columns.size),
        (left("  memory", columns.policy), columns.policy),
        (left("  thread that waits", columns.waiter), columns.waiter),
    )
    return fitted([Span("".join(text for text, size in heads if size), "dim")], width)


def ranks_table(report: Report, width: int, rows: int, picked: int | None = None) -> list[Line]:
    """A line a rank: mark, letter and name, place, verdicts, CPUs used, worst wait, migrations, memory; `rows` lines with the head."""
    by_rank: dict[int, list[Finding]] = {}
    for finding in report.findings:
        if finding.rank is not None:
            by_rank.setdefault(finding.rank, []).append(finding)
    order = list(range(len(report.ranks)))
    hidden = len(order) - (rows - 1)
    if hidden > 0:
        worst = sorted(order, key=lambda at: (_worst(report.ranks[at], by_rank.get(at, ()))[0], at))
        order = sorted(worst[: max(0, rows - 2)])
        hidden = len(report.ranks) - len(order)
    lines = [ranks_head(report, width)]
    lines.extend(_rank_line(report, at, by_rank.get(at, ()), width, picked=at == picked) for at in order)
    if hidden > 0:
        lines.append(fitted([Span(f"   +{hidden} more ranks, none of them worse", "dim")], width))
    return lines


def _rank_line(report: Report, at: int, findings: Sequence[Finding], width: int, *, picked: bool) -> Line:
    rank = report.ranks[at]
    glyph = rank_glyph(rank, findings)
    columns = _columns(report, width)
    busy = "?" if rank.busy is None else f"{rank.busy:.1f}"
    name = f" {rank.name if rank.number is None else rank.number}"
    spans = [
        Span(FRAME["picked"][0] if picked else " ", "lit"),
        mark(glyph) if glyph is not None else Span(" "),
        Span(" "),
        Span(rank.letter, rank_token(at), bold=True),
        Span(left(name, columns.name - 2) + " "),
        Span(left(rank_place(report.machine, rank, cpus=width >= _WIDE), columns.place) + " "),
        *fitted(rank_verdicts(rank), columns.verdicts),
        Span(right(busy, 6)),
        Span(right(rate(rank.wait_ms_per_s, " ms"), columns.wait)),
    ]
    if columns.migrations:
        spans.append(Span(right(rate(rank.migrations_per_s), columns.migrations)))
    if columns.off:
        spans.append(_off_span(rank.memory, columns.off))
    if columns.size:
        spans.append(Span(right(gib_figure(rank.memory), columns.size), "dim" if rank.memory is None else "text"))
    if columns.policy:
        off = rank.memory_verdict in ("unbound", "elsewhere", "spilled")
        text = f"{CONDITIONS['far'].sign if off else ' '} {rank.policy or '?'}"
        spans.append(Span(left(" " + text, columns.policy), "far" if off else "text" if rank.policy else "dim"))
    if columns.waiter:
        spans.append(Span(f"  {cut(rank.wait_label, columns.waiter - 3)}", "dim"))
    return fitted(spans, width)


def off_words(view: MemoryView | None) -> str:
    """The share off its nodes with its interval, `31.0 ±1.4`; `?` unknown, `–` where there is no other node."""
    if view is not None and view.is_everywhere:
        return FRAME["none"][0]
    return "?" if view is None or view.off is None else share_words(view.off)


def gib_figure(view: MemoryView | None) -> str:
    """GiB in memory, as many digits as tell something; unknown is `?`."""
    kib = None if view is None else view.resident_kib
    if kib is None:
        return "?"
    gib = kib / 2**20
    return f"{gib:.2f}" if gib < 1 else f"{gib:.1f}" if gib < 1000 else f"{gib:.0f}"


def _off_span(view: MemoryView | None, width: int) -> Span:
    """The share, and an arrow where it has risen or fallen since the look before."""
    off = None if view is None else view.off
    trend = 0 if view is None else view.trend
    arrow = FRAME["up"][0] if trend > 0 else FRAME["down"][0] if trend < 0 else " "
    unit = " %" if off is not None and width > 14 else ""
    token: Token = "dim" if off is None else "far" if off.low > SPILLED_SHARE else "text"
    return Span(right(off_words(view) + unit, width - 1) + arrow, token)
