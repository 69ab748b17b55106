"""Tests that run inside an emulated machine: `make test-vm` boots several and starts pytest in each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_vm.guest import masks_kept, pids_of
from testbed.suites import IN_VM

from numascope.cli.standin_process import StandIn

HERE = Path(__file__).resolve().parent


def pytest_configure(config: pytest.Config) -> None:
    """Names the marker of these tests."""
    config.addinivalue_line("markers", "vm(*machines): runs in the test bed, on these machines only")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what is not meant for the machine that we are on, before any fixture is made for it."""
    machine = os.environ.get(IN_VM)
    for item in items:
        if item.path.parent != HERE:
            continue
        marker = item.get_closest_marker("vm")
        wanted = () if marker is None else marker.args
        if machine is None:
            item.add_marker(pytest.mark.skip(reason="runs in an emulated machine: make test-vm"))
        elif wanted and machine not in wanted:
            item.add_marker(pytest.mark.skip(reason=f"is for {', '.join(wanted)}"))


@pytest.fixture(scope="module")
def running_job() -> Iterator[StandIn]:
    """The stand-in job, one for all tests of a module."""
    with StandIn() as job:
        yield job


@pytest.fixture
def job(running_job: StandIn) -> Iterator[StandIn]:
    """The stand-in job; masks that a test sets are put back after it."""
    with masks_kept(pids_of(running_job.launcher_pid)):
        yield running_job
