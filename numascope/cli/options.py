"""Options that several verbs share, so that they are called and explained alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from numascope.cli.arguments import Duration, FilePath

_Body = TypeVar("_Body", bound=Callable[..., None])

LEVELS = ("error", "warning", "info", "never")


def fail_on(verb: str) -> Callable[[_Body], _Body]:
    """`--fail-on`: the least finding that makes a verb end 1."""
    return click.option(
        "--fail-on",
        type=click.Choice(LEVELS),
        default="warning",
        show_default=True,
        help=f"The least finding that ends {verb} with 1.",
    )


def interval(least_s: float, told: str = "Time between two looks.") -> Callable[[_Body], _Body]:
    """`--interval`: how often a verb that goes on looks."""
    return click.option(
        "--interval", "interval_s", type=Duration(least_s, 3600), default="1s", show_default=True, help=told
    )


def pending_for() -> Callable[[_Body], _Body]:
    """`--pending-for`: how long a thread that its framework binds later is no fault."""
    return click.option(
        "--pending-for",
        "pending_s",
        type=Duration(),
        default="10m",
        show_default=True,
        help="How long a framework may take to bind its threads.",
    )


def replay() -> Callable[[_Body], _Body]:
    """`--replay`: a recording in place of living processes."""
    return click.option(
        "--replay",
        "recording",
        default=None,
        metavar="FILE",
        type=FilePath(),
        help="Judge what numascope record kept.",
    )


def dialect() -> Callable[[_Body], _Body]:
    """`--dialect`: what the plan is written in."""
    from numascope.cli.plan_options import DIALECT_NAMES

    return click.option(
        "--dialect",
        type=click.Choice(DIALECT_NAMES),
        default=None,
        metavar="NAME",
        help=f"What PLAN is written in, by its content without: {', '.join(DIALECT_NAMES)}.",
    )


def match() -> Callable[[_Body], _Body]:
    """`--match`: a target by its command line."""
    return click.option(
        "--match", default=None, metavar="REGEX", help="The process whose command line, its first 4 KiB, matches."
    )


def roles() -> Callable[[_Body], _Body]:
    """`--roles`: the user's own names of threads."""
    return click.option(
        "--roles", type=FilePath(), default=None, help="Your own names of threads, TOML; see docs/roles.md."
    )


def width() -> Callable[[_Body], _Body]:
    """`--width`: columns of the text."""
    return click.option(
        "--width", type=click.IntRange(40, 400), default=None, help="Width of the text; the terminal's, or 80."
    )


def ascii_only() -> Callable[[_Body], _Body]:
    """`--ascii`: signs that every terminal has."""
    return click.option(
        "--ascii", "ascii_only", is_flag=True, help="Draw with ASCII signs; by itself where the locale is C."
    )


def read_only() -> Callable[[_Body], _Body]:
    """`--read-only`: the dashboard changes nothing."""
    return click.option("--read-only", is_flag=True, help="Take the keys away that change something (a, r).")


def color() -> Callable[[_Body], _Body]:
    """`--color`: whether text has colours."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="auto: on a terminal, unless NO_COLOR is set.",
    )
