from __future__ import annotations

from pathlib import Path

from roots import system_root

from numascope.cpuset import CpuSet
from numascope.host.system.clocks import PolicyRecord, read_policies


def test_policies_are_read_by_number_and_what_is_absent_is_unknown(tmp_path: Path) -> None:
    root = system_root(
        tmp_path,
        {
            "cpu/cpufreq/policy4/affected_cpus": "4 5 6 7\n",
            "cpu/cpufreq/policy4/scaling_governor": "performance\n",
            "cpu/cpufreq/policy4/scaling_driver": "cppc_cpufreq\n",
            "cpu/cpufreq/policy4/scaling_min_freq": "800000\n",
            "cpu/cpufreq/policy4/scaling_max_freq": "2600000\n",
            "cpu/cpufreq/policy4/cpuinfo_min_freq": "200000\n",
            "cpu/cpufreq/policy4/cpuinfo_max_freq": "3000000\n",
            "cpu/cpufreq/policy0/affected_cpus": "0 x\n",
            "cpu/cpufreq/boost": "1\n",
        },
    )
    assert read_policies(root) == (
        PolicyRecord(0, None, None, None, None, None, None, None),
        PolicyRecord(4, CpuSet.span(4, 7), "performance", "cppc_cpufreq", 800_000, 2_600_000, 200_000, 3_000_000),
    )
