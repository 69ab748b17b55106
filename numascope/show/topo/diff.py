"""`topo --diff`: the differences of two machines as lines and as a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from numascope import __version__
from numascope.cpuset import CpuSet
from numascope.machine.compare import Comparison, Difference
from numascope.show.document import Document
from numascope.show.ink import Line, Span, Token
from numascope.show.topo.words import TIED, cpu_list, tied, wrap

SCHEMA: Final = "numascope.topo-diff/1"

_LONG_LIST: Final = re.compile(r"[0-9]+(?:[-,][0-9]+){8,}")


def diff_lines(found: Sequence[Difference], width: int) -> list[Line]:
    """`-` is gone, `+` is new, `~` has changed: first what it was, then what it is; below them what only one side tells."""
    lines = [line for one in found for line in _lines(one, width)]
    untold = _untold(found)
    if untold and not lines:
        lines.append((Span("nothing differs"),))
    return [*lines, *((Span(piece, "dim"),) for text in untold for piece in wrap(text, width))]


def _untold(found: Sequence[Difference]) -> list[str]:
    """`not told by the second: hypervisor, clocks`."""
    if not isinstance(found, Comparison):
        return []
    sides = (("first", found.untold_before), ("second", found.untold_after))
    return [f"not told by the {name}: {', '.join(map(tied, what))}" for name, what in sides if what]


def _lines(one: Difference, width: int) -> list[Line]:
    name = " ".join(part for part in (one.kind, one.name) if part)
    subject = f"{name}: {one.fact} " if one.fact else f"{name}: "
    if one.before is None:
        sign, text, token = "+", f"{subject}{one.after}", "near"
    elif one.after is None:
        sign, text, token = "-", f"{subject}{one.before}", "far"
    else:
        sign, text, token = "~", f"{subject}{one.before} → {one.after}", "warn"
    text = _LONG_LIST.sub(lambda found: cpu_list(CpuSet.parse(found[0])), text)
    return _inked(sign, wrap(text, width - 2, "  "), token)  # type: ignore[arg-type]  # one of three tokens


def _inked(sign: str, pieces: Sequence[str], token: Token) -> list[Line]:
    first, *rest = pieces
    return [(Span(sign, token, bold=True), Span(f" {first}")), *((Span(f"  {piece}"),) for piece in rest)]


def diff_document(found: Sequence[Difference], before: str, after: str) -> Document:
    """The document `numascope.topo-diff/1`."""
    return {
        "schema": SCHEMA,
        "numascope": __version__,
        "source": {"before": before, "after": after},
        "partial": False,
        "notes": [text.replace(TIED, " ") for text in _untold(found)],
        "differences": [one._asdict() for one in found],
    }
