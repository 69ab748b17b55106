"""What a capture holds: the files and links of /sys and /proc by name. What is not listed here is never read for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from numascope.host.archive import reduce
from numascope.host.pci.address import PCI_DIRECTORY
from numascope.host.pci.kfd import KFD_DIRECTORY as _KFD
from numascope.host.system.lists import CPU_DIRECTORY as _CPU
from numascope.host.system.lists import NODE_DIRECTORY as _NODE
from numascope.host.system.memory import DAX_DEVICES, NVIDIA_GPUS, TIERS


class Kept(NamedTuple):
    """Of every directory that matches: the files, and the links as they are written.

    In names `#` stands for a number, `@` for a PCI address, `~` for the rest of a name.
    """

    directory: str
    files: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    reduced: Callable[[bytes], bytes] | None = None
    """What is kept of the contents of these files; None: all."""


PCI: Final = f"{PCI_DIRECTORY}/@"

_IDS: Final = ("physical_package_id", "die_id", "cluster_id", "core_id", "book_id", "drawer_id", "core_type")
_LEVELS: Final = (
    "thread_siblings", "core_siblings", "core_cpus", "cluster_cpus", "die_cpus", "package_cpus",
    "book_siblings", "drawer_siblings",
)  # fmt: skip
_CACHE: Final = (
    "level", "type", "size", "id", "shared_cpu_map", "shared_cpu_list", "coherency_line_size", "number_of_sets",
    "ways_of_associativity", "physical_line_partition", "allocation_policy", "write_policy",
)  # fmt: skip
_FREQUENCY: Final = (
    "affected_cpus", "related_cpus", "scaling_governor", "scaling_driver", "scaling_min_freq", "scaling_max_freq",
    "cpuinfo_min_freq", "cpuinfo_max_freq", "base_frequency", "energy_performance_preference",
)  # fmt: skip
_HUGE_PAGES: Final = ("nr_hugepages", "free_hugepages", "surplus_hugepages", "resv_hugepages")

PCI_FILES: Final = (
    "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "revision",
    "numa_node", "local_cpulist", "local_cpus",
)  # fmt: skip
"""Files that the kernel answers from memory; `config` and the link speeds would wake a device that sleeps."""

KEPT: Final = (
    # Processors (Documentation/ABI/testing/sysfs-devices-system-cpu). Not `ppin`, a serial number.
    Kept(_CPU, ("possible", "present", "online", "offline", "isolated", "nohz_full", "kernel_max", "dispatching")),
    Kept(f"{_CPU}/smt", ("active", "control")),
    Kept(f"{_CPU}/cpu#", ("online", "cpu_capacity", "polarization", "address", "configure", "l#_~"), ("node#",)),
    Kept(
        f"{_CPU}/cpu#/topology",
        (*_IDS, *_LEVELS, *(f"{level}_list" for level in _LEVELS)),
    ),
    Kept(f"{_CPU}/cpu#/cache/index#", _CACHE),
    Kept(f"{_CPU}/cpufreq", ("boost",)),
    Kept(f"{_CPU}/cpufreq/policy#", _FREQUENCY),
    Kept(f"{_CPU}/cpu#/cpufreq", _FREQUENCY),
    Kept(f"{_CPU}/cpu#/acpi_cppc", ("highest_perf", "nominal_perf", "lowest_perf", "nominal_freq")),
    Kept(f"{_CPU}/cpu#/regs/identification", ("midr_el1",)),
    Kept(f"{_CPU}/intel_pstate", ("status", "no_turbo")),
    Kept(f"{_CPU}/amd_pstate", ("status",)),
    *(Kept(f"sys/devices/cpu_{kind}", ("cpus",)) for kind in ("core", "atom", "lowpower")),
    # Memory (Documentation/ABI/stable/sysfs-devices-node, admin-guide/mm/numaperf.rst)
    Kept(_NODE, ("possible", "online", "has_~")),
    Kept(f"{_NODE}/node#", ("cpulist", "cpumap", "meminfo", "distance", "numastat"), ("cpu#",)),
    Kept(f"{_NODE}/node#/hugepages/hugepages-#kB", _HUGE_PAGES),
    Kept(f"{_NODE}/node#/memory_side_cache/index#", ("size", "line_size", "indexing", "write_policy")),
    Kept(
        f"{_NODE}/node#/access#/initiators",
        ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth"),
        ("node#",),
    ),
    Kept(f"{_NODE}/node#/access#/targets", (), ("node#",)),
    Kept(f"{TIERS}/memory_tier#", ("nodelist", "nodes")),
    Kept(f"{DAX_DEVICES}/dax#.#", ("target_node", "numa_node", "size"), ("driver",)),
    Kept("sys/bus/dax/drivers/kmem", (), ("dax#.#",)),
    Kept("sys/kernel/mm/hugepages/hugepages-#kB", _HUGE_PAGES),
    Kept("sys/kernel/mm/transparent_hugepage", ("enabled", "defrag")),
    Kept("sys/kernel/mm/numa", ("demotion_enabled",)),
    # Devices
    Kept(PCI, (*PCI_FILES, "product_name"), ("driver", "physfn")),
    *(Kept(f"{PCI}/{folder}/~") for folder in ("accel", "drm", "infiniband", "net", "nvme")),
    *(
        Kept(f"sys/class/{name}", (), ("device",))
        for name in ("accel/accel#", "drm/card#", "drm/renderD#", "infiniband/~", "net/~", "nvme/nvme#", "davinci~/~")
    ),
    Kept(f"{_KFD}/#", ("gpu_id", "name")),
    Kept(f"{_KFD}/#", ("properties",), reduced=reduce.kfd_properties),
    *(
        Kept(f"{_KFD}/#/{links}/#", ("properties",), reduced=reduce.kfd_properties)
        for links in ("io_links", "p2p_links")
    ),
    Kept(f"{NVIDIA_GPUS}/@", ("numa_status",)),
    Kept(f"{NVIDIA_GPUS}/@", ("information",), reduced=reduce.nvidia_information),
    # What it runs on
    Kept("sys/hypervisor", ("type",)),
    Kept("sys/class/dmi/id", ("sys_vendor", "product_name")),
    Kept("proc/device-tree/hypervisor", ("compatible",)),
    Kept("run/systemd", ("container",)),
    Kept("", (".dockerenv",), reduced=reduce.nothing),
    Kept("run", (".containerenv",), reduced=reduce.nothing),
    Kept("var/run/secrets/kubernetes.io"),
    Kept("proc", ("sysinfo",), reduced=reduce.sysinfo),
    Kept("proc", ("cpuinfo",), reduced=reduce.cpuinfo),
    Kept("proc", ("meminfo",)),
    Kept("proc", ("stat",), reduced=reduce.stat),
    Kept("proc", ("version",), reduced=reduce.version),
    Kept("proc", ("cmdline",), reduced=reduce.kernel_command_line),
    Kept("proc/sys/kernel", ("ostype", "osrelease", "arch", "numa_balancing", "numa_balancing_~", "sched_~")),
    Kept("proc", ("hwloc-nofile-info",), reduced=reduce.hwloc_information),
)
"""Every directory from the root down; a link on the way is kept too, and what it leads to is kept where that really lies."""
