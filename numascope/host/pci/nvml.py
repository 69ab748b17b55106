"""NVIDIA's own library (extra `[gpu]`): near nodes and NVLinks. It is asked live, on request, and for a limited time."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

from numascope.cpuset import CpuSet
from numascope.host.pci.address import usual_address
from numascope.host.pci.nodes import NodeClaim

_NODE_WORDS: Final = 16
"""Words of 64 bits: as many nodes as the largest kernels have (CONFIG_NODES_SHIFT=10)."""
_MOST_LINKS: Final = 36
_SCOPE_NODE: Final = 0
_TO_SWITCH: Final = 2
"""NVML_NVLINK_MAX_LINKS, NVML_AFFINITY_SCOPE_NODE and NVML_NVLINK_DEVICE_TYPE_SWITCH of nvml.h."""


class NvmlReport(NamedTuple):
    """What NVML says: (PCI address, claim) of each GPU, (address, address, number of NVLinks) of pairs that have any, and the address of each index."""

    claims: tuple[tuple[str, NodeClaim], ...]
    nvlinks: tuple[tuple[str, str, int], ...]
    addresses: tuple[str | None, ...] = ()


class Nvml(Protocol):
    """The functions of the module `pynvml` that are called; each raises its `NVMLError`."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...  # noqa: D102, N802 - NVML's own names, here and below
    def nvmlShutdown(self) -> None: ...  # noqa: D102, N802
    def nvmlDeviceGetCount(self) -> int: ...  # noqa: D102, N802
    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> Any: ...  # noqa: ANN401, D102, N802 - an opaque pointer
    def nvmlDeviceGetPciInfo(self, handle: Any, /) -> Any: ...  # noqa: ANN401, D102, N802 - a C structure
    def nvmlDeviceGetMemoryAffinity(self, handle: Any, words: int, scope: int, /) -> Sequence[int]: ...  # noqa: ANN401, D102, N802
    def nvmlDeviceGetNvLinkState(self, handle: Any, link: int, /) -> int: ...  # noqa: ANN401, D102, N802
    def nvmlDeviceGetNvLinkRemoteDeviceType(self, handle: Any, link: int, /) -> int: ...  # noqa: ANN401, D102, N802
    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: Any, link: int, /) -> Any: ...  # noqa: ANN401, D102, N802


def load_nvml() -> Nvml | None:
    """The module `pynvml`; None where the extra is not installed."""
    try:
        module: Nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    return module


def ask_nvml(library: Nvml, seconds: float = 2.0) -> NvmlReport | None:
    """The library's report; None where there is no driver, or where it does not answer within `seconds` (a hung GPU blocks it)."""
    answers: list[NvmlReport] = []

    def ask() -> None:
        try:
            library.nvmlInit()
            try:
                answers.append(_report(library))
            finally:
                library.nvmlShutdown()
        except (library.NVMLError, AttributeError):  # no driver, or bindings of another age
            return

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else None


def _report(library: Nvml) -> NvmlReport:
    claims: list[tuple[str, NodeClaim]] = []
    direct: Counter[tuple[str, str]] = Counter()
    to_switch: dict[str, int] = {}
    by_index: list[str | None] = []
    for index in range(library.nvmlDeviceGetCount()):
        handle = library.nvmlDeviceGetHandleByIndex(index)
        address = _address(library.nvmlDeviceGetPciInfo(handle))
        by_index.append(address)
        if address is None:
            continue
        with contextlib.suppress(library.NVMLError):  # an old driver does not have it
            claims.append((address, _claim(library.nvmlDeviceGetMemoryAffinity(handle, _NODE_WORDS, _SCOPE_NODE))))
        ends = [_end_of_link(library, handle, link) for link in range(_MOST_LINKS)]
        to_switch[address] = ends.count("switch")
        direct.update((address, end) for end in ends if end is not None and end != "switch")
    links = {(a, b): count for (a, b), count in direct.items() if a < b and b in to_switch}
    addresses = sorted(address for address, count in to_switch.items() if count)
    for at, a in enumerate(addresses):
        links.update({(a, b): min(to_switch[a], to_switch[b]) for b in addresses[at + 1 :]})
    return NvmlReport(tuple(claims), tuple((a, b, count) for (a, b), count in sorted(links.items())), tuple(by_index))


def _claim(words: Sequence[int]) -> NodeClaim:
    nodes = CpuSet.of(64 * at + bit for at, word in enumerate(words) for bit in range(64) if word >> bit & 1)
    return NodeClaim("nvml", "nvmlDeviceGetMemoryAffinity", f"nodes {nodes}", nodes.first if len(nodes) == 1 else None)


def _end_of_link(library: Nvml, handle: Any, link: int) -> str | None:  # noqa: ANN401 - an opaque pointer
    """The address at the other end of an NVLink that is up, `switch` where that is an NVSwitch."""
    try:
        if not library.nvmlDeviceGetNvLinkState(handle, link):
            return None
        if library.nvmlDeviceGetNvLinkRemoteDeviceType(handle, link) == _TO_SWITCH:
            return "switch"
        return _address(library.nvmlDeviceGetNvLinkRemotePciInfo(handle, link))
    except library.NVMLError:
        return None


def _address(info: Any) -> str | None:  # noqa: ANN401 - nvmlPciInfo_t
    written = info.busId
    return usual_address(written.decode("ascii", "replace") if isinstance(written, bytes) else str(written))
