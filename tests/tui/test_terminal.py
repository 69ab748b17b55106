"""A terminal that goes away ends the dashboard, also where no signal comes with it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from processes import program

pytestmark = pytest.mark.live


def test_a_dashboard_whose_terminal_closes_ends_by_itself() -> None:
    keyboard, screen = pty.openpty()
    with program("ready(); sleep()") as child:
        command = [sys.executable, "-m", "numascope", "attach", str(child.pid)]
        # In a session without a controlling terminal nobody sends SIGHUP, as under make or sudo.
        dashboard = subprocess.Popen(command, stdin=screen, stdout=screen, stderr=screen, start_new_session=True)
        try:
            os.close(screen)
            seen = b""
            while b"Overview" not in seen:
                seen += os.read(keyboard, 1 << 16)
            os.close(keyboard)
            dashboard.wait(timeout=30)
        finally:
            dashboard.kill()
            dashboard.wait()
