"""The cgroups of the watched processes: where each stands is read seldom, what they were kept waiting at every look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from numascope.host.root import HostRoot
from numascope.host.system.cgroup_load import CgroupLoad, CgroupPlace, CpuQuota, cgroup_of, quota_of, read_load


class _Known(NamedTuple):
    place: CgroupPlace
    quota: CpuQuota | None


class CgroupWatch:
    """Knows the cgroups that processes were last found in; one thread at a time may use it."""

    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._known: dict[str, _Known] = {}

    def find(self, who: int | str) -> str | None:
        """The name of the cgroup of a process (its pid, or `PID/task/TID` of a thread of it), whose quota is read anew; to be asked seldom."""
        place = cgroup_of(self._root, who)
        if place is None:
            return None
        self._known[place.name] = _Known(place, quota_of(self._root, place))
        return place.name

    def loads(self, names: Collection[str]) -> Mapping[str, CgroupLoad]:
        """The counters now of those of these cgroups that were found; all others are forgotten."""
        self._known = {name: one for name, one in self._known.items() if name in names}
        return {name: read_load(self._root, one.place, one.quota) for name, one in sorted(self._known.items())}
