"""Names of Python's own threads, which reach the kernel from Python 3.14 on (cpython issue 127338, at most 15 bytes)."""

from __future__ import annotations

from typing import Final

from numascope.observe.roles.names import Name

NAMES: Final = (
    Name("QueueFeederThread", "helper", "multiprocessing.Queue"),
    Name("QueueManagerThread", "helper", "concurrent.futures.process"),
    Name("ExecutorManagerThread", "helper", "concurrent.futures.process"),
    Name("ThreadPoolExecutor-", "helper", "concurrent.futures.thread"),
)
