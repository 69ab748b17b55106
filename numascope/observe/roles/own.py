"""The user's own names: a TOML file of starts of thread names and their roles, for all processes or for one framework."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Final

from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.host.user_file import read_user_file
from numascope.observe.roles.names import EVERYWHERE, Name, OwnNames
from numascope.observe.roles.objects import ROLES
from numascope.observe.roles.tables import FRAMEWORKS

_MOST_BYTES: Final = 1 << 20
_UNTELLABLE: Final = frozenset({"unnamed", "other"})
_PLACE: Final = re.compile(r"(.*) \(at line ([0-9]+), column ([0-9]+)\)", re.DOTALL)


def default_path(environ: Mapping[str, str]) -> str | None:
    """`roles.toml` in the user's configuration (XDG Base Directory Specification); None where there is none."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        home = environ.get("HOME", "")
        base = os.path.join(home, ".config") if os.path.isabs(home) else ""
    path = os.path.join(base, "numascope", "roles.toml")
    return path if base and os.path.lexists(path) else None


def read_own_names(path: str) -> OwnNames:
    """The user's table; InputError that says what is wrong with which name."""
    shown = safe_text(path)
    try:
        return OwnNames(parse_own_names(read_user_file(path, _MOST_BYTES, "table of roles").decode(), shown))
    except UnicodeDecodeError:
        raise InputError(shown, "is no UTF-8 text: write it as TOML") from None


def parse_own_names(text: str, path: str) -> dict[str, tuple[Name, ...]]:
    """`[names]` or `[FRAMEWORK]` → its names; InputError. `path` is safe to print."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.fullmatch(str(error))
        problem, line, column = (found[1], int(found[2]), int(found[3])) if found else (str(error), None, None)
        raise InputError(path, f"is no TOML: {safe_text(problem)}", line, column) from None
    except RecursionError:
        raise InputError(path, "is no table of roles: it is nested too deeply") from None
    return {section: _section(path, section, rows) for section, rows in document.items()}


def _section(path: str, section: str, rows: object) -> tuple[Name, ...]:
    shown = safe_text(section)
    if section != EVERYWHERE and section not in FRAMEWORKS:
        raise InputError(
            path, f"[{shown}]: no such framework: give [names], for all, or one of {', '.join(FRAMEWORKS)}"
        )
    if not isinstance(rows, dict):
        raise InputError(path, f'{shown}: is no table: write [{shown}], and below it "START" = "ROLE"')
    return tuple(_name(path, shown, start, role) for start, role in rows.items())


def _name(path: str, section: str, start: str, role: object) -> Name:
    shown = f'[{section}] "{safe_text(start)}"'
    if not start:
        raise InputError(path, f"[{section}]: a name is empty: give the start of a thread's name")
    known = [one for one in ROLES if one not in _UNTELLABLE]
    if not isinstance(role, str) or role not in known:
        given = f'"{safe_text(role)}"' if isinstance(role, str) else "this"
        raise InputError(path, f"{shown}: {given} is no role: give one of {', '.join(known)}")
    return Name(start, role, path)
