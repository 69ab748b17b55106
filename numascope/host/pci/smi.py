"""The matrix that `nvidia-smi topo -m` and `npu-smi info -t topo` print, out of a file that a user gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import LARGEST_ID, BadIdListError, CpuSet
from numascope.errors import InputError
from numascope.host.pci.smi_chips import NpuChip, npu_chips
from numascope.host.text import safe_text

MOST_BYTES: Final = 1 << 20
_MOST_LABELS: Final = 512

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LABEL = re.compile(r"(GPU|NIC|NPU|Phy-ID)([0-9]{1,5})")
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
"""A NIC under the name of its RDMA device: how nvidia-smi labelled NICs before it numbered them."""
_NIC_LEGEND = re.compile(r"\s*(NIC[0-9]{1,5}):\s+(\S{1,64})\s*")
_COLUMN = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID|\S+")
_WORD = re.compile(r"X|PIX|PXB|PHB|NODE|SYS|SOC|NV[1-9][0-9]{0,2}|HCCS|HCCS_SW|SIO|UB")
"""The words of both legends: nvidia-smi's, with SOC of drivers before 2017, and npu-smi's (print_npu_topo_info of its source)."""

_NAMED: Final = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_SELF: Final = "X"
_UNKNOWN: Final = frozenset({"NA", "N/A"})
_OLD_WORDS: Final = {"SOC": "SYS"}
_NO_AFFINITY: Final = re.compile(r"N/?A|-[0-9]{0,9}")


class SmiDevice(NamedTuple):
    """One row: `sort` is `GPU`, `NIC`, `NPU` or `Phy-ID` and `number` its index; `name` of a NIC is its RDMA device."""

    label: str
    sort: str
    number: int | None
    name: str | None
    cpus: CpuSet | None
    """CPU Affinity; None where the row has none."""
    nodes: CpuSet | None
    """NUMA Affinity: the nodes near it."""


class SmiLink(NamedTuple):
    """What the matrix says of two rows: `PIX`, `PXB`, `PHB`, `NODE`, `SYS`, `NV18`, `HCCS`, `SIO`, `UB` …; None: not known."""

    a: str
    b: str
    type: str | None


class SmiTopology(NamedTuple):
    """What a given text says. `nvidia-smi` numbers GPUs in the order of their PCI addresses; neither matrix holds addresses."""

    path: str
    tool: str
    """The command whose output it is."""
    devices: tuple[SmiDevice, ...]
    links: tuple[SmiLink, ...]
    chips: tuple[NpuChip, ...]
    """Ascend chips by `npu-smi info` and `npu-smi info -m`, where the same text holds these too."""


class _Header(NamedTuple):
    labels: tuple[str, ...]
    columns: tuple[str, ...]


def parse_smi(raw: bytes, path: str) -> SmiTopology:
    """The outputs of `nvidia-smi topo -m`, or of `npu-smi info -t topo`, `npu-smi info -m` and `npu-smi info` one after the other.

    InputError with line and column where a row does not fit its header, and where none of these is found.
    """
    if len(raw) > MOST_BYTES:
        raise InputError(
            path, f"is over {MOST_BYTES >> 10} KiB: expected the output of nvidia-smi topo -m or of npu-smi"
        )
    lines = _ESCAPE.sub("", raw.decode("utf-8", "replace")).splitlines()
    chips = npu_chips(lines, path)
    at, header = _header(lines, path)
    if header is None:
        if chips:
            return SmiTopology(path, "npu-smi info", (), (), chips)
        raise InputError(path, "no matrix found: expected the output of nvidia-smi topo -m or of npu-smi info -t topo")
    names = {found[1]: found[2] for line in lines[at:] if (found := _NIC_LEGEND.fullmatch(line))}
    devices: dict[str, SmiDevice] = {}
    types: dict[tuple[str, str], tuple[str | None, int]] = {}
    for number, line in enumerate(lines[at + 1 :], at + 2):
        tokens = line.split()
        # The last column's heading may stand on a line of its own, and a legend follows the rows.
        if not tokens or tokens[0] not in header.labels:
            continue
        if tokens[0] in devices:
            raise InputError(path, f"a second row for {tokens[0]}: give the output of one run", number, 1)
        words = _words(line, tokens[0], header, path, number)
        rest = list(re.finditer(r"\S+", line))[1 + len(words) :]
        devices[tokens[0]] = _device(tokens[0], _affinities(rest, header.columns, path, number), names)
        for label, word in zip(header.labels, words, strict=True):
            types[tokens[0], label] = (word, number)
    if not devices:
        raise InputError(path, f"no rows below the heading with {header.labels[0]}: the output is cut off", at + 1, 1)
    is_npu = next(iter(devices.values())).sort in ("NPU", "Phy-ID")
    tool = "npu-smi info -t topo" if is_npu else "nvidia-smi topo -m"
    return SmiTopology(path, tool, tuple(devices.values()), tuple(_links(header.labels, types, path)), chips)


def _header(lines: Sequence[str], path: str) -> tuple[int, _Header | None]:
    """The first line that names columns and holds no cell."""
    for at, line in enumerate(lines):
        tokens = _COLUMN.findall(line)
        if not tokens or not _LABEL.fullmatch(tokens[0]):
            continue
        end = next((place for place, token in enumerate(tokens) if token in _NAMED), len(tokens))
        labels = tuple(tokens[:end])
        if not all(_LABEL.fullmatch(label) or _PLAIN_NAME.fullmatch(label) for label in labels):
            continue
        if len(labels) > _MOST_LABELS or len(set(labels)) < len(labels):
            raise InputError(
                path, f"a heading of {len(labels)} devices: expected each once, at most {_MOST_LABELS}", at + 1, 1
            )
        return at, _Header(labels, tuple(token for token in tokens[end:] if token in _NAMED))
    return 0, None


def _words(line: str, label: str, header: _Header, path: str, number: int) -> list[str | None]:
    """The cells of a row, one for each column of a device."""
    cells = list(re.finditer(r"\S+", line))[1 : 1 + len(header.labels)]
    words: list[str | None] = []
    for cell in cells:
        if not (_WORD.fullmatch(cell[0]) or cell[0] in _UNKNOWN):
            problem = (
                f'"{safe_text(cell[0][:40])}" is no link: expected a word of the legend, such as PIX, NV12 or HCCS'
            )
            raise InputError(path, problem, number, cell.start() + 1)
        words.append(None if cell[0] in _UNKNOWN else _OLD_WORDS.get(cell[0], cell[0]))
    if len(words) < len(header.labels):
        problem = f"{label} has {len(words)} of {len(header.labels)} cells: the output is cut off"
        raise InputError(path, problem, number, len(line.rstrip()) + 1)
    own = header.labels.index(label)
    if words[own] != _SELF:
        problem = f"{label} has no X in its own column: cells are missing"
        raise InputError(path, problem, number, cells[own].start() + 1)
    other = next((at for at, word in enumerate(words) if word == _SELF and at != own), None)
    if other is not None:
        problem = f"{label} has an X in the column of {header.labels[other]}: expected a link between the two"
        raise InputError(path, problem, number, cells[other].start() + 1)
    return words


def _affinities(
    cells: Sequence[re.Match[str]], columns: Sequence[str], path: str, number: int
) -> Mapping[str, CpuSet | None]:
    """The sets behind the links of a row, which are told apart by their number alone: a row that leaves one out tells none."""
    if len(cells) != len(columns):
        return {}
    return {
        column: _set(cell, column, path, number)
        for column, cell in zip(columns, cells, strict=True)
        if column in ("CPU Affinity", "NUMA Affinity")
    }


def _device(label: str, affinities: Mapping[str, CpuSet | None], names: Mapping[str, str]) -> SmiDevice:
    found = _LABEL.fullmatch(label)
    return SmiDevice(
        label,
        found[1] if found else "NIC",
        int(found[2]) if found else None,
        safe_text(names[label]) if label in names else None if found else label,
        affinities.get("CPU Affinity"),
        affinities.get("NUMA Affinity"),
    )


def _set(cell: re.Match[str], column: str, path: str, number: int) -> CpuSet | None:
    """A list of ids; `N/A`, and what is below 0, is not known."""
    if _NO_AFFINITY.fullmatch(cell[0]):
        return None
    try:
        return CpuSet.parse(cell[0])
    except BadIdListError:
        problem = f'"{safe_text(cell[0][:40])}" is no {column}: expected numbers from 0 to {LARGEST_ID}, such as 0-3,8'
        raise InputError(path, problem, number, cell.start() + 1) from None


def _links(
    labels: Sequence[str], types: Mapping[tuple[str, str], tuple[str | None, int]], path: str
) -> Iterator[SmiLink]:
    """Each pair once; both halves of the matrix must say the same."""
    for at, a in enumerate(labels):
        for b in labels[at + 1 :]:
            there, back = types.get((a, b)), types.get((b, a))
            if there is None and back is None:
                continue
            one, other = (there or back or (None, 0)), (back or there or (None, 0))
            if one[0] != other[0]:
                problem = f"{b} to {a} is {other[0] or 'N/A'} here and {one[0] or 'N/A'} in line {one[1]}"
                raise InputError(path, f"{problem}: give the output of one run", other[1], 1)
            yield SmiLink(a, b, one[0])
