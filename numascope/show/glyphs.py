"""The one table of glyphs: a meaning, its sign in Unicode and in ASCII, its token and its form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from numascope.review.report import Finding, Severity, Verdict
from numascope.show.ink import Line, Span, Token

Where = Literal["load", "cell", "lit", "core", "lit core", "mark", "frame"]
"""Where a sign stands; within one place no two meanings share one."""


class Glyph(NamedTuple):
    """A sign of one cell in either set, with the token that colours it and the form that survives without colour."""

    sign: str
    ascii: str
    token: Token
    bold: bool = False
    reverse: bool = False


LOADS: Final = tuple(Glyph(sign, plain, "text") for sign, plain in zip("·▁▂▃▄▅▆▇█", ".12345678", strict=True))
"""Load under 2 %, then eighths of 12.5 %."""

LOAD_UNKNOWN: Final = Glyph("?", "?", "dim")

CELLS: Final[dict[str, Glyph]] = {
    "escaped": Glyph("!", "!", "escape", bold=True, reverse=True),
    "stranger": Glyph("#", "#", "stranger", reverse=True),
    "blocked": Glyph("⊘", "%", "warn"),
    "seat": Glyph("◇", "_", "escape"),
    "narrow": Glyph("‹", "<", "warn"),
    "several": Glyph("&", "&", "text"),
    "isolated": Glyph("|", "|", "dim"),
    "denied": Glyph("/", "/", "dim"),
    "offline": Glyph("-", "-", "dim"),
    "free": Glyph("·", ".", "dim"),
}
"""What the lower row of a CPU may say besides a rank's letter."""

LIT: Final[dict[str, Glyph]] = {
    "outside": Glyph("!", "!", "escape", bold=True, reverse=True),
    "inside": Glyph("@", "@", "lit", bold=True),
    "both": Glyph("■", "=", "lit"),
    "planned": Glyph("□", "o", "lit"),
    "allowed": Glyph("▒", "~", "dim"),
    "neither": Glyph("·", ".", "dim"),
}
"""The lower row while one thread is lit."""

CORES: Final[dict[str, Glyph]] = {
    "1": Glyph("■", "=", "text"),
    "2": Glyph(":", ":", "text"),
    "3": Glyph("∴", "3", "text"),
    "4": Glyph("∷", "4", "text"),
    "8": Glyph("⣿", "8", "text"),
    "many": Glyph("*", "*", "text"),
    "lone": Glyph("□", "o", "text"),
    "isolated": Glyph("|", "|", "dim"),
    "isolated-part": Glyph("¦", ";", "dim"),
    "denied": Glyph("/", "/", "dim"),
    "denied-part": Glyph(",", ",", "dim"),
    "offline": Glyph("-", "-", "dim"),
}
"""A core in the picture of boxes: by its threads, or what holds for all or a part of them; `lone` is a CPU of no known core."""

LIT_CORES: Final[dict[str, Glyph]] = {
    "lit": Glyph("■", "=", "lit", bold=True),
    "lit-part": Glyph("◧", "%", "lit", bold=True),
    "unlit": Glyph("·", ".", "dim"),
}
"""The same while the CPUs of one process are lit."""

VERDICTS: Final[dict[Verdict, Glyph]] = {
    "ok": Glyph("✓", "=", "near"),
    "narrow": Glyph("‹", "<", "warn"),
    "loose": Glyph("~", "~", "warn"),
    "astray": Glyph("»", "x", "warn"),
    "escaped": Glyph("!", "!", "escape", bold=True, reverse=True),
    "pending": Glyph(":", ":", "warn"),
    "unplanned": Glyph("·", ".", "dim"),
    "blocked": Glyph("⊘", "%", "warn"),
    "unknown": Glyph("?", "?", "dim"),
}

WRONG_WORST_FIRST: Final[tuple[Verdict, ...]] = (
    "blocked",
    "escaped",
    "astray",
    "loose",
    "narrow",
    "pending",
    "unknown",
)
"""The verdicts that are told in words; the rest is in order or nobody's business."""

_USUAL: Final[dict[Verdict, Severity]] = {
    "blocked": "error", "escaped": "error", "astray": "error", "loose": "warning", "narrow": "warning",
}  # fmt: skip

SEVERITIES: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "info": 2}
"""How bad a finding is: the lower, the worse."""

CONDITIONS: Final[dict[str, Glyph]] = {
    "starved": Glyph("▲", "W", "escape", bold=True),
    "shared": Glyph("#", "#", "stranger", reverse=True),
    "throttled": Glyph("‖", "T", "warn"),
    "interrupts": Glyph("↯", "I", "warn"),
    "memory-pressure": Glyph("≈", "M", "warn"),
    "crowded": Glyph("≡", "+", "warn"),
    "collapsed": Glyph("↓", "v", "warn"),
    "far": Glyph("≠", "^", "far"),
    "plan-cut": Glyph("⊟", "/", "warn"),
    "plan-changed": Glyph("∆", "*", "warn"),
    "note": Glyph("-", "-", "dim"),
}
"""Conditions beside the verdict, of threads, ranks, nodes and the plan; memory and device elsewhere share `far`, as both are distance."""

FRAME: Final[dict[str, tuple[str, str]]] = {
    "picked": ("▌", ">"),
    "cut": ("…", "."),
    "change": ("→", ">"),
    "near": ("=", "="),
    "rule": ("─", "-"),
    "wall": ("│", "|"),
    "dot": ("·", "."),
    "none": ("–", "-"),
    "up": ("↑", "^"),
    "down": ("↓", "v"),
    "left": ("←", "<"),
    "right": ("→", ">"),
    "enter": ("⏎", "&"),
    "times": ("×", "x"),
    "top-left": ("┌", "."),
    "top-right": ("┐", "."),
    "bottom-left": ("└", "`"),
    "bottom-right": ("┘", "'"),
    "tee-right": ("├", "|"),
    "tee-left": ("┤", "|"),
    "tee-down": ("┬", "."),
    "tee-up": ("┴", "'"),
    "cross": ("┼", "+"),
}

SAME_CONDITION: Final = {
    "remote-memory": "far", "elsewhere": "far", "spilled": "far", "spilling": "far", "unbound": "far",
    "mem-missing": "far", "dev-far": "far", "stranger": "shared", "quota": "throttled",
}  # fmt: skip
"""Rules that are one meaning under several names."""


def _pairs() -> dict[str, str]:
    tables = (CELLS, LIT, CORES, LIT_CORES, VERDICTS, CONDITIONS)
    glyphs = (*LOADS, *(glyph for table in tables for glyph in table.values()))
    found = {glyph.sign: glyph.ascii for glyph in glyphs if not glyph.sign.isascii()}
    return {**found, **{sign: plain for sign, plain in FRAME.values() if not sign.isascii()}, "·": "."}


_TO_ASCII: Final = str.maketrans({**_pairs(), "✓": "=", "✗": "x", "↓": "v", "├": "|", "└": "`", "≤": "<", "×": "x"})


def to_ascii(line: Line) -> Line:
    """The line in the ASCII set, cell for cell; text from outside keeps what it has."""
    return tuple(span._replace(text=span.text.replace(" ±", "+-").translate(_TO_ASCII)) for span in line)


def mark(glyph: Glyph, after: str = "") -> Span:
    """The glyph, and what belongs to it, as one span."""
    return Span(glyph.sign + after, glyph.token, bold=glyph.bold, reverse=glyph.reverse)


def finding_glyph(finding: Finding) -> Glyph:
    """The sign of a finding's rule: its verdict's, its condition's, or the one of a note; what only informs is dim and not reversed."""
    return in_severity(_rule_glyph(finding), finding.severity)


def in_severity(glyph: Glyph, severity: Severity) -> Glyph:
    """The glyph as it is, or dim and plain where it only informs."""
    return glyph if severity != "info" else Glyph(glyph.sign, glyph.ascii, "dim")


def mark_order(rule: str, severity: Severity) -> tuple[int, int]:
    """Which of two signs stands first: by severity, then starved, then verdicts, then the other conditions."""
    rules = ("starved", *WRONG_WORST_FIRST)
    return SEVERITIES[severity], rules.index(rule) if rule in rules else len(rules)


def verdict_severity(verdict: Verdict, findings: Iterable[Finding]) -> Severity:
    """The worst severity that the findings give a verdict; without one, its usual one."""
    told = [one.severity for one in findings if one.rule == verdict]
    return min(told, key=SEVERITIES.__getitem__, default=_USUAL.get(verdict, "info"))


def _rule_glyph(finding: Finding) -> Glyph:
    for verdict, glyph in VERDICTS.items():
        if verdict == finding.rule:
            return glyph
    return CONDITIONS.get(SAME_CONDITION.get(finding.rule, finding.rule), CONDITIONS["note"])


def eighths(load: float | None, before: int | None) -> int | None:
    """The step 0 to 8 of a busy share, held while the share is within half a step of the step `before`."""
    if load is None:
        return None
    if before is not None and before >= 0:
        low, high = (0.0, 0.03) if before == 0 else ((before - 1.5) / 8 if before > 1 else 0.01, (before + 0.5) / 8)
        if low <= load <= high:
            return before
    if load < 0.02:
        return 0
    return min(8, max(1, -int(-load * 8 // 1)))


def rank_token(index: int) -> Token:
    """The hue of the rank at that index of a report; hues repeat every eight, letters carry."""
    hues: tuple[Token, ...] = ("r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7")
    return hues[index % 8]
