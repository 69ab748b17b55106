"""The processor's name from py-cpuinfo, where the kernel gives numbers only (aarch64): live, late, and never for long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from numascope.host.text import safe_text

_ASK: Final = (sys.executable, "-m", "cpuinfo", "--json")
_MOST_S: Final = 3.0
"""py-cpuinfo starts several programs and was seen to take seconds."""
_LONGEST: Final = 120


def ask_cpu_name(command: Sequence[str] = _ASK, within_s: float = _MOST_S) -> str | None:
    """The name, safe to print; None where it does not answer in time, is not installed, or knows no name."""
    try:
        done = subprocess.run(  # noqa: S603  (our own interpreter, no shell, nothing of the user's in it)
            command,
            capture_output=True,
            timeout=within_s,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # where we found it, so will it
        )
        told = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    name = told.get("brand_raw") if isinstance(told, dict) else None
    return safe_text(" ".join(name.split())[:_LONGEST]) or None if isinstance(name, str) else None
