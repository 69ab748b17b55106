"""What a thread is for: a role, how sure that is, and by what evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Confidence = Literal["named", "inferred", "unknown"]


@dataclass(frozen=True, slots=True)
class Role:
    """A role by the words of DESIGN (main, runtime, pynative, minddata, loader, omp, autograd, comm, housekeeping, unnamed …)."""

    name: str
    confidence: Confidence
    evidence: str
