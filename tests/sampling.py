"""A sampler of some processes that is closed with the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numascope.host.root import HostRoot
from numascope.observe.sampler import Sampler


@contextmanager
def sampling(*pids: int) -> Iterator[Sampler]:
    """A sampler of these processes and all that they start."""
    sampler = Sampler(HostRoot(), pids)
    try:
        yield sampler
    finally:
        sampler.close()
