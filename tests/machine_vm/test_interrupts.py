"""A device's interrupts on the CPU that root sent them to (Linux 6.1; NVMe, whose admin queue the kernel does not place itself)."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_vm.guest import SLOW_S

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.interrupts import device_name, read_irq_node, read_table
from numascope.observe.interrupts import Interrupt, InterruptScan

pytestmark = [pytest.mark.vm("two-socket", "four-node")]

QUEUE = "nvme0q0"
LANDS_ON = 6
ADMIN_COMMAND = 0xC0484E41
"""NVME_IOCTL_ADMIN_CMD of include/uapi/linux/nvme_ioctl.h."""


def irq_of(name: str) -> int:
    table = read_table(HostRoot())
    assert table is not None
    return next(irq for irq, line in table.lines.items() if device_name(line, len(table.cpus)) == name)


def address_of(buffer: bytearray) -> int:
    """Where the bytes of a buffer lie in memory."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


@contextlib.contextmanager
def identifying(device: str) -> Iterator[None]:
    """Asks the controller who it is (Identify, opcode 6, CNS 1), again and again: each answer is an interrupt."""
    ended = threading.Event()
    answer = bytearray(4096)
    address = address_of(answer)
    command = struct.pack("<BBHIIIQQIIIIIIIIII", 6, 0, 0, 0, 0, 0, 0, address, 0, 4096, 1, 0, 0, 0, 0, 0, 0, 0)

    def ask() -> None:
        descriptor = os.open(device, os.O_RDWR)
        try:
            while not ended.is_set():
                fcntl.ioctl(descriptor, ADMIN_COMMAND, bytearray(command))
                time.sleep(0.001)
        finally:
            os.close(descriptor)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def on_queue(found: tuple[Interrupt, ...]) -> dict[int, float]:
    return {one.cpu: one.per_s for one in found if one.name == QUEUE}


def test_an_nvme_queue_is_named_on_the_cpu_that_it_was_sent_to() -> None:
    irq = irq_of(QUEUE)
    affinity = Path(f"/proc/irq/{irq}/smp_affinity_list")
    before = affinity.read_text()
    every = CpuSet.span(0, 15)
    affinity.write_text(str(LANDS_ON))
    try:
        with identifying("/dev/nvme0"):
            time.sleep(1.0)  # x86 moves an interrupt when the next one comes
            scan = InterruptScan(HostRoot())
            assert scan.scan(every) == ()
            deadline_s = time.monotonic() + SLOW_S
            while not on_queue(scan.scan(every)) and time.monotonic() < deadline_s:
                time.sleep(0.5)
            found = scan.scan(every)

        assert set(on_queue(found)) == {LANDS_ON}
        assert next(one.irq for one in found if one.name == QUEUE) == irq
        assert scan.cpus_of(irq) == CpuSet.of([LANDS_ON])
        assert scan.node_of(irq) == read_irq_node(HostRoot(), irq)
        assert on_queue(scan.scan(CpuSet.of([LANDS_ON + 1]))) == {}
    finally:
        affinity.write_text(before)
