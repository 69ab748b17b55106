"""The roles that a bind JSON of numascope may name beyond MindSpore's four modules."""

from __future__ import annotations

import re
from typing import Final

from numascope.observe.roles import ROLES
from numascope.plan.objects import WHOLE_PROCESS

NAMED: Final = "name:"
"""Before a pattern of thread names."""

_NOBODY: Final = frozenset({"launcher", "unnamed", "other"})
"""Words of a review that no plan can mean: who that is, is known only of others."""

_PATTERN = re.compile(r"[\x21-\x7e]{1,15}")

KNOWN: Final = (*(role for role in ROLES if role not in _NOBODY), WHOLE_PROCESS)


def is_role(name: str) -> bool:
    """Whether it is a role: one of `KNOWN`, or `name:` and a pattern of at most the 15 characters that the kernel keeps."""
    if name.startswith(NAMED):
        return _PATTERN.fullmatch(name.removeprefix(NAMED)) is not None
    return name in KNOWN


def fits(pattern: str, name: str) -> bool:
    """Whether a thread's name fits a pattern, in which `*` stands for any characters and `?` for one; in time by their product."""
    at, star, mark, place = 0, -1, 0, 0
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return not pattern[at:].strip("*")
