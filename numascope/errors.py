"""The one tree of errors that a user may see; the text of each says what, where and what to do."""

from __future__ import annotations


class NumascopeError(Exception):
    """Something that the user can act on; `str()` is the one line to print."""

    exit_code = 2


class UsageError(NumascopeError):
    """A flag, a pid or a combination of them that makes no sense."""


class InputError(NumascopeError):
    """A file that cannot be used: path, and where known the line and column of what is wrong (both from 1)."""

    def __init__(self, path: str, problem: str, line: int | None = None, column: int | None = None) -> None:
        self.path = path
        self.problem = problem
        self.line = line
        self.column = column
        named = path or '""'
        place = named if line is None else f"{named}:{line}:{column}"
        super().__init__(f"{place}: {problem}")


class TargetGoneError(NumascopeError):
    """No process to look at: it ended, or there never was one of that number."""

    exit_code = 4


class NotPermittedError(NumascopeError):
    """The kernel refuses this user; the text says what would open it."""
