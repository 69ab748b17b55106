"""Which pages of an address space are in memory: PAGEMAP_SCAN where the kernel has it (6.7), else `pagemap` window by window."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import struct
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.host.root import HostRoot, as_host_error

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
WINDOW_BYTES: Final = max(2 << 20, PAGE_BYTES)
"""One page table's worth of addresses with pages of 4 KiB; `pagemap` is walked in pieces of this size under the mmap lock."""

_SCAN: Final = 0xC0606610
"""_IOWR('f', 16, struct pm_scan_arg) of include/uapi/linux/fs.h, with the generic layout of request numbers."""

_ARGUMENT: Final = struct.Struct("=12Q")
"""struct pm_scan_arg: size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, _mask, _anyof_mask, return_mask."""

_REGION: Final = struct.Struct("=3Q")
_PRESENT: Final = 1 << 3
_ZERO_PAGE: Final = 1 << 5
"""PAGE_IS_PRESENT and PAGE_IS_PFNZERO: a page of zeros that everybody shares is nobody's memory."""

_ENTRY_BYTES: Final = 8
_IN_MEMORY: Final = bytes(int(byte >= 0x80) for byte in range(256))
"""Bit 63 of an entry, in its highest byte: the page is in memory (Documentation/admin-guide/mm/pagemap.rst)."""

_FRAME: Final = (1 << 55) - 1

_RUN: Final = re.compile(b"\x01+")

MOST_RUNS: Final = WINDOW_BYTES // PAGE_BYTES
"""Runs of pages that one call gives at most."""

Run = tuple[int, int]
"""Addresses from the first up to the second, all of whose pages are in memory."""


class Found(NamedTuple):
    """Runs in memory by rising address, and up to where there is nothing more: less than asked for once there was enough."""

    runs: list[Run]
    until: int


class PageMap:
    """The kept `pagemap` of one process; it stays with the address space that it was opened on, whatever becomes of the pid."""

    def __init__(self, root: HostRoot, pid: int | str) -> None:
        """Opens it; DeniedError where this user may not read it, AbsentError where the process is gone or the kernel has none."""
        self._path = f"proc/{pid}/pagemap"
        try:
            self._file = os.open(os.path.join(root.path, self._path), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise as_host_error(error, self._path) from error
        self._argument = bytearray(_ARGUMENT.size)
        self._regions = bytearray(MOST_RUNS * _REGION.size)
        self._place = ctypes.addressof(ctypes.c_char.from_buffer(self._regions))
        self.can_skip = self._has_scan()

    def close(self) -> None:
        """Gives the descriptor back."""
        os.close(self._file)

    def _has_scan(self) -> bool:
        """Whether the kernel has PAGEMAP_SCAN, which jumps over what is empty."""
        try:
            self.scan(0, PAGE_BYTES, 1)
        except OSError:
            return False
        return True

    def scan(self, start: int, end: int, most_pages: int = 0) -> Found:
        """The runs in memory between two addresses, until `most_pages` (0: any number) or MOST_RUNS were found; it changes nothing (flags 0)."""
        wanted = _PRESENT | _ZERO_PAGE
        values = (start, end, 0, self._place, MOST_RUNS, most_pages, _ZERO_PAGE, wanted, 0, _PRESENT)
        _ARGUMENT.pack_into(self._argument, 0, _ARGUMENT.size, 0, *values)
        try:
            count = fcntl.ioctl(self._file, _SCAN, self._argument, True)  # noqa: FBT003  (the argument is written to)
        except OSError as error:
            raise as_host_error(error, self._path) from error
        raw = self._regions[: count * _REGION.size]
        until = _ARGUMENT.unpack(self._argument)[4]
        return Found([(first, last) for first, last, _ in _REGION.iter_unpack(raw)], min(end, until))

    def runs(self, start: int, end: int) -> list[Run]:
        """All runs in memory between two addresses, at most a window apart; AbsentError or none once the process is gone, DeniedError."""
        if self.can_skip:
            return self.scan(start, end).runs
        try:
            raw = os.pread(self._file, (end - start) // PAGE_BYTES * _ENTRY_BYTES, start // PAGE_BYTES * _ENTRY_BYTES)
        except OSError as error:
            if error.errno == errno.EFAULT:  # beyond the end of what a process can address
                return []
            raise as_host_error(error, self._path) from error
        present = raw[_ENTRY_BYTES - 1 :: _ENTRY_BYTES].translate(_IN_MEMORY)
        return [(start + one.start() * PAGE_BYTES, start + one.end() * PAGE_BYTES) for one in _RUN.finditer(present)]

    def frames(self, addresses: Sequence[int]) -> list[int]:
        """The frame of each page; 0 where it is not in memory, or this user may not know (CAP_SYS_ADMIN). One short read a page."""
        found = []
        for address in addresses:
            try:
                raw = os.pread(self._file, _ENTRY_BYTES, address // PAGE_BYTES * _ENTRY_BYTES)
            except OSError as error:
                raise as_host_error(error, self._path) from error
            entry = int.from_bytes(raw, sys.byteorder)
            found.append(entry & _FRAME if entry >> 63 else 0)
        return found
