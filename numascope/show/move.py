"""The text and the rows of `apply --memory move` and of its revert: what would move, how far it is, and what became of each page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from numascope.host.pagemap import PAGE_BYTES
from numascope.show.document import Document, set_or_null
from numascope.show.ink import Line, Span, Token
from numascope.show.memory import gib
from numascope.show.page_rows import OUTCOMES, MovePreview, MoveResult, PageOutcome

_PAGE_KIB: Final = PAGE_BYTES >> 10
_BAR: Final = 24

WORDS: Final[dict[PageOutcome, str]] = {
    "moved": "moved", "already": "there already", "elsewhere": "no longer where they were moved to, left alone",
    "shared": "stay, other processes map them too", "busy": "busy or pinned",
    "watched": "left alone, NUMA balancing watches them", "gone": "gone meanwhile", "no-room": "stay, no room", "untried": "not tried",
}  # fmt: skip


def size_of(pages: int) -> str:
    """`200.0 MiB`."""
    return gib(pages * _PAGE_KIB)


def nodes_text(one: MovePreview) -> str:
    """`node 1`, `nodes 0-1`."""
    return f"node {one.nodes}" if len(one.nodes) == 1 else f"nodes {one.nodes}"


def listing_text(name: str, resident_kib: int | None, cost_ms_per_gib: tuple[int, int]) -> str:
    """What listing all pages costs, said before it is done."""
    if resident_kib is None:
        return f"listing every page of {name}; how many are in memory is not known"
    low, high = (resident_kib / 2**20 * cost / 1000 for cost in cost_ms_per_gib)
    return (
        f"listing every page of {name}: {gib(resident_kib)} in memory, {low:.1f} to {high:.1f} s of our CPU; the process "
        "is asked for 16 pages at a time and does not wait for it"
    )


def preview_lines(one: MovePreview, *, dry: bool, width: int) -> list[Line]:
    """What would move of one process: its pages by node, what stays, and the room on the wanted nodes."""
    survey = one.survey
    verb, end = ("would move", "; nothing is changed") if dry else ("will move", "")
    head = f"{verb} {size_of(survey.pages_to_move)} of {size_of(survey.pages)} of {one.owner.name} to {nodes_text(one)}"
    lines = _wrapped(head + end, "", width, bold=True)
    lines += _wrapped(f"{one.source}; every page listed in {survey.cost_ns / 1e9:.2f} s of CPU", "  ", width)
    lines.append((Span(f"  {'node':<12}{'in memory':>12}{'to move':>12}   shared, stays", "dim"),))
    for node in sorted({*survey.on, *one.nodes}):
        name, here = f"N{node}", f"{size_of(survey.on.get(node, 0)):>12}"
        if node in one.nodes:
            lines.append((Span(f"  {f'{name} wanted':<12}{here}", "near"),))
        else:
            moves, stays = size_of(survey.to_move.get(node, 0)), size_of(survey.shared.get(node, 0))
            lines.append((Span(f"  {name:<12}{here}{moves:>12}{stays:>16}"),))
    if any(survey.shared.values()):
        lines += _wrapped("shared: other processes map these pages too (libraries, files, forked memory)", "  ", width)
    lines += _watched(one, width)
    lines += _room(one, width)
    if survey.is_cut:
        lines += _wrapped("there are more mappings than are read: what lies behind them stays", "  ", width)
    return lines


def _watched(one: MovePreview, width: int) -> list[Line]:
    survey = one.survey
    lines: list[Line] = []
    if survey.untold:
        text = (
            f"{survey.untold:,} pages ({size_of(survey.untold)}) did not say where they lie (NUMA balancing): they are left alone, "
            "unless the process touches them meanwhile; as root their frames tell it"
        )
        lines += _wrapped(text, "  ", width, "warn")
    if survey.watched:
        text = (
            f"{survey.watched:,} pages ({size_of(survey.watched)}) are watched by NUMA balancing: this kernel moves each of them "
            "only once the process has touched it"
        )
        lines += _wrapped(text, "  ", width)
    return lines


def _room(one: MovePreview, width: int) -> list[Line]:
    survey = one.survey
    lines: list[Line] = []
    huge_pages = sum(count * (size // _PAGE_KIB) for size, count in survey.huge.items())
    need = survey.pages_to_move - huge_pages
    rooms = ", ".join(f"{gib(kib)} on node {node}" for node, kib in sorted(one.room_kib.items())) or "?"
    what = "room, with page cache that can be dropped" if one.push_out else "room above the kernel's watermarks"
    lines += _wrapped(f"{what}: {rooms}; needed: {size_of(need)}", "  ", width)
    if one.room_kib and need * _PAGE_KIB > sum(one.room_kib.values()):
        text = (
            "not all of it has room: the move ends where the room does"
            if one.push_out
            else f"not all of it has room: the move ends where the room does; {gib(one.cache_kib)} there are page cache, which "
            "--push-out-cache has the kernel drop for it"
        )
        lines += _wrapped(text, "  ", width, "warn")
    for size, count in sorted(survey.huge.items()):
        free = one.free_huge.get(size, 0)
        text = (
            f"huge pages of {size >> 10} MiB (hugetlbfs): {count:,} would move, {free:,} are free on {nodes_text(one)}"
        )
        if size >= 1 << 20:
            text += "; a thread that touches one waits while a whole GiB is copied"
        lines += _wrapped(text, "  ", width, "warn" if free < count else "text")
    return lines


def policy_lines(policies: Mapping[str, str | None], numa_balancing: int | None, nodes: str, width: int) -> list[Line]:
    """What a move cannot do: the policy stays as it is, so new pages go where it says. `policies` by process."""
    lines: list[Line] = []
    for name, policy in policies.items():
        where = "where the thread runs that touches them first" if policy == "default" else "where that says"
        lines += _wrapped(f"new pages of {name} still go where its policy says ({policy or '?'}: {where})", "", width)
    lines += _wrapped(
        f"a policy of another process cannot be set: start it under numactl --membind={nodes} for that",
        "",
        width,
        "dim",
    )
    if numa_balancing:
        lines += _wrapped("NUMA balancing is on and may move pages again, to where they are used", "", width, "dim")
    return lines


def pace_text(pages: int, limit_gib_s: float, batch_pages: int) -> str:
    """How fast it goes at most."""
    least_s = pages * PAGE_BYTES / 2**30 / limit_gib_s
    return (
        f"at most {limit_gib_s:g} GiB/s in batches of {batch_pages} pages: {least_s:.1f} s or more. A thread that touches a page "
        "of a batch waits until that batch is moved. Ctrl-C stops between two batches"
    )


def progress_text(done: int, total: int, took_s: float, *, bar: bool, width: int) -> str:
    """How far a move is: a bar and figures, or the figures alone."""
    part = min(1.0, done / total) if total else 1.0
    rate = done * PAGE_BYTES / 2**30 / took_s if took_s > 0 else 0.0
    text = f"{100 * part:3.0f} %  {size_of(done)} of {size_of(total)}  {rate:.2f} GiB/s"
    if not bar:
        return text
    filled = round(part * _BAR)
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {text}"[: width - 1]


def result_lines(results: Sequence[MoveResult], width: int, *, back: bool = False) -> list[Line]:
    """What became of the pages of each process."""
    lines: list[Line] = []
    for one in results:
        lines += _wrapped(f"{one.owner.name}: {counts_text(one, back=back)}, {one.took_s:.1f} s", "", width)
        if one.ending != "done":
            lines += _wrapped(f"{one.ending.replace('-', ' ')}: {one.why}", "  ", width, "warn")
    return lines


def counts_text(one: MoveResult, *, back: bool = False, dry: bool = False) -> str:
    """`51,200 pages (200.0 MiB) moved, 12 of them as huge pages; 34 busy or pinned`."""
    verb = ("would go back" if dry else "back") if back else "moved"
    text = f"{one.of('moved'):,} pages ({size_of(one.of('moved'))}) {verb}"
    if one.huge:
        text += f", with {one.huge:,} large pages each as a whole"
    words = {**WORDS, "already": "back already"} if back else WORDS
    rest = [f"{one.of(outcome):,} {words[outcome]}" for outcome in OUTCOMES[1:] if one.of(outcome)]
    return "; ".join([text, *rest])


def _wrapped(text: str, first: str, width: int, ink: Token = "text", *, bold: bool = False) -> list[Line]:
    pieces = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=first, break_on_hyphens=False, break_long_words=False
    )
    return [(Span(piece, ink, bold=bold),) for piece in pieces]


def preview_document(one: MovePreview) -> Document:
    """What would be moved of one process; pages are of the machine's size, `page_kib`."""
    survey = one.survey
    return {
        "pid": one.owner.pid,
        "starttime": one.owner.starttime_ticks,
        "name": one.owner.name,
        "to_nodes": set_or_null(one.nodes),
        "why_there": one.source,
        "policy": one.policy,
        "page_kib": _PAGE_KIB,
        "nodes": [
            {
                "node": node,
                "pages": survey.on.get(node, 0),
                "to_move": survey.to_move.get(node, 0),
                "shared": survey.shared.get(node, 0),
                "room_kib": one.room_kib.get(node),
            }
            for node in sorted({*survey.on, *one.nodes})
        ],
        "huge": [
            {"page_kib": size, "to_move": count, "free": one.free_huge.get(size, 0)}
            for size, count in sorted(survey.huge.items())
        ],
        "untold": survey.untold,
        "watched": survey.watched,
        "cost_ns": survey.cost_ns,
    }


def result_document(one: MoveResult) -> Document:
    """What became of the pages of one process, counted in pages of the machine's size."""
    return {
        "pid": one.owner.pid,
        "starttime": one.owner.starttime_ticks,
        "name": one.owner.name,
        "result": one.ending,
        "why": one.why,
        "page_kib": _PAGE_KIB,
        "pages": {outcome: one.of(outcome) for outcome in OUTCOMES},
        "large_pages": one.huge,
        "took_s": one.took_s,
    }
