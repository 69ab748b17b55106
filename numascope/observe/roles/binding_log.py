"""What a MindSpore worker's own log says of its binding: evidence for threads that have no name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from numascope.cpuset import BadIdListError, CpuSet
from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.host.user_file import read_user_file

_MOST_BYTES: Final = 64 << 20
_POLICY: Final = re.compile(rb"Module bind core policy (?:generated|from msrun)[^{\n]{0,64}\{([^{}\n]{0,65536})\}")
_MODULE: Final = re.compile(rb"'([a-z_]{1,32})': \[([0-9]{1,5}(?:, [0-9]{1,5})*)?\]")


def parse_binding_log(raw: bytes) -> tuple[Mapping[str, CpuSet], ...]:
    """The different policies (module → CPUs) that a log names, in order (`set_cpu_affinity`, mindspore/runtime/thread_bind_core.py)."""
    found: list[Mapping[str, CpuSet]] = []
    for text in dict.fromkeys(_POLICY.findall(raw)):
        try:
            policy = {
                name.decode(): CpuSet.of(map(int, cpus.split(b", "))) for name, cpus in _MODULE.findall(text) if cpus
            }
        except BadIdListError:
            continue
        if policy and policy not in found:
            found.append(policy)
    return tuple(found)


def read_binding_log(path: str) -> Mapping[str, CpuSet]:
    """The one policy of a worker's log; InputError where it names none, or different ones, as the joined log of several workers does."""
    policies = parse_binding_log(read_user_file(path, _MOST_BYTES, "worker's log"))
    shown = safe_text(path)
    if not policies:
        raise InputError(shown, "names no binding: it is no log of a MindSpore worker that called set_cpu_affinity")
    if len(policies) > 1:
        raise InputError(shown, f"names {len(policies)} different bindings: give the log of one worker, worker_N.log")
    return policies[0]
