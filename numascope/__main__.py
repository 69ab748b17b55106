"""Where the program starts and ends; for a verb that runs for a blink, both are kept short."""

from __future__ import annotations

import gc
import os
import sys

_YOUNG_OBJECTS = 50_000
"""Objects made before the collector looks again: importing alone makes tens of thousands that stay."""


def main() -> None:
    """Runs the verb, and ends without taking the interpreter apart, which costs as much as some verbs do."""
    gc.set_threshold(_YOUNG_OBJECTS)
    from numascope.cli import main as run  # noqa: PLC0415  (after the collector was told to wait)

    try:
        run()
    except SystemExit as leave:
        _leave(0 if leave.code is None else leave.code if isinstance(leave.code, int) else 1)


def _leave(code: int) -> None:
    """Everything was closed by whoever opened it; threads that still work, and whoever traces or profiles, end in the usual way."""
    threading = sys.modules.get("threading")
    is_alone = threading is None or threading.active_count() == 1
    if not is_alone or sys.gettrace() is not None or sys.getprofile() is not None:
        sys.exit(code)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, AttributeError):  # closed, or none at all (`>&-`): what could be said was said
        code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
