"""Where the program starts and ends; for a verb that runs for a blink, both are kept short."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from typing import Final

from numascope.errors import InputError

_YOUNG_OBJECTS: Final = 50_000
"""Objects made before the collector looks again: importing alone makes tens of thousands that stay."""

_FAILED: Final = 2
_OUTPUT: Final = "standard output"


def main() -> None:
    """Runs the verb, and ends without taking the interpreter apart, which costs as much as some verbs do."""
    gc.set_threshold(_YOUNG_OBJECTS)
    if sys.stdout is None:  # `>&-`
        _tell(InputError(_OUTPUT, "is closed: open it, or send it to /dev/null"))
        _leave(_FAILED)
    _name_output()
    from numascope.cli import main as run  # noqa: PLC0415  (after the collector was told to wait)

    try:
        run()
    except SystemExit as leave:
        _leave(0 if leave.code is None else leave.code if isinstance(leave.code, int) else 1)
    except OSError:  # not even what went wrong could be written
        _leave(_FAILED)


class _Output(io.FileIO):
    """Standard output, whose failure says what could not be written."""

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]
        """As a file does; InputError, but for a reader that went away."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InputError(_OUTPUT, f"cannot be written: {error.strerror}") from error


def _name_output() -> None:
    """Puts `_Output` below the text that is printed."""
    plain = sys.stdout
    if isinstance(plain, io.TextIOWrapper):
        raw = _Output(plain.fileno(), "wb", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw),
            plain.encoding,
            plain.errors,
            line_buffering=plain.line_buffering or plain.write_through,
        )


def _tell(error: InputError) -> None:
    with contextlib.suppress(OSError):
        print(f"numascope: {error}", file=sys.stderr or io.StringIO())


def _leave(code: int) -> None:
    """Everything was closed by whoever opened it; threads that still work, and whoever traces or profiles, end in the usual way."""
    threading = sys.modules.get("threading")
    is_alone = threading is None or threading.active_count() == 1
    if not is_alone or sys.gettrace() is not None or sys.getprofile() is not None:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except InputError as error:
            if not code:  # else it was told
                _tell(error)
            code = code or _FAILED
        except OSError:  # a reader that has seen enough, or nowhere to tell it
            pass
    os._exit(code)


if __name__ == "__main__":
    main()
