"""The `schedstat` of the threads of one process, through descriptors that are kept as far as there are any."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from numascope.host.procfs import TaskFiles
from numascope.observe.descriptors import DescriptorBudget

_SCHEDSTAT_BYTES: Final = 128


class KeptTimes:
    """Opens, reads and closes; a kept descriptor gives nothing once its thread has ended, whoever has the number then."""

    def __init__(self, files: TaskFiles, budget: DescriptorBudget) -> None:
        self._files = files
        self._budget = budget

    def open(self, tid: int) -> int | None:
        """A descriptor to keep; None where no more may be kept, or the thread is gone."""
        if not self._budget.take():
            return None
        try:
            return self._files.open_schedstat(tid)
        except OSError:
            self._budget.give_back()
            return None

    def close(self, descriptor: int | None) -> None:
        """Gives a kept descriptor back."""
        if descriptor is not None:
            os.close(descriptor)
            self._budget.give_back()

    def read(self, tid: int, kept: int | None) -> bytes:
        """The bytes of one thread, empty where they cannot be read."""
        try:
            return os.pread(kept, _SCHEDSTAT_BYTES, 0) if kept is not None else self._files.read(tid, "schedstat")
        except OSError:
            return b""

    def read_all(self, tids: Sequence[int], kept: Sequence[int | None]) -> list[bytes]:
        """The same of many threads, in one go where all have a descriptor and live."""
        try:
            return [os.pread(descriptor, _SCHEDSTAT_BYTES, 0) for descriptor in kept]  # type: ignore[arg-type]  # None: just below
        except (OSError, TypeError):
            return [self.read(tid, descriptor) for tid, descriptor in zip(tids, kept, strict=True)]
