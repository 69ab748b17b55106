"""What a map of the machine needs to be read: what crosses its borders, and what a list in steps means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from numascope.machine.objects import Cache
from numascope.machine.walk import Overlap
from numascope.show.topo.tree import cache_words
from numascope.show.topo.words import ordinal

_STEPPED: Final = re.compile(r"\b([0-9]+)-([0-9]+):([0-9]+)\b")


def overlap_words(overlaps: Sequence[Overlap]) -> list[str]:
    """What crosses borders: `node 0 spans packages 0, 1`; caches of one sort together; of one package only, it is in part in that."""
    found: dict[str, list[str]] = {}
    for overlap in overlaps:
        thing, numbers = overlap.place.thing, overlap.numbers
        if len(numbers) == 1:
            name = cache_words(thing) if isinstance(thing, Cache) else f"{overlap.place.kind} {overlap.place.number}"
            found.setdefault(f"{name} is partly in {overlap.kind} ", []).append(str(numbers[0]))
        elif isinstance(thing, Cache):
            found.setdefault(f"{cache_words(thing)} spans {overlap.kind}s: ", []).append(",".join(map(str, numbers)))
        else:
            name = f"{overlap.place.kind} {overlap.place.number}"
            found.setdefault(f"{name} spans {overlap.kind}s ", []).append(", ".join(map(str, numbers)))
    return [key + "; ".join(spans) for key, spans in found.items()]


def stepped_words(texts: Iterable[str]) -> list[str]:
    """What a list in steps means, by the first one that the texts have."""
    for text in texts:
        if (found := _STEPPED.search(text)) is not None:
            return [
                f"{found[0]} is every {ordinal(int(found[3]))} CPU from {found[1]} to {found[2]}, as taskset writes it"
            ]
    return []
