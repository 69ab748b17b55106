"""Whether a rank's memory policy is the planned one; a policy of another process can be seen but not set. Pure."""

from __future__ import annotations

from numascope.cpuset import BadIdListError, CpuSet
from numascope.observe.sample import ProcessFacts

_BINDING_MODES = frozenset({"bind", "prefer", "preferred", "prefer (many)"})


def judge_policy(process: ProcessFacts | None, wanted: CpuSet | None) -> tuple[str, str]:
    """(`ok`, `unbound`, `elsewhere`, `unknown`, or empty where nothing is planned) and where that is known from (numa_maps)."""
    if process is None:
        return ("" if wanted is None else "unknown"), "the process is gone"
    if process.policy is None:
        source = "numa_maps may not be read" if process.policy_denied else "this kernel gives no numa_maps"
        return ("" if wanted is None else "unknown"), source
    source = f"numa_maps of {process.pid}"
    if wanted is None:
        return "", source
    if process.policy == "default":
        return "unbound", source
    mode, _, nodes = process.policy.partition(":")
    try:
        held = CpuSet.parse(nodes)
    except BadIdListError:
        return "unknown", source
    binds = mode.partition("=")[0] in _BINDING_MODES
    return ("ok" if binds and held and held <= wanted else "elsewhere"), source
