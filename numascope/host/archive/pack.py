"""A capture as a small tar.gz: the same machine always gives the same bytes, and a file that is there is never touched."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import tarfile
import tempfile
from typing import IO

from numascope.errors import InputError
from numascope.host import parse
from numascope.host.archive.gather import Capture
from numascope.host.system.lists import CPU_DIRECTORY
from numascope.host.text import safe_text


def usual_name(capture: Capture) -> str:
    """The name of a capture's file, from the architecture and the number of CPUs online: `numascope-capture-x86_64-256cpus.tar.gz`."""
    told = parse.text(capture.files.get("proc/sys/kernel/arch", b""))
    told = told or parse.cpu_architecture(parse.cpuinfo_fields(capture.files.get("proc/cpuinfo", b""))) or "unknown"
    return f"numascope-capture-{re.sub('[^0-9A-Za-z_]', '', told)}-{_online_count(capture)}cpus.tar.gz"


def _online_count(capture: Capture) -> int:
    online = parse.id_list(capture.files.get(f"{CPU_DIRECTORY}/online", b""))
    if online:
        return len(online)
    found = filter(re.compile(rf"{CPU_DIRECTORY}/cpu[0-9]+").fullmatch, capture.directories)
    return sum(1 for path in found if parse.decimal(capture.files.get(f"{path}/online", b"1")) != 0)


def refuse_existing(path: str) -> None:
    """InputError where something of that name is there."""
    if os.path.lexists(path):
        raise InputError(safe_text(path), "is there already: give another name with -o FILE")


def write_capture(capture: Capture, path: str) -> int:
    """Writes a new file, whole or not at all, for its owner alone (mode 0600); its size in bytes. InputError."""
    refuse_existing(path)
    directory = os.path.dirname(path) or "."
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".numascope-capture-", delete=False) as file:
            try:
                _pack(capture, file)
                file.flush()
                os.fsync(file.fileno())
                size = os.fstat(file.fileno()).st_size
                _give_name(file.name, path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file.name)
        _sync(directory)
    except OSError as error:
        raise InputError(safe_text(path), f"cannot be written: {error.strerror}") from error
    return size


def packed(capture: Capture) -> bytes:
    """The same archive in memory, to be kept inside another file."""
    buffer = io.BytesIO()
    _pack(capture, buffer)
    return buffer.getvalue()


def _pack(capture: Capture, file: IO[bytes]) -> None:
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as archive,
    ):
        for path in sorted({*capture.directories, *capture.files, *capture.links}):
            entry = tarfile.TarInfo(path)
            data = capture.files.get(path, b"")
            if path in capture.links:
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, capture.links[path], 0o777
            elif path in capture.files:
                entry.size = len(data)
            else:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry, io.BytesIO(data))


def _give_name(temporary: str, path: str) -> None:
    """A link, unlike a rename, fails where the name has been taken meanwhile; not every file system has links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        refuse_existing(path)
        raise
    except OSError:
        refuse_existing(path)
        os.rename(temporary, path)


def _sync(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
