"""One thread in words: its verdict with evidence, its role, its sets, and where on the machine these lie."""

from __future__ import annotations

from itertools import islice

from numascope.observe.sample import ProcessFacts
from numascope.review.report import Placement, Report
from numascope.show.activity_lines import activity_lines
from numascope.show.canvas import fitted, text_cells
from numascope.show.glyphs import FRAME, VERDICTS, mark
from numascope.show.ink import Line, Span
from numascope.show.map.areas import Area, areas_of, levels_of
from numascope.show.map.draw import lit_glyph, lit_legend
from numascope.show.map.picture import lit_words
from numascope.show.overview import rule_line


def detail_lines(report: Report, placement: Placement | None, width: int, rows: int) -> list[Line]:
    """The picked thread in `rows` lines; without one, what would stand there."""
    if placement is None:
        return [rule_line("", width), fitted([Span(" no thread picked", "dim")], width)][:rows]
    title = f"{lit_words(report, placement)} {FRAME['dot'][0]} {placement.key.tid}{_inner(report, placement)}"
    lines = [
        rule_line(title, width),
        _where(report, placement, width),
        _sets(placement, width),
        _role(placement, width),
    ]
    finding = next((one for one in report.findings if placement.key in one.keys), None)
    tail: list[Line] = []
    if finding is not None and finding.remedy:
        tail.append(fitted([Span(" next    ", "dim"), Span(finding.remedy, "near")], width))
    strip = _strip(report, placement, width, rows - len(lines) - len(tail))
    room = rows - len(lines) - len(tail) - len(strip)
    lines.extend(islice(activity_lines(report, placement, width), max(0, room)))
    lines.extend(strip)
    return [*lines, *tail][:rows]


def _inner(report: Report, placement: Placement) -> str:
    """The number that its process has in its container, where it has one."""
    process = report.sample.processes.get(placement.key.pid)
    return "" if process is None else inner_words(process)


def inner_words(process: ProcessFacts) -> str:
    """`, pid 7 in its container`; empty where it is in no pid namespace of its own."""
    return "" if process.inner_pid is None else f", pid {process.inner_pid} in its container"


def _where(report: Report, placement: Placement, width: int) -> Line:
    glyph = VERDICTS[placement.verdict]
    spans = [Span(" verdict ", "dim"), mark(glyph), Span(f" {placement.verdict}", glyph.token, bold=True)]
    if placement.verdict in ("escaped", "astray") and placement.target is not None:
        spans.append(Span(f"  {outside_words(placement)}{_distance(report, placement)}"))
    elif placement.reason:
        spans.append(Span(f"  {placement.reason}"))
    elif placement.cpu is not None:
        stale = ", not since its mask was seen" if placement.cpu_stale else ""
        spans.append(Span(f"  last on CPU {placement.cpu}{_spot(report, placement.cpu)}{stale}"))
    return fitted(spans, width)


def _spot(report: Report, cpu: int) -> str:
    """` (core 7, L3 4-7, N1)`, as far as the machine names them."""
    machine = report.machine
    core = next((one.core_id for one in machine.cores if cpu in one.cpus), None)
    l3 = next((one.cpus for one in machine.caches if one.level == 3 and cpu in one.cpus and not one.memory_side), None)
    node = machine.node_of.get(cpu)
    parts = [f"core {core}"] if core is not None else []
    parts += [f"L3 {l3}"] if l3 is not None else []
    parts += [f"N{node}"] if node is not None else []
    return f" ({', '.join(parts)})" if parts else ""


def _node(placement: Placement) -> str:
    return "" if placement.node is None else f" (N{placement.node})"


def outside_words(placement: Placement) -> str:
    """How much CPU time was spent outside the target, and where: exact, or the bounds of it."""
    outside = placement.outside
    low, high = outside.min_ns / 1e9, outside.max_ns / 1e9
    time = f"{low:.2f} s" if outside.min_ns == outside.max_ns else f"{low:.2f} to {high:.2f} s"
    cpu = outside.cpu if outside.cpu is not None else placement.cpu
    place = "" if cpu is None else f" on CPU {cpu}"
    seen = f", seen there in {outside.seen} of {outside.samples} samples" if outside.samples > 1 else ""
    return f"{time} outside{place}{_node(placement) if cpu == placement.cpu else ''}{seen}"


def _distance(report: Report, placement: Placement) -> str:
    if placement.target is None or placement.node is None or not placement.target.cpus:
        return ""
    home = report.machine.node_of.get(placement.target.cpus.first)
    distance = None if home is None else report.machine.distance(home, placement.node)
    return "" if distance is None or home == placement.node else f"; distance N{home} to N{placement.node}: {distance}"


def _sets(placement: Placement, width: int) -> Line:
    target = placement.target
    planned = FRAME["none"][0] if target is None else str(target.planned)
    from_plan = (
        "" if target is None else f"  ({target.why}, {target.place.path.rsplit('/', 1)[-1]}:{target.place.line})"
    )
    allowed = "?" if placement.allowed is None else str(placement.allowed)
    return fitted(
        [
            Span(" planned ", "dim"),
            Span(planned, "lit", bold=True),
            Span(from_plan, "dim"),
            Span("   allowed ", "dim"),
            Span(allowed),
        ],
        width,
    )


def _role(placement: Placement, width: int) -> Line:
    role = placement.role
    sure = f"{role.name}, {role.confidence}" + (f": {role.evidence}" if role.evidence else "")
    wait = "?" if placement.wait_ms_per_s is None else f"{placement.wait_ms_per_s:.0f} ms/s"
    moved = "?" if placement.migrations_per_s is None else f"{placement.migrations_per_s:.1f}/s"
    return fitted([Span(" role    ", "dim"), Span(sure), Span(f"   waits {wait}, moved {moved}", "dim")], width)


def _strip(report: Report, placement: Placement, width: int, rows: int) -> list[Line]:
    """Where its sets lie: the finest level at which all areas fit, then the legend of the signs."""
    if rows < 2:
        return []
    for level in levels_of(report.machine):
        areas = areas_of(report.machine, level)
        lines = _strip_lines(placement, areas, width)
        if len(lines) < rows:
            return [*lines, _strip_legend(report, placement, width)]
    return []


def _strip_lines(placement: Placement, areas: tuple[Area, ...], width: int) -> list[Line]:
    label = max(len(area.name) for area in areas) + 1
    blocks = [_block(placement, area, label) for area in areas]
    size = max(sum(text_cells(span.text) for span in block) for block in blocks) + 1
    if size > width:
        return [()] * 99
    across = max(1, width // size)
    beside = max(1, len({area.node for area in areas if area.package == areas[0].package}))
    across = min(across, len(blocks))
    while len(blocks) % across or (across > beside and across % beside):
        across -= 1
    lines = []
    for at in range(0, len(blocks), across):
        spans: list[Span] = []
        for block in blocks[at : at + across]:
            used = sum(text_cells(span.text) for span in block)
            spans.extend((*block, Span(" " * (size - used))))
        lines.append(fitted(spans, width))
    return lines


def _block(placement: Placement, area: Area, label: int) -> list[Span]:
    spans = [Span(f" {area.name:<{label}}", "dim")]
    for at, group in enumerate(group for fold in area.folds for group in fold):
        spans.append(Span(" " if at else ""))
        for cpus in group:
            glyph = lit_glyph(placement, cpus)
            spans.append(Span(glyph.sign, glyph.token, bold=glyph.bold, reverse=glyph.reverse))
    return spans


def _strip_legend(report: Report, placement: Placement, width: int) -> Line:
    return fitted([Span(" "), *lit_legend(report, placement, width - 1)], width)
