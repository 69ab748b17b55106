"""A plan's file: new and whole or not at all, and never over another one unasked."""

from __future__ import annotations

import contextlib
import os
import tempfile

from numascope.errors import InputError
from numascope.host.text import safe_text


def refuse_file(path: str, *, force: bool) -> None:
    """InputError where something of that name is there, which `force` lets a regular file be."""
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(safe_text(path), "is there already: give another name with -o FILE, or --force")
    if not os.path.isfile(path) or os.path.islink(path):
        raise InputError(safe_text(path), "is no regular file: give another name with -o FILE")


def write_plan(path: str, text: str, *, force: bool) -> None:
    """Writes the file, readable by all as a launcher on another account may need it; InputError."""
    refuse_file(path, force=force)
    directory = os.path.dirname(path) or "."
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=directory, prefix=".numascope-plan-", delete=False
        ) as file:
            try:
                file.write(text)
                file.flush()
                os.fchmod(file.fileno(), 0o755 if text.startswith("#!") else 0o644)
                os.fsync(file.fileno())
                _give_name(file.name, path, force=force)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file.name)
    except OSError as error:
        raise InputError(safe_text(path), f"cannot be written: {error.strerror}") from error


def _give_name(temporary: str, path: str, *, force: bool) -> None:
    """A link, unlike a rename, fails where the name has been taken meanwhile; not every file system has links."""
    if not force:
        try:
            os.link(temporary, path)
        except FileExistsError:
            refuse_file(path, force=False)
            raise
        except OSError:
            refuse_file(path, force=False)
        else:
            return
    os.rename(temporary, path)
