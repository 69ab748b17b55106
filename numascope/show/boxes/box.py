"""A box of the picture and what it holds, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from numascope.cpuset import CpuSet
from numascope.machine.objects import Node
from numascope.show.boxes.cores import CoreRun


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """One box: its names, what it says (each text is better not broken), its own cores, and the boxes inside."""

    names: tuple[str, ...]
    cpus: CpuSet
    cpu_words: str = ""
    """Its CPUs, where no box inside tells them better."""
    caches: tuple[str, ...] = ()
    """Caches that serve it as a whole, and how many stand as boxes inside."""
    memory: tuple[str, ...] = ()
    devices: str = ""
    """`npu d0 d1`."""
    all_devices: str = ""
    """The same of all nodes that it holds."""
    runs: tuple[CoreRun, ...] = ()
    inside: tuple[Box | More, ...] = ()
    nodes: tuple[Node, ...] = ()
    """The nodes that this box is or holds."""
    labels: tuple[str, ...] = ()
    """Of a cache, what may stand above it, the longest first: its CPUs, the first CPUs of its cores, one CPU."""
    label_widths: tuple[int, ...] = ()
    """The widest of each form in the whole machine, so that all boxes take the same one."""
    cpu_width: int = 0
    """The widest `cpu_words` of such boxes, so that in one line what follows is a column."""

    @property
    def head(self) -> tuple[str, ...]:
        """Its CPUs and caches."""
        return (*filter(None, [self.cpu_words]), *self.caches)

    @property
    def tail(self) -> tuple[str, ...]:
        """Its memory and devices."""
        return (*self.memory, *filter(None, [self.devices]))

    @property
    def is_cell(self) -> bool:
        """Whether it says so little that it can share its walls with its neighbours."""
        return not self.tail and not self.inside

    @property
    def title(self) -> str:
        """`package 0 · node 0`."""
        return " · ".join(self.names)

    @property
    def forms(self) -> tuple[str, ...]:
        """What may stand in the wall above it, the longest first."""
        return self.labels or (self.title,)

    @property
    def cores(self) -> int:
        """Signs drawn in it and below."""
        own = sum(len(group) for run in self.runs for group in run.groups)
        return own + sum(box.cores for box in self.inside if isinstance(box, Box))


@dataclass(frozen=True, slots=True, eq=False)
class More:
    """Boxes that look like one drawn before them, in words: what they are called, and a text for each."""

    title: str
    entries: tuple[str, ...]
