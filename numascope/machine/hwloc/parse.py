"""An hwloc XML file as flat records: the border where text from anybody becomes typed values (hwloc 2, hwloc2.dtd)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from xml.parsers import expat

from numascope.cpuset import LARGEST_ID, BadIdListError, CpuSet
from numascope.errors import InputError
from numascope.host.text import safe_text

LARGEST_FILE: Final = 64 << 20
"""Bytes; lstopo writes about 20 MiB for 2,048 CPUs."""

MOST_ELEMENTS: Final = 200_000
"""4,096 CPUs, each with a core and three caches of its own, take a tenth of that."""

DEEPEST: Final = 100
LONGEST_ATTRIBUTE: Final = 65_536
"""Characters; the set of all ids up to `LARGEST_ID` takes 22,527."""

MOST_BYTES: Final = 1 << 57
"""128 PiB, above the memory of any machine: an x86-64 processor addresses at most 52 bits of it."""

_LONGEST_TEXT: Final = 4 << 20
_MOST_NODES: Final = 1_024
"""The largest MAX_NUMNODES of Linux."""

_BITMAP = re.compile(r"(?:0x[0-9a-fA-F]{1,8})?(?:,(?:0x[0-9a-fA-F]{1,8})?)*")
_NUMBER = re.compile(r"[0-9]{1,20}")
_NO_INDEX: Final = ("-1", "4294967295")
"""How hwloc writes that an object has no number of its own."""

_EVERY_SET: Final = ("cpuset", "nodeset")
_ROOT_SETS: Final = (*_EVERY_SET, "complete_cpuset", "allowed_cpuset", "complete_nodeset", "allowed_nodeset")


class Position(NamedTuple):
    """A place in the file, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class HwlocObject:
    """One `object`: its own attributes as written, its sets read, and the number of the object around it."""

    type: str
    at: Position
    parent: int | None
    attributes: Mapping[str, str]
    sets: Mapping[str, CpuSet]
    infos: dict[str, str] = field(default_factory=dict)
    pages: list[tuple[int, int]] = field(default_factory=list)
    """(bytes a page, pages) of each size."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One `distances2`: what it is of, the objects' numbers, and a value for each pair, row after row."""

    name: str | None
    type: str
    kind: int
    by_os_index: bool
    at: Position
    indexes: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)


class MemoryValue(NamedTuple):
    """One value of one `memattr`: `target` is a gp_index, `initiators` the CPUs that it is measured from."""

    name: str
    target: str
    initiators: CpuSet
    value: int


@dataclass(frozen=True, slots=True)
class Kind:
    """One `cpukind`."""

    cpus: CpuSet
    at: Position
    infos: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Topology:
    """All that the file says, in its order; the first object is the root."""

    name: str
    objects: list[HwlocObject] = field(default_factory=list)
    matrices: list[Matrix] = field(default_factory=list)
    memory_values: list[MemoryValue] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)

    def number(self, found: HwlocObject, attribute: str) -> int | None:
        """An attribute that is a number; None where it is absent or says that there is none, InputError where it is something else."""
        text = found.attributes.get(attribute)
        return None if text is None or text in _NO_INDEX else decimal(self.name, found.at, attribute, text)

    def kib(self, found: HwlocObject, attribute: str) -> int | None:
        """A number of bytes in KiB; None as above, InputError for more than `MOST_BYTES`."""
        size = self.number(found, attribute)
        if size is not None and size > MOST_BYTES:
            raise InputError(
                self.name, f"{attribute}: {size} bytes, more than any machine has ({MOST_BYTES})", *found.at
            )
        return None if size is None else size // 1024


def parse_hwloc(data: bytes, name: str) -> Topology:
    """Reads a file's bytes; InputError with line and column for what is no hwloc XML of version 2, or is too large, or declares anything."""
    if len(data) > LARGEST_FILE:
        raise InputError(name, f"{len(data)} bytes, more than the {LARGEST_FILE} that are read")
    reader = _Reader(name)
    try:
        reader.parser.Parse(data, True)  # noqa: FBT003 - the parser takes no keywords
    except expat.ExpatError as error:
        raise InputError(name, f"not XML: {expat.ErrorString(error.code)}", error.lineno, error.offset + 1) from None
    if not reader.topology.objects:
        raise InputError(name, "the topology has no object")
    return reader.topology


def decimal(name: str, at: Position, attribute: str, text: str) -> int:
    """A number as hwloc writes it; InputError for anything else."""
    if not _NUMBER.fullmatch(text):
        raise InputError(name, f"{attribute}: expected a number, not {_quoted(text)}", *at)
    return int(text)


class _Reader:
    """What expat calls; the stack holds what is open, None for an element that says nothing to us."""

    def __init__(self, name: str) -> None:
        self.topology = Topology(name)
        self.elements = 0
        self.stack: list[object] = []
        self.open_objects: list[int] = []
        self.text: list[str] | None = None
        self.text_length = 0
        self.parser = expat.ParserCreate("UTF-8")
        self.parser.buffer_text = True
        self.parser.specified_attributes = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = lambda *_: self.refuse("declares entities: refused")
        self.parser.AttlistDeclHandler = lambda *_: self.refuse("declares attributes: refused")

    @property
    def at(self) -> Position:
        return Position(self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def refuse(self, problem: str) -> None:
        raise InputError(self.topology.name, problem, *self.at)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > MOST_ELEMENTS:
            self.refuse(f"more than {MOST_ELEMENTS} elements")
        if len(self.stack) >= DEEPEST:
            self.refuse(f"more than {DEEPEST} elements inside each other")
        if any(len(value) > LONGEST_ATTRIBUTE for value in attributes.values()):
            self.refuse(f"an attribute of more than {LONGEST_ATTRIBUTE} characters")
        if not self.stack:
            self.check_root(tag, attributes)
        self.stack.append(self.opened(tag, attributes))

    def check_root(self, tag: str, attributes: dict[str, str]) -> None:
        version = attributes.get("version")
        if tag != "topology":
            self.refuse(f'expected <topology version="2.0">, as lstopo writes it, not <{safe_text(tag[:40])}>')
        elif version is None:
            self.refuse("a file of hwloc 1: convert it with lstopo of hwloc 2, lstopo --if xml -i OLD.xml NEW.xml")
        elif not version.startswith("2."):
            self.refuse(f"a file of version {_quoted(version)}: versions 2.x are read")

    def opened(self, tag: str, attributes: dict[str, str]) -> object:
        """What an element stands for, kept where it belongs."""
        around = self.stack[-1] if self.stack else None
        if tag == "object":
            return self.opened_object(attributes)
        if tag == "info" and isinstance(around, HwlocObject | Kind):
            around.infos[attributes.get("name", "")] = attributes.get("value", "")
        elif tag == "page_type" and isinstance(around, HwlocObject):
            around.pages.append((self.number("size", attributes), self.number("count", attributes)))
        elif tag == "distances2":
            return self.opened_matrix(attributes)
        elif tag in ("indexes", "u64values") and isinstance(around, Matrix):
            self.text = []
            return around.indexes if tag == "indexes" else around.values
        elif tag == "memattr":
            return attributes.get("name", "")
        elif tag == "memattr_value" and isinstance(around, str):
            self.keep_memory_value(around, attributes)
        elif tag == "cpukind":
            kind = Kind(self.bitmap("cpuset", attributes.get("cpuset", "0x0")), self.at)
            self.topology.kinds.append(kind)
            return kind
        return None

    def opened_object(self, attributes: dict[str, str]) -> HwlocObject:
        kind = attributes.get("type")
        parent = self.open_objects[-1] if self.open_objects else None
        if kind is None:
            raise InputError(self.topology.name, "an object without a type", *self.at)
        if parent is None and (self.topology.objects or kind != "Machine"):
            self.refuse(f"expected one root object, of type Machine, not {_quoted(kind)}")
        sets: dict[str, CpuSet] = {
            name: self.bitmap(name, attributes[name])
            for name in (_ROOT_SETS if parent is None else _EVERY_SET)
            if name in attributes
        }
        kept = {key: value for key, value in attributes.items() if key not in _ROOT_SETS}
        found = HwlocObject(kind, self.at, parent, kept, sets)
        self.open_objects.append(len(self.topology.objects))
        self.topology.objects.append(found)
        return found

    def opened_matrix(self, attributes: dict[str, str]) -> Matrix:
        matrix = Matrix(
            attributes.get("name"),
            attributes.get("type", ""),
            self.number("kind", attributes),
            attributes.get("indexing", "os") == "os",
            self.at,
        )
        if self.number("nbobjs", attributes) > _MOST_NODES and matrix.type == "NUMANode":
            self.refuse(f"distances of more than {_MOST_NODES} nodes")
        self.topology.matrices.append(matrix)
        return matrix

    def keep_memory_value(self, name: str, attributes: dict[str, str]) -> None:
        target, initiators = attributes.get("target_obj_gp_index"), attributes.get("initiator_cpuset")
        if target is not None and initiators is not None and attributes.get("target_obj_type") == "NUMANode":
            cpus = self.bitmap("initiator_cpuset", initiators)
            self.topology.memory_values.append(MemoryValue(name, target, cpus, self.number("value", attributes)))

    def end(self, tag: str) -> None:
        done = self.stack.pop()
        if tag == "object":
            self.open_objects.pop()
        elif isinstance(done, list) and self.text is not None:
            done += [decimal(self.topology.name, self.at, tag, word) for word in "".join(self.text).split()]
            self.text = None

    def characters(self, text: str) -> None:
        if self.text is not None:
            self.text_length += len(text)
            if self.text_length > _LONGEST_TEXT:
                self.refuse(f"more than {_LONGEST_TEXT} characters of distances")
            self.text.append(text)

    def number(self, attribute: str, attributes: dict[str, str]) -> int:
        return decimal(self.topology.name, self.at, attribute, attributes.get(attribute, "0"))

    def bitmap(self, attribute: str, text: str) -> CpuSet:
        """A set as hwloc writes it: hexadecimal words of 32 bits, the highest first, an empty word for no bits."""
        if text.count(",") > LARGEST_ID // 32 or not _BITMAP.fullmatch(text):
            self.refuse(f'{attribute}: expected a set such as "0x0000000f", not {_quoted(text)}')
        digits = "".join(word[2:].zfill(8) for word in text.split(","))
        try:
            return CpuSet(int(digits, 16))
        except BadIdListError as error:
            raise InputError(self.topology.name, f"{attribute}: {error.problem}", *self.at) from None


def _quoted(text: str) -> str:
    return f'"{safe_text(text[:40])}"'
