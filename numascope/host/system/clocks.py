"""Clocks of CPUs as cpufreq sets them: one directory for the CPUs whose clock is set together."""

from __future__ import annotations

from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.lists import CPU_DIRECTORY, numbers_of, read_value

POLICIES: Final = f"{CPU_DIRECTORY}/cpufreq"


class PolicyRecord(NamedTuple):
    """One `policyN` directory (Documentation/admin-guide/pm/cpufreq.rst); None where the file is absent."""

    number: int
    cpus: CpuSet | None
    governor: str | None
    driver: str | None
    min_khz: int | None
    max_khz: int | None
    hardware_min_khz: int | None
    hardware_max_khz: int | None


def read_policies(root: HostRoot) -> tuple[PolicyRecord, ...]:
    """Every frequency policy by rising number; none under most hypervisors."""
    return tuple(_read_policy(root, number) for number in numbers_of(root, POLICIES, "policy"))


def _read_policy(root: HostRoot, number: int) -> PolicyRecord:
    directory = f"{POLICIES}/policy{number}"
    return PolicyRecord(
        number,
        read_value(root, f"{directory}/affected_cpus", parse.spaced_ids),
        read_value(root, f"{directory}/scaling_governor", parse.text),
        read_value(root, f"{directory}/scaling_driver", parse.text),
        read_value(root, f"{directory}/scaling_min_freq", parse.decimal),
        read_value(root, f"{directory}/scaling_max_freq", parse.decimal),
        read_value(root, f"{directory}/cpuinfo_min_freq", parse.decimal),
        read_value(root, f"{directory}/cpuinfo_max_freq", parse.decimal),
    )
