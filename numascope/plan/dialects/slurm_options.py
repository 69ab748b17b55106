"""The options of srun and sbatch that say how tasks are bound and how many of them a host gets (srun(1), sbatch(1))."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.plan.dialects.draft import MOST_RANKS, Draft
from numascope.plan.dialects.words import Command, Word, commands, shown

_DIRECTIVE = re.compile(r"^#SBATCH(?=[ \t])", re.MULTILINE)
_PROGRAMS: Final = ("srun", "sbatch", "salloc")
_VARIABLES: Final[Mapping[str, str]] = {
    "SLURM_CPU_BIND": "cpu-bind", "SBATCH_CPU_BIND": "cpu-bind", "SLURM_MEM_BIND": "mem-bind", "SBATCH_MEM_BIND": "mem-bind",
}  # fmt: skip
_COUNTS: Final[Mapping[str, str]] = {
    "ntasks": "ntasks", "n": "ntasks", "nodes": "nodes", "N": "nodes", "ntasks-per-node": "per-node", "tasks-per-node": "per-node",
}  # fmt: skip
_FLAGS: Final = frozenset((
    "-b", "-E", "-H", "-I", "-k", "-K", "-l", "-O", "-Q", "-s", "-u", "-v", "-vv", "-X", "-Z", "--exact", "--exclusive", "--label",
    "--multi-prog", "--no-kill", "--overcommit", "--overlap", "--oversubscribe", "--preserve-env", "--pty", "--quiet",
    "--spread-job", "--unbuffered", "--verbose", "--contiguous", "--kill-on-bad-exit", "--use-min-nodes", "--propagate",
))  # fmt: skip
"""Options without a value behind them: what follows may be the program."""

_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_]\w{0,63})\}|([A-Za-z_]\w{0,63}))")
_LONGEST_VALUE: Final = 1 << 16


class _Filled(Word):
    """A word with the values of variables in it: whatever part of it, its place is where the word begins."""

    def part(self, start: int) -> Word:
        """The rest of it from a character on."""
        return self._replace(text=self.text[start:])


class Given(NamedTuple):
    """The values of --cpu-bind and --mem-bind, None where there is none, and the tasks of one host, None where nothing tells."""

    cpu: Word | None
    memory: Word | None
    tasks: int | None


def given_options(draft: Draft, text: str) -> Given:
    """What a command line or job script says; `#SBATCH` lines hold where its srun says nothing else. InputError."""
    binds: dict[str, Word] = {}
    of_batch: dict[str, int] = {}
    of_run: dict[str, int] = {}
    of_bound: dict[str, int] | None = None
    values: dict[str, str] = {}
    for raw in commands(draft.path, _DIRECTIVE.sub("sbatch ", text)):  # as long, so that columns stay right
        command = raw._replace(words=tuple(one for word in raw.words for one in _filled(word, values)))
        values |= dict(filter(None, (word.assigned() for word in command.words)))
        program = next((word for word in command.words if word.text.rpartition("/")[2] in _PROGRAMS), None)
        own = _binds(command)
        for name, value in own.items():
            if name in binds and binds[name].text != value.text:
                raise draft.wrong(value, f"a second --{name}, the first is in line {binds[name].line}: keep one")
            binds[name] = value
        counts = {} if program is None else _counts(draft, command)
        if program is None or not program.text.endswith("srun"):
            of_batch.update(counts)
        elif "cpu-bind" in own:
            of_bound = counts if of_bound is None else of_bound
        else:
            of_run = of_run or counts
    tasks = _of_host(of_batch | (of_run if of_bound is None else of_bound))
    return Given(binds.get("cpu-bind"), binds.get("mem-bind"), tasks)


def _filled(word: Word, values: Mapping[str, str]) -> Sequence[Word]:
    """A word with what the script itself gave its variables before, as many words where it is nothing but one of them."""
    if "$" not in word.text:
        return (word,)
    text = _REFERENCE.sub(lambda found: values.get(found[1] or found[2], found[0]), word.text)
    if text == word.text or len(text) > _LONGEST_VALUE:
        return (word,)
    pieces = text.split() if _REFERENCE.fullmatch(word.text) else [text]
    return [_Filled(piece, word.line, word.column) for piece in pieces]


def _of_host(counts: Mapping[str, int]) -> int | None:
    """Tasks of one host: as many as each has at most, and no more than there are of them."""
    total, each = counts.get("ntasks"), counts.get("per-node")
    if total is None or each is not None:
        return each if total is None or each is None else min(total, each)
    return -(-total // counts.get("nodes", 1))


def _binds(command: Command) -> dict[str, Word]:
    found = {}
    for at, word in enumerate(command.words):
        assigned = word.assigned()
        name, value = _option(command.words, at)
        if assigned is not None and assigned[0] in _VARIABLES:
            found[_VARIABLES[assigned[0]]] = word.part(len(assigned[0]) + 1)
        elif name in ("cpu-bind", "mem-bind"):
            found[name] = value
    return found


def _counts(draft: Draft, command: Command) -> dict[str, int]:
    """Those before the program that is started; `--nodes=2-4` and what the shell puts in say nothing sure."""
    found: dict[str, int] = {}
    words = command.words
    start = next(at for at, word in enumerate(words) if word.text.rpartition("/")[2] in _PROGRAMS) + 1
    for at in range(start, len(words)):
        before = words[at - 1].text
        is_value = at > start and before.startswith("-") and "=" not in before and before not in _FLAGS
        if not words[at].text.startswith("-") and not (is_value and not re.fullmatch("-[A-Za-z].+", before)):
            break
        name, value = _option(words, at)
        kind = _COUNTS.get(name)
        if kind is not None and "$" not in value.text and (kind != "nodes" or value.text.isdecimal()):
            found[kind] = _count(draft, name, value)
    return found


def _option(words: Sequence[Word], at: int) -> tuple[str, Word]:
    """The name of an option, without dashes, and its value."""
    word = words[at]
    following = words[at + 1] if at + 1 < len(words) else Word("", word.line, word.column)
    if word.text.startswith("--"):
        name, equals, _ = word.text[2:].partition("=")
        return name.replace("_", "-"), word.part(len(name) + 3) if equals else following
    if word.text[:2] in ("-n", "-N"):
        return word.text[1], word.part(2) if len(word.text) > 2 else following
    return "", word


def _count(draft: Draft, name: str, value: Word) -> int:
    if not re.fullmatch("[0-9]{1,6}", value.text) or not 1 <= int(value.text) <= MOST_RANKS:
        what = "hosts" if _COUNTS[name] == "nodes" else "tasks"
        raise draft.wrong(value, f"the number of {what} ({name}) is {shown(value)}: expected 1 to {MOST_RANKS}")
    return int(value.text)
