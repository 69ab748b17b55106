"""Clocks, huge pages, memory speeds, isolation and platform in words: what `topo` says beside the map."""

from __future__ import annotations

from collections.abc import Sequence

from numascope.cpuset import EMPTY, CpuSet
from numascope.machine.objects import Access, FrequencyPolicy, Machine
from numascope.show.topo.words import cache_size, cpu_list, plural, tied


def detail_lines(machine: Machine) -> list[str]:
    """What is told below a drawing of the machine: clocks, huge pages, memory tiers and speeds."""
    return [*clock_lines(machine), *huge_page_lines(machine), *tier_lines(machine), *access_lines(machine)]


def platform_words(machine: Machine) -> list[str]:
    """`under kvm`, `in a docker container`, and which files of /proc lxcfs stands in for."""
    hypervisor, container, lxcfs = machine.platform
    words = []
    if hypervisor is not None:
        words.append("under a hypervisor" if hypervisor == "unnamed" else f"under {hypervisor}")
    if container is not None:
        words.append("in a container" if container == "unnamed" else f"in a {container} container")
    if lxcfs:
        words.append(f"lxcfs stands in for {', '.join(lxcfs)}")
    return words


def isolation_words(machine: Machine) -> list[str]:
    """What else than `isolcpus` keeps work away from CPUs."""
    cpus = machine.cpus
    sets = (("nohz_full", cpus.nohz_full), ("rcu_nocbs", cpus.rcu_nocbs), ("isolated partition", cpus.partitioned))
    return [f"{name}: {cpu_list(found)}" for name, found in sets if found]


def clock_lines(machine: Machine) -> list[str]:
    """The governors with their limits, CPUs that are alike together."""
    alike: dict[tuple[str, str], CpuSet] = {}
    for policy in machine.policies:
        key = (policy.governor or "governor ?", _limits(policy))
        if key == ("governor ?", ""):
            continue
        alike[key] = alike.get(key, EMPTY) | policy.cpus
    if not alike:
        return []
    drivers = dict.fromkeys(policy.driver for policy in machine.policies if policy.driver)
    by = f" by {', '.join(drivers)}" if drivers else ""
    if len(alike) == 1:
        ((governor, limits),) = alike
        return [f"clocks: {governor}{limits}{by}"]
    each = (tied(f"{governor}{limits} on {cpu_list(cpus)}") for (governor, limits), cpus in alike.items())
    return [f"clocks{by}: {'; '.join(each)}"]


def _limits(policy: FrequencyPolicy) -> str:
    """`, 0.8-3.5 GHz`, and what the processor could where it may not."""
    if policy.min_khz is None or policy.max_khz is None:
        return ""
    limits = f", {policy.min_khz / 1e6:.1f}-{policy.max_khz / 1e6:.1f} GHz"
    could = policy.hardware_max_khz
    return f"{limits} of {could / 1e6:.1f}" if could is not None and could > policy.max_khz else limits


def huge_page_lines(machine: Machine) -> list[str]:
    """The pools of huge pages that hold pages, nodes that are alike together."""
    alike: dict[str, list[int]] = {}
    for node in machine.nodes:
        pools = [
            f"{pool.total:,} × {cache_size(pool.size_kib)}{'' if pool.free is None else f', {pool.free:,} free'}"
            for pool in node.huge_pages
        ]
        if pools:
            alike.setdefault("; ".join(pools), []).append(node.id)
    return [f"huge pages: {tied(pools)} on {_nodes(numbers)}" for pools, numbers in alike.items()]


def access_lines(machine: Machine) -> list[str]:
    """What the firmware says of reaching each node's memory from the initiators that reach it best."""
    alike: dict[tuple[str, CpuSet | None], list[int]] = {}
    for node in machine.nodes:
        best = node.access[0] if node.access else None
        if best is not None and (words := _access_words(best)):
            alike.setdefault((words, None if best.initiators == CpuSet.of([node.id]) else best.initiators), []).append(
                node.id
            )
    return [
        f"memory of {_nodes(numbers)}: {tied(f'{words} from {_whom(initiators, len(numbers))}')}"
        for (words, initiators), numbers in alike.items()
    ]


def _whom(initiators: CpuSet | None, count: int) -> str:
    """Who reaches it so; None: a node's own CPUs."""
    if initiators is None:
        return "its own CPUs" if count == 1 else "their own CPUs"
    return _nodes(list(initiators))


def _access_words(access: Access) -> str:
    latencies = [value for value in (access.read_latency_ns, access.write_latency_ns) if value is not None]
    bandwidths = [value for value in (access.read_bandwidth_mib, access.write_bandwidth_mib) if value is not None]
    words = []
    if latencies:
        words.append(f"{'/'.join(str(value) for value in dict.fromkeys(latencies))} ns")
    if bandwidths:
        scale, unit = (1, "MiB/s") if min(bandwidths) < 1024 else (1024, "GiB/s")
        words.append(f"{'/'.join(f'{value / scale:,.0f}' for value in dict.fromkeys(bandwidths))} {unit}")
    return ", ".join(words)


def tier_lines(machine: Machine) -> list[str]:
    """The kernel's memory tiers, the fastest first, where there are several."""
    tiers: dict[int, list[int]] = {}
    for node in machine.nodes:
        if node.tier is not None:
            tiers.setdefault(node.tier, []).append(node.id)
    if len(tiers) < 2:
        return []
    return [f"memory tiers, fastest first: {'; '.join(_nodes(tiers[tier]) for tier in sorted(tiers))}"]


def _nodes(numbers: Sequence[int]) -> str:
    return f"{'node' if len(numbers) == 1 else 'nodes'} {CpuSet.of(numbers)}"


def offline_node_words(machine: Machine) -> list[str]:
    """Nodes that could come; a hypervisor that leaves room for dozens is no news where the machine has one."""
    offline = machine.nodes_offline
    return [f"{plural(len(offline), 'node')} offline"] if offline and len(machine.nodes) > 1 else []
