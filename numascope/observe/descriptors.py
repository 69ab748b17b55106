"""How many descriptors may be kept."""

from __future__ import annotations

import resource
from typing import Final

_RESERVE: Final = 128


class DescriptorBudget:
    """The soft limit of descriptors is raised as needed, up to the hard one, and put back at the end."""

    def __init__(self) -> None:
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._limit = self._soft
        self._kept = 0

    def take(self) -> bool:
        """Whether one more descriptor may be kept."""
        if self._kept + _RESERVE >= self._limit and not self._raise():
            return False
        self._kept += 1
        return True

    def give_back(self) -> None:
        """One kept descriptor was closed."""
        self._kept -= 1

    def restore(self) -> None:
        """Puts the soft limit back to what it was."""
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._soft, self._hard))

    def _raise(self) -> bool:
        ceiling = self._hard if self._hard != resource.RLIM_INFINITY else 1 << 20
        wanted = min(max(2 * self._limit, 1024), ceiling)
        if wanted <= self._limit:
            return False
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, self._hard))
        self._limit = wanted
        return True
