"""Numbers and texts of frames, bounded: what is larger is no frame."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from numascope.cpuset import LARGEST_ID

AN_ID: Final = msgspec.Meta(max_length=LARGEST_ID + 1)
"""Of a list or map with an entry for each CPU or node at most."""

Natural = Annotated[int, msgspec.Meta(ge=0)]
Id = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_ID)]
Name = Annotated[str, msgspec.Meta(max_length=1024)]
