"""Which options of `numascope topo` have no sense together: each pair is refused, none is left unheeded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.errors import UsageError

_VIEWS: Final[Mapping[str, tuple[str, ...]]] = {
    "--diff": ("json",),
    "--explain": (),
    "--links": ("json",),
    "--links-from": ("json",),
    "--only": ("table",),
}
"""Options that choose what is shown, of which one counts, and the formats that each has beside its own text."""

_HAS: Final = {
    "--diff": "prints a text of its own or --json",
    "--links": "prints a text of its own or --json",
    "--links-from": "prints a text of its own or --json",
    "--only": "is a table",
}

_PARTS: Final = ("--node", "--around")
_WHOLE: Final = ("--diff", "--explain", "--links", "--links-from")
"""Of a part of the machine, and always of the whole machine."""

_OF_FORMAT: Final = {"--theme": "svg", "--expand": "boxes"}


class Given(NamedTuple):
    """The names of the options that the user gave, and the format under the name that it was given by."""

    options: tuple[str, ...]
    format: str | None
    """`json`, `svg` …; None: the view's own."""
    format_option: str | None


def check_options(given: Given) -> None:
    """UsageError, with both names and what to do, where two options have no sense together."""
    views = [name for name in _VIEWS if name in given.options and not _is_same_view(name, given)]
    if len(views) > 1:
        raise UsageError(f"{views[0]} and {views[1]} show two things: give one of them")
    parts = [name for name in _PARTS if name in given.options]
    if len(parts) > 1:
        raise UsageError(f"{parts[0]} and {parts[1]} both choose nodes: give one of them")
    if views and views[0] in _WHOLE and parts:
        raise UsageError(f"{views[0]} and {parts[0]}: {views[0]} is of the whole machine, leave {parts[0]} out")
    if views and given.format is not None and given.format not in _VIEWS[views[0]]:
        has = _HAS.get(views[0], "prints a text of its own")
        raise UsageError(
            f"{views[0]} and {given.format_option}: {views[0]} {has}, leave {given.format_option} or {views[0]} out"
        )
    for name, wanted in _OF_FORMAT.items():
        if name in given.options and given.format != wanted:
            shown = views[0] if views else given.format_option
            beside, instead = (f"{name} and {shown}", "") if shown else (name, f"add --format {wanted} or ")
            raise UsageError(f"{beside}: {name} is for --format {wanted} alone, {instead}leave {name} out")


def _is_same_view(name: str, given: Given) -> bool:
    """`--links-from` is `--links` with a further source."""
    return name == "--links" and "--links-from" in given.options


def chosen_format(wanted: str | None, *, boxes: bool, as_json: bool) -> tuple[str | None, str | None]:
    """The format and the option that chose it; None where none did. UsageError where two do."""
    named = {
        **({wanted: f"--format {wanted}"} if wanted else {}),
        **({"boxes": "--boxes"} if boxes else {}),
        **({"json": "--json"} if as_json else {}),
    }
    if len(named) > 1:
        raise UsageError(f"{' and '.join(sorted(named))}: one format at a time")
    return next(iter(named.items()), (None, None))
