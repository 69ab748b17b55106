"""The fields of the journal's lines, with what each may hold: a record is data and is checked as such."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

MOST_TEXT: Final = 4096

Pid = Annotated[int, msgspec.Meta(ge=1, le=1 << 22)]
Ticks = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Mask = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{1,16384}\Z")]
Text = Annotated[str, msgspec.Meta(max_length=MOST_TEXT)]
Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1e12)]
