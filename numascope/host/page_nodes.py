"""On which node a page lies: move_pages(2) asked without a place to move to, which makes it a read."""

from __future__ import annotations

import array
import ctypes
import errno
import os
import platform
from collections.abc import Sequence
from typing import Final

from numascope.host.root import AbsentError, DeniedError

MOST_PAGES: Final = 1 << 11
"""Pages of one call: some 2 ms. The kernel takes the mmap lock for 16 of them at a time (`do_pages_stat` of mm/migrate.c)."""

_NUMBERS: Final = {
    "x86_64": 279, "aarch64": 239, "riscv64": 239, "loongarch64": 239, "ppc64le": 301, "ppc64": 301, "s390x": 310,
}  # fmt: skip
"""Number of move_pages(2) by architecture."""

_NOWHERE: Final = ctypes.c_void_p(None)
"""For `nodes`: a null pointer is what makes the call a question. There is no other value for it in this module."""


class PageNodes:
    """Asks for the nodes of pages of one process; nothing is moved."""

    def __init__(self, pid: int) -> None:
        self._pid = ctypes.c_long(pid)
        self._number = _NUMBERS.get(platform.machine())
        self._call = ctypes.CDLL(None, use_errno=True).syscall

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """The node of the page at each address; negative where there is none in memory. DeniedError, AbsentError."""
        found: list[int] = []
        for at in range(0, len(addresses), MOST_PAGES):
            found.extend(self._ask(addresses[at : at + MOST_PAGES]))
        return found

    def _ask(self, addresses: Sequence[int]) -> list[int]:
        if self._number is None:
            raise DeniedError(errno.ENOSYS, f"where pages lie cannot be asked on {platform.machine()}")
        count = len(addresses)
        pages = (ctypes.c_uint64 * count).from_buffer(array.array("Q", addresses))
        status = (ctypes.c_int * count)()
        code = self._call(
            ctypes.c_long(self._number), self._pid, ctypes.c_ulong(count), pages, _NOWHERE, status, ctypes.c_long(0)
        )
        if code < 0:
            number = ctypes.get_errno()
            # EINVAL: the process has no memory any more (`find_mm_struct` of mm/migrate.c).
            kind = AbsentError if number in (errno.ESRCH, errno.EINVAL) else DeniedError
            raise kind(number, os.strerror(number), f"pages of process {self._pid.value}")
        return list(status)
