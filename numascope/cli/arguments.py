"""What users type, as values: pids mapped to devices, durations. Wrong ones are named with what was expected."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Final

import click

from numascope.errors import UsageError
from numascope.host.text import safe_text

if TYPE_CHECKING:
    from numascope.cpuset import CpuSet
    from numascope.observe.roles.names import OwnNames
    from numascope.observe.select import Wanted

_TARGET: Final = re.compile(r"([0-9]{1,10})(?:=(?:device_?([0-9]{1,5})|(scheduler)))?")
_PID: Final = re.compile(r"[0-9]{1,10}")
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|min|h)?")
_UNIT_S: Final = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_target(text: str) -> Wanted:
    """`PID`, `PID=deviceN` or `PID=scheduler`."""
    from numascope.observe.select import Wanted

    found = _TARGET.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise UsageError(f'"{safe_text(text)}" is no target: give PID, PID=device0 or PID=scheduler')
    return Wanted(int(found[1]), None if found[2] is None else int(found[2]), found[3] is not None)


def own_names(path: str | None) -> OwnNames | None:
    """The user's names of threads: in the given file, else in his configuration; None where there are none. InputError."""
    from numascope.observe.roles.own import default_path, read_own_names

    found = path if path is not None else default_path(os.environ)
    return None if found is None else read_own_names(found)


def parse_nodes(text: str) -> CpuSet:
    """`1` or `0-1,3`: NUMA nodes, one at least."""
    from numascope.cpuset import BadIdListError, CpuSet

    try:
        nodes = CpuSet.parse(text.strip())
    except BadIdListError:
        nodes = None
    if not nodes:
        raise UsageError(f'--to "{safe_text(text)}": give node numbers such as 1 or 0-1')
    return nodes


def refuse_empty(name: str, value: str | None, *, required: bool = False) -> None:
    """UsageError where an option has a value, but nothing in it, as a variable of a script that is not set gives."""
    if value == "":
        raise UsageError(f"{name}: its value is empty: give one" + ("" if required else f", or leave {name} out"))


class FilePath(click.Path):
    """A path of a file, which is opened later; an empty one is refused by the name of its option or argument."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """The path; UsageError."""
        if param is not None:
            is_option = isinstance(param, click.Option)
            name = param.opts[0] if is_option else param.metavar or (param.name or "").upper()
            refuse_empty(name, os.fspath(value), required=param.required)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A number between two others; NaN is none, though it is beyond neither."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; UsageError."""
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if math.isnan(number):
            self.fail(f'"{safe_text(str(value))}" is no number: give {self.min:g} to {self.max:g}', param, ctx)
        return float(super().convert(number, param, ctx))


class Pid(click.ParamType[int]):
    """A process, by its number."""

    name = "pid"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The pid; UsageError."""
        text = str(value)
        if _PID.fullmatch(text) is None or not 0 < int(text) < 2**31:
            self.fail(f'"{safe_text(text)}" is no pid: numascope jobs lists those of jobs', param, ctx)
        return int(text)


class Duration(click.ParamType[float]):
    """A length of time such as `500ms`, `1s`, `10m`, as seconds."""

    name = "time"

    def __init__(self, least_s: float = 0.0, most_s: float = 30 * 86_400.0) -> None:
        self.least_s = least_s
        self.most_s = most_s

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; a bare number is seconds."""
        if isinstance(value, float):
            return value
        found = _DURATION.fullmatch(str(value).strip())
        if found is None:
            self.fail(f'"{safe_text(str(value))}" is no time: give 500ms, 1s, 10m or 2h', param, ctx)
        seconds = float(found[1]) * _UNIT_S[found[2]]
        if not self.least_s <= seconds <= self.most_s:
            self.fail(f"{value}: at least {self.least_s:g}s, at most {self.most_s / 3600:g}h", param, ctx)
        return seconds
