"""Where a rank's memory lies, as a part of the `diff` document; unknown is null."""

from __future__ import annotations

from typing import Final

from numascope.observe.sample import Sample
from numascope.review.report import MemoryView
from numascope.show.document import Document, set_or_null

_TRENDS: Final = {1: "more", 0: None, -1: "less"}


def memory_part(view: MemoryView, sample: Sample) -> Document:
    """The last look at it: where it belongs, what lies on each node with its interval, how that is known, policies, reasons."""
    share = view.seen.share
    nodes = None
    if share.nodes is not None:
        nodes = [
            {"node": one.node, "pages": one.pages, "kib": one.kib, **one.interval._asdict()} for one in share.nodes
        ]
    return {
        "home_nodes": set_or_null(view.home),
        "trend": _TRENDS[view.trend],
        "method": share.source or None,
        "reason": share.reason or None,
        "pages_asked": share.pages_asked,
        "pages_resident": share.pages_resident,
        "resident_kib": view.resident_kib,
        "nodes": nodes,
        "policies": [{**group._asdict(), "tids": list(group.tids)} for group in view.seen.policies],
        "why": list(view.why),
        "notes": list(share.notes),
        "looked_s_ago": max(0.0, (sample.monotonic_ns - view.seen.looked_ns) / 1e9),
        "cost_ns": share.cost_ns,
    }
