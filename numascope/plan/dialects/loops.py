"""What a short script starts: the commands within `bash -c '…'`, and those of a `for` over numbers once for each.

Only what can be told without running a shell: plain words, `{0..7}` and `$(seq 0 7)` to loop over, `$i`, `${i}` and `$((…))` inside.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from numascope.errors import InputError
from numascope.plan.dialects.words import Command, Word, commands

MOST_TURNS: Final = 4_096
"""Turns of a loop, and of loops in loops: far more than ranks."""

_DEEPEST: Final = 4

_SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh")
_RUNS_TEXT = re.compile("-[a-z]*c")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,63}")
_BRACES = re.compile(r"\{([0-9]{1,5})\.\.([0-9]{1,5})\}")
_SEQ = re.compile(r"(?:\$\(|`)seq((?:[ \t]+[0-9]{1,5}){1,3})(?:\)|`)")
_ARITHMETIC = re.compile(r"\$\(\(([^()]*(?:\([^()]*\)[^()]*)*)\)\)")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_DIGITS = re.compile("[0-9]{1,9}")
_LONGEST_SUM: Final = 200
_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def run_commands(path: str, text: str) -> Iterator[Command]:
    """The commands of a text in the order in which a shell starts them; what stays unknown stands as it is. InputError."""
    yield from _Script(path).started([*unwrapped(path, text)], {}, 0)


def unwrapped(path: str, text: str) -> Iterator[Command]:
    """The commands of a text, with those of each `bash -c` in its place. InputError."""
    for command in commands(path, text):
        at = next((at for at in range(len(command.words) - 2) if _runs_text(command.words, at)), None)
        if at is None:
            yield command
            continue
        for one in commands(path, command.words[at + 2]):
            yield Command((*command.words[:at], *one.words), command.above, command.behind)


def _runs_text(words: Sequence[Word], at: int) -> bool:
    return words[at].text.rpartition("/")[2] in _SHELLS and _RUNS_TEXT.fullmatch(words[at + 1].text) is not None


class _Script:
    """One script, and how many turns of loops may still come."""

    def __init__(self, path: str) -> None:
        self.path, self.left = path, MOST_TURNS

    def started(self, found: Sequence[Command], values: Mapping[str, str], depth: int) -> Iterator[Command]:
        at = 0
        while at < len(found):
            command = found[at]
            at += 1
            loop = _loop_of(command)
            if loop is None:
                words = tuple(word._replace(text=worked_out(word.text, values)) for word in command.words)
                yield command._replace(words=words)
                continue
            end = _end(found, at)
            for turn in _turns(self.path, command, values):
                self.left -= 1
                if self.left < 0 or depth >= _DEEPEST:
                    where = command.words[0]
                    problem = f"loops of more than {MOST_TURNS} turns, or in more than {_DEEPEST} loops: keep what binds alone"
                    raise InputError(self.path, problem, where.line, where.column)
                yield from self.started(found[at:end], {**values, loop: turn}, depth + 1)
            at = end


def _loop_of(command: Command) -> str | None:
    """The variable of `for NAME in …`; a loop of another kind is none."""
    texts = [word.text for word in command.words[:4] if word.text != "do"]
    is_loop = len(texts) >= 3 and texts[0] == "for" and texts[2] == "in" and _NAME.fullmatch(texts[1]) is not None
    return texts[1] if is_loop else None


def _end(found: Sequence[Command], start: int) -> int:
    """Behind the `done` of a loop."""
    depth = 1
    for at in range(start, len(found)):
        first = [word.text for word in found[at].words if word.text != "do"][:1]
        if first in (["for"], ["while"], ["until"]):
            depth += 1
        elif first == ["done"]:
            depth -= 1
            if not depth:
                return at + 1
    return len(found)


def _turns(path: str, command: Command, values: Mapping[str, str]) -> list[str]:
    words = [word for word in command.words if word.text != "do"]
    text = worked_out(" ".join(word.text for word in words[3:]), values)
    turns: list[str] = []
    pieces = re.findall(r"\$\([^()]*\)|`[^`]*`|\S+", text)
    for piece in pieces:
        turns += _listed(piece)
        if re.search("[$`*?]", piece) and _SEQ.fullmatch(piece) is None:
            where = words[min(3, len(words) - 1)]
            problem = (
                "what this loop goes over is known to the shell alone: write its numbers out, as in for i in 0 1 2 3"
            )
            raise InputError(path, problem, where.line, where.column)
        if len(turns) > MOST_TURNS:
            break  # refused by whoever counts all turns
    return turns


def _listed(piece: str) -> list[str]:
    braces, seq = _BRACES.fullmatch(piece), _SEQ.fullmatch(piece)
    if braces is not None:
        first, last = int(braces[1]), int(braces[2])
        return [str(one) for one in (range(first, last + 1) if first <= last else range(first, last - 1, -1))]
    if seq is not None:
        numbers = [int(text) for text in seq[1].split()]
        first, step, last = (
            (1, 1, numbers[0])
            if len(numbers) == 1
            else (numbers[0], numbers[1] if len(numbers) == 3 else 1, numbers[-1])
        )
        return [str(one) for one in range(first, last + 1, max(1, step))]
    return [piece]


def worked_out(text: str, values: Mapping[str, str]) -> str:
    """A word with the loops' variables put in, and sums of them worked out."""
    if not values or "$" not in text:
        return text
    known = _ARITHMETIC.sub(lambda found: _sum(found[1], values) or found[0], text)
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), known)


def _sum(text: str, values: Mapping[str, str]) -> str | None:
    """The value of `i*8+7`; None where it has more in it than numbers of loops, or is no sum."""
    plain = re.sub(r"\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?", lambda found: values.get(found[1], found[0]), text).strip()
    if len(plain) > _LONGEST_SUM or not re.fullmatch(r"[0-9+\-*/% ()]+", plain) or "**" in plain:
        return None
    try:
        return str(_value(ast.parse(plain.replace(" ", ""), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value < 1 << 31:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError
