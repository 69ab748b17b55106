# ruff: noqa: D102, N802 - the library's own names, which nvml.h explains
from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace

from numascope.host.pci.nvml import ask_nvml


class NvmlFailedError(Exception):
    """Stands for the library's own error."""


class Library:
    """The library of a machine with these GPUs: bus id → (nodes as a bit mask, the ends of its NVLinks, `switch` for an NVSwitch)."""

    NVMLError: type[Exception] = NvmlFailedError

    def __init__(self, gpus: dict[str, tuple[int, list[str]]]) -> None:
        self.gpus = gpus
        self.is_open = False

    def nvmlInit(self) -> None:
        self.is_open = True

    def nvmlShutdown(self) -> None:
        self.is_open = False

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> str:
        return list(self.gpus)[index]

    def nvmlDeviceGetPciInfo(self, handle: str, /) -> SimpleNamespace:
        return SimpleNamespace(busId=handle.encode())

    def nvmlDeviceGetMemoryAffinity(self, handle: str, words: int, scope: int, /) -> Sequence[int]:
        assert scope == 0
        return [self.gpus[handle][0], *([0] * (words - 1))]

    def nvmlDeviceGetNvLinkState(self, handle: str, link: int, /) -> int:
        if link >= len(self.gpus[handle][1]):
            raise NvmlFailedError
        return 1

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, handle: str, link: int, /) -> int:
        return 2 if self.gpus[handle][1][link] == "switch" else 0

    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: str, link: int, /) -> SimpleNamespace:
        return SimpleNamespace(busId=self.gpus[handle][1][link])


class NoDriver(Library):
    """The library where no driver is loaded."""

    def nvmlInit(self) -> None:
        raise NvmlFailedError


class Hung(Library):
    """The library where a GPU does not answer."""

    def __init__(self) -> None:
        super().__init__({})
        self.end = threading.Event()

    def nvmlInit(self) -> None:
        self.end.wait(30)


A, B, C = "00000000:17:00.0", "00000000:18:00.0", "00000000:AA:00.0"


def test_near_nodes_and_nvlinks_are_reported_by_the_kernels_addresses() -> None:
    library = Library({A: (0b1, [B, B]), B: (0b1, [A, A]), C: (0b10, [])})
    report = ask_nvml(library)
    assert report is not None
    assert [(address, claim.node, claim.value) for address, claim in report.claims] == [
        ("0000:17:00.0", 0, "nodes 0"),
        ("0000:18:00.0", 0, "nodes 0"),
        ("0000:aa:00.0", 1, "nodes 1"),
    ]
    assert report.nvlinks == (("0000:17:00.0", "0000:18:00.0", 2),)
    assert not library.is_open


def test_gpus_on_nvswitches_all_reach_each_other_with_the_links_of_the_lesser() -> None:
    report = ask_nvml(Library({A: (1, ["switch"] * 18), B: (1, ["switch"] * 12), C: (1, ["switch"] * 18)}))
    assert report is not None
    assert [count for *_, count in report.nvlinks] == [12, 18, 12]


def test_several_near_nodes_name_none() -> None:
    report = ask_nvml(Library({A: (0b11, [])}))
    assert report is not None
    assert [(claim.node, claim.value) for _, claim in report.claims] == [(None, "nodes 0-1")]


def test_without_a_driver_there_is_no_report() -> None:
    assert ask_nvml(NoDriver({})) is None


def test_a_gpu_that_does_not_answer_is_not_waited_for() -> None:
    library = Hung()
    assert ask_nvml(library, seconds=0.05) is None
    library.end.set()
