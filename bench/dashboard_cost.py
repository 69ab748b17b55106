"""CPU of the dashboard on 2,000 threads at 1 Hz in a terminal of 120×40, against `top -H` on the same process in the same run."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import threading
import time

from commands import NUMASCOPE, many_threads, ratio

THREADS = 2_000
SHORT_S, LONG_S = 4, 24


def seconds_in_terminal(command: tuple[str, ...], length_s: float) -> float:
    """CPU of a command that runs so long in a terminal of its own and then gets `q`."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    resize(terminal)
    time.sleep(length_s)
    os.write(terminal, b"q")
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime


def resize(terminal: int) -> None:
    """Makes a terminal 120×40, and reads what is written to it until it is closed."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    threading.Thread(target=_drain, args=(terminal,), daemon=True).start()


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        return


def main() -> None:
    """Prints CPU per second, the start taken off, and the ratio."""
    with many_threads(THREADS, busy=2) as pid:
        attach = (*NUMASCOPE, "attach", str(pid))
        top = ("top", "-H", "-d", "1", "-p", str(pid))
        own, theirs = (
            (seconds_in_terminal(command, LONG_S) - seconds_in_terminal(command, SHORT_S)) / (LONG_S - SHORT_S)
            for command in (attach, top)
        )
    print(f"a dashboard on {THREADS:,} threads at 1 Hz, 120×40")
    print(f"  {'top -H':<44} {100 * theirs:8.1f} % of a CPU")
    print(f"  {'numascope attach':<44} {100 * own:8.1f} % of a CPU")
    ratio("ratio", own / theirs)


if __name__ == "__main__":
    main()
