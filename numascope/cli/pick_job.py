"""A picker in the terminal: a few lines that are drawn over again until one is taken; no dashboard is loaded for it."""

from __future__ import annotations

import os
import shutil
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from numascope.cli.output import wants_ascii, wants_colour
from numascope.observe.jobs import Facts, Job
from numascope.observe.named import job_words
from numascope.show.choice import Choice, choice_lines, pressed
from numascope.show.glyphs import to_ascii
from numascope.show.ink import render


def pick_job(jobs: Sequence[Job], facts: Facts) -> Job:
    """The job that the user takes; where he leaves, the program ends with 0."""
    at = pick(f"{len(jobs)} jobs run here:", [_row(job, facts) for job in jobs])
    if at is None:
        raise click.exceptions.Exit(0)
    return jobs[at]


def _row(job: Job, facts: Facts) -> str:
    head = job.launcher if job.launcher is not None else min(job.pids())
    threads = sum(facts[pid].threads for pid in job.pids() if pid in facts)
    return f"{head:>8}  {job_words(job, facts)}, {threads} threads"


def pick(title: str, rows: Sequence[str]) -> int | None:
    """The place of the row that is taken; None where none is, or where the terminal goes away."""
    choice = Choice(len(rows))
    drawn = 0
    with _key_by_key(sys.stdin.fileno()) as keys:
        while choice.done is None:
            drawn = _draw(title, rows, choice, drawn)
            key = next(keys, None)
            choice = choice._replace(done=False) if key is None else pressed(choice, key)
    sys.stdout.write(f"\x1b[{drawn}A\x1b[J" if drawn else "")
    sys.stdout.flush()
    return choice.at if choice.done else None


def _draw(title: str, rows: Sequence[str], choice: Choice, drawn: int) -> int:
    """Draws over the lines that were drawn before; how many it has drawn."""
    size = shutil.get_terminal_size((80, 24))
    lines = choice_lines(title, rows, choice, size.columns - 1, size.lines - 1)
    if wants_ascii():
        lines = [to_ascii(line) for line in lines]
    back = f"\x1b[{drawn}A\x1b[J" if drawn else ""
    sys.stdout.write(back + render(lines, colour=wants_colour()))
    sys.stdout.flush()
    return len(lines)


@contextmanager
def _key_by_key(descriptor: int) -> Iterator[Iterator[str]]:
    """The keys as they are pressed, none of them shown; whatever happens the terminal is as it was before."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield _keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _keys(descriptor: int) -> Iterator[str]:
    """One key at a time; a sequence that begins with escape comes in one piece from a terminal."""
    while raw := os.read(descriptor, 64):
        text = raw.decode(errors="ignore")
        while text:
            size = 3 if text.startswith(("\x1b[", "\x1bO")) else 1
            yield text[:size]
            text = text[size:]
