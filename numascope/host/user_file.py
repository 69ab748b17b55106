"""A file that the user names: regular, bounded, and every reason why not in one sentence."""

from __future__ import annotations

import os
import stat

from numascope.errors import InputError
from numascope.host.text import safe_text


def read_user_file(path: str, most_bytes: int, what: str) -> bytes:
    """The file's bytes; InputError, in which `what` names what was expected (`bind plan`)."""
    shown = safe_text(path)
    try:
        return _contents(path, shown, most_bytes, what)
    except FileNotFoundError:
        raise InputError(shown, f"there is no such file: give the path of a {what}") from None
    except PermissionError:
        raise InputError(shown, "not readable by this user: copy it, or run as its owner") from None
    except ValueError:
        raise InputError(shown, f"no path has a zero byte in it: give the path of a {what}") from None
    except OSError as failure:
        raise InputError(shown, f"cannot be read: {failure.strerror}") from None


def _contents(path: str, shown: str, most_bytes: int, what: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        state = os.fstat(descriptor)
        if stat.S_ISDIR(state.st_mode):
            raise InputError(shown, f"is a directory: give the path of the {what} itself")
        if not stat.S_ISREG(state.st_mode):
            raise InputError(shown, f"is no regular file: write the {what} to a file first")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(most_bytes + 1) if state.st_size <= most_bytes else None
    finally:
        os.close(descriptor)
    if data is None or len(data) > most_bytes:
        raise InputError(shown, f"is over {most_bytes >> 20} MiB: no {what} is that large, is it the right file")
    return data
