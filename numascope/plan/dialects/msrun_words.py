"""The words of an msrun command line as its own parser takes them: variables before it, options up to the script (mindspore/parallel/cluster/run.py of 2.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.errors import InputError
from numascope.plan.dialects.loops import unwrapped
from numascope.plan.dialects.prefixes import tool_of
from numascope.plan.dialects.words import Command, Word, decoded, shown
from numascope.plan.source import nearest

_OPTIONS: Final = (
    "worker_num", "local_worker_num", "master_addr", "master_port", "node_rank", "log_dir", "join", "cluster_time_out",
    "bind_core", "bind_numa", "sim_level", "sim_rank_id", "rank_table_file", "worker_log_name", "tail_worker_log", "help",
)  # fmt: skip
"""All but `help` have a value; each may be cut short as far as it stays the only one."""

_MODULE: Final = "mindspore.parallel.cluster.run"


class MsrunWords(NamedTuple):
    """A command line taken apart."""

    is_msrun: bool
    """Whether its command is there, and not the options alone."""
    variables: Mapping[str, Word]
    options: Mapping[str, Word]
    tool: Word | None = None
    """A numactl or taskset before it."""


def read_msrun_words(path: str, data: bytes) -> MsrunWords:
    """The first msrun of a text that binds, else the first at all, else options without their command; InputError."""
    found = [*unwrapped(path, decoded(path, data, "a command line"))]
    starts = [(at, behind) for at, command in enumerate(found) if (behind := _behind(command)) is not None]
    binding = [(at, behind) for at, behind in starts if any(map(_binds, found[at].words[behind:]))]
    chosen = next(iter((*binding, *starts)), None)
    if chosen is not None:
        at, behind = chosen
        words = found[at].words
        tool = tool_of(found[at]._replace(words=words[:behind]))
        return MsrunWords(
            is_msrun=True,
            variables=_variables(found[: at + 1], behind),
            options=_options(path, words[behind:]),
            tool=None if tool is None else words[tool],
        )
    alone = ((at, command) for at, command in enumerate(found) if any(map(_binds, command.words)))
    for at, command in alone:
        first = next(number for number, word in enumerate(command.words) if word.text.startswith("--"))
        return MsrunWords(
            is_msrun=False, variables=_variables(found[: at + 1], first), options=_options(path, command.words[first:])
        )
    return MsrunWords(is_msrun=False, variables={}, options={})


def _behind(command: Command) -> int | None:
    """Where the options of an msrun begin, also of `python -m` with its module; None for another command."""
    texts = [word.text for word in command.words]
    for at, text in enumerate(texts, 1):
        if text.rpartition("/")[2] == "msrun" or (text == _MODULE and texts[at - 2 : at - 1] == ["-m"]):
            return at
    return None


def _binds(word: Word) -> bool:
    return word.text.startswith("--b")


def _variables(commands: Sequence[Command], behind: int) -> Mapping[str, Word]:
    """What is assigned before the options, by this command or one before it."""
    words = [word for command in commands[:-1] for word in command.words] + [*commands[-1].words[:behind]]
    assigned = ((word, found) for word in words if (found := word.assigned()) is not None)
    return {name: word.part(len(name) + 1) for word, (name, _) in assigned}


def _options(path: str, words: Sequence[Word]) -> Mapping[str, Word]:
    """Option → value, of `--name=value` and `--name value`, up to the script, whose own options they are from there on."""
    found: dict[str, Word] = {}
    rest = iter(words)
    for word in rest:
        if not word.text.startswith("-") or word.text == "--":
            break
        written, equals, _ = word.text.partition("=")
        name = _name(path, word, written)
        if name == "help":
            raise InputError(path, "this msrun prints its help and starts nobody: leave -h out", word.line, word.column)
        value = word.part(len(written) + 1) if equals else next(rest, None)
        if value is None or (not equals and value.text.startswith("--")):
            raise InputError(path, f"{shown(word)} has no value, which msrun refuses", word.line, word.column)
        found[name] = value
    return found


def _name(path: str, word: Word, written: str) -> str:
    name = "help" if written == "-h" else written.removeprefix("--")
    fitting = [one for one in _OPTIONS if one.startswith(name)]
    if name in _OPTIONS:
        return name
    if len(fitting) == 1:
        return fitting[0]
    text = shown(word._replace(text=written))
    if fitting:
        problem = f"{text} is short for {' and '.join(fitting)}: msrun refuses it"
    else:
        problem = f"msrun has no option {text} and refuses it{nearest(name.replace('-', '_'), _OPTIONS)}"
    raise InputError(path, problem, word.line, word.column)
