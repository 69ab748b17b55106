"""A setting of a YAML file as values with lines and columns, read as PyYAML's safe loader reads it.

The whole file must be such as that loader takes, and is measured event by event first: depth and size, aliases counted as often
as they are used, so that no file costs more than its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import yaml

from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.plan.json_reader import DEEPEST_NESTING, MOST_VALUES, Entry, Value, quoted

_Loader = yaml.CSafeLoader | yaml.SafeLoader
_Pairs = list[tuple[yaml.Node, yaml.Node]]

_LOADER: Final[type[_Loader]] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""With libyaml ten times as fast; both read alike."""

_MOST_NODES: Final = 2 * MOST_VALUES
"""Keys are nodes as well."""

_LONGEST_SCALAR: Final = 300
"""Of what is not text: a number of many thousand digits costs their square."""

_TEXT: Final = "tag:yaml.org,2002:str"
_MERGE: Final = "tag:yaml.org,2002:merge"
_PLAIN: Final = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_UNREADABLE: Final = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""What the loader's own constructors raise for `2024-13-01`, `!!int x`, `!!bool x`, `!!timestamp x`."""


def read_setting(path: str, text: str, names: Sequence[str], key: str) -> Value | None:
    """The value of `key` in the first of these mappings of the file that has it (`""` is the top); None where none has. InputError."""
    try:
        _measure(path, text)
        loader = _LOADER(text)
        try:
            return _read(path, loader, names, key)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as failure:
        where = _place(failure.problem_mark or failure.context_mark)
        said = " ".join(filter(None, (failure.context, failure.problem)))
        raise InputError(path, f"YAML's own loader does not read this: {safe_text(said)}", *where) from None
    except yaml.reader.ReaderError as failure:
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)
        at = 0 if found is None else found.start()
        where = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise InputError(path, f"a character that YAML does not have: {safe_text(failure.reason)}", *where) from None


class _Open(NamedTuple):
    """A list or an object that is not closed yet: its anchor, and the nodes before it."""

    anchor: str | None
    before: int


def _measure(path: str, text: str) -> None:
    """Refuses what is nested too deep, or has too many nodes, once every alias is written out."""
    sizes: dict[str | None, int] = {}
    heights: dict[str | None, int] = {}
    unclosed: list[_Open] = []
    deepest = [0]  # of each that is not closed, counted from the top
    nodes = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            if any(event.anchor == one.anchor for one in unclosed):
                raise _wrong(
                    path, event, f"*{safe_text(str(event.anchor))} is part of what it stands for: write it out"
                )
            nodes += sizes.get(event.anchor, 1)
            deepest[-1] = max(deepest[-1], len(unclosed) + heights.get(event.anchor, 0))
        elif isinstance(event, yaml.ScalarEvent):
            nodes += 1
            sizes[event.anchor], heights[event.anchor] = 1, 0
        elif isinstance(event, yaml.CollectionStartEvent):
            unclosed.append(_Open(event.anchor, nodes))
            deepest.append(len(unclosed))
            nodes += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            closed, reached = unclosed.pop(), deepest.pop()
            deepest[-1] = max(deepest[-1], reached)
            sizes[closed.anchor], heights[closed.anchor] = nodes - closed.before, reached - len(unclosed)
        if deepest[-1] > DEEPEST_NESTING:
            raise _wrong(path, event, f"nested deeper than {DEEPEST_NESTING} levels, far too deep for a bind plan")
        if nodes > _MOST_NODES:
            raise _wrong(path, event, f"more than {_MOST_NODES} keys and values, far too many for a bind plan")


def _wrong(path: str, found: yaml.Event | yaml.Node, problem: str) -> InputError:
    return InputError(path, problem, *_place(found.start_mark))


def _place(mark: Any) -> tuple[int, int]:  # noqa: ANN401  (libyaml has a class of its own for it)
    """Line and column from 1; those of the beginning where there is no mark."""
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def _read(path: str, loader: _Loader, names: Sequence[str], key: str) -> Value | None:
    top = loader.get_single_node()
    if top is None:
        return None
    own = {id(node): list(node.value) for node in _nodes(top) if isinstance(node, yaml.MappingNode)}
    for node in _nodes(top):
        if isinstance(node, yaml.ScalarNode) and node.tag not in (_TEXT, _MERGE):
            _refuse_unreadable(path, loader, node)
    loader.construct_document(top)
    reader = _Reader(path, loader, own)
    for name in names:
        holder = top if not name else reader.below(top, name)
        found = None if holder is None else reader.below(holder, key)
        if found is not None:
            return reader.value(found)
    return None


def _nodes(top: yaml.Node) -> Iterator[yaml.Node]:
    """Every node once, however often aliases name it, in the order of the file."""
    seen: set[int] = set()
    left = [top]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            left += [part for pair in reversed(node.value) for part in reversed(pair)]
        elif isinstance(node, yaml.SequenceNode):
            left += reversed(node.value)


def _refuse_unreadable(path: str, loader: _Loader, node: yaml.ScalarNode) -> None:
    if len(node.value) > _LONGEST_SCALAR:
        problem = f"{len(node.value)} characters that are no text: expected at most {_LONGEST_SCALAR}"
        raise _wrong(path, node, problem)
    try:
        loader.construct_object(node)
    except _UNREADABLE:
        kind = node.tag.rpartition(":")[2]
        raise _wrong(path, node, f"YAML's own loader does not read {quoted(node.value)} as {safe_text(kind)}") from None


class _Reader:
    """Values of nodes whose merge keys the loader has resolved; a node is read once, however many aliases name it."""

    def __init__(self, path: str, loader: _Loader, own: Mapping[int, _Pairs]) -> None:
        self.path, self.loader = path, loader
        self.own = own
        self.known: dict[int, Value] = {}

    def below(self, node: yaml.Node, key: str) -> yaml.Node | None:
        """The value of one key of a mapping, merged ones included; InputError where it is there twice."""
        if not isinstance(node, yaml.MappingNode):
            return None
        self.refuse_twice([pair for pair in self.own[id(node)] if pair[0].value == key])
        found = [value for name, value in node.value if isinstance(name, yaml.ScalarNode) and name.value == key]
        return found[-1] if found else None

    def refuse_twice(self, pairs: _Pairs) -> None:
        before: dict[str, yaml.Node] = {}
        for key, value in pairs:
            if not isinstance(key, yaml.ScalarNode):
                raise _wrong(self.path, key, "a list or an object is no key here: expected a name")
            if key.tag == _MERGE:
                for merged in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                    self.refuse_twice(self.own[id(merged)])
            elif key.value in before:
                line = before[key.value].start_mark.line + 1
                problem = f"the key {quoted(key.value)} is there twice, first in line {line}: keep one"
                raise _wrong(self.path, key, problem)
            else:
                before[key.value] = key

    def value(self, node: yaml.Node) -> Value:
        """The value of a node; a date or bytes as their text. InputError where keys are there twice, or a tag asks for more."""
        if id(node) not in self.known:
            self.known[id(node)] = Value(self.data(node), *_place(node.start_mark))
        return self.known[id(node)]

    def data(self, node: yaml.Node) -> str | float | tuple[Value, ...] | Mapping[str, Entry] | None:
        if isinstance(node, yaml.ScalarNode):
            found = self.loader.construct_object(node)
            return found if found is None or isinstance(found, str | int | float) else str(node.value)
        if node.tag not in _PLAIN:
            raise _wrong(self.path, node, f"the tag {quoted(node.tag)}: write plain keys and lists")
        if isinstance(node, yaml.SequenceNode):
            return tuple(self.value(one) for one in node.value)
        self.refuse_twice(self.own[id(node)])
        return {key.value: Entry(*_place(key.start_mark), self.value(value)) for key, value in node.value}
