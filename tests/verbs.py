"""numascope as a user starts it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys


def numascope(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb without a terminal, with more in its environment; what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "numascope", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
        env={**os.environ, **environ},
    )
