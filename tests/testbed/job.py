"""What one boot is to do, and the folder that tells the guest: its initramfs, the settings and the command."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

HERE: Final = Path(__file__).resolve().parent
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "TERM", "COLORTERM", "VIRTUAL_ENV", "PYTHONPATH")

Accelerator = Literal["kvm", "tcg"]


@dataclass(frozen=True, slots=True)
class Job:
    """A command, the machine to run it on, and how."""

    machine: str
    command: tuple[str, ...]
    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    timeout_s: float = 300.0
    out: str | None = None
    """An existing folder that the guest may write to."""
    tty: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    disguises: tuple[str, ...] = ()
    """PCI devices with other ids in /sys, each `ADDRESS=VENDOR:DEVICE:CLASS`."""
    kernel_arguments: str = ""
    qemu_arguments: tuple[str, ...] = ()


def _cpio(entries: Iterable[tuple[str, int, bytes]]) -> bytes:
    """An initramfs of (name, mode, content), in the format "newc" (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    archive = bytearray()
    for inode, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        header = "070701" + "".join(f"{field:08x}" for field in fields) + name + "\0"
        for part in (header.encode(), content):
            archive += part
            archive += bytes(-len(archive) % 4)
    return bytes(archive)


def _initramfs(guest: Path) -> bytes:
    entries = [(name, 0o40755, b"") for name in ("bin", "modules")]
    entries.append(("init", 0o100755, (HERE / "init").read_bytes()))
    entries.append(("bin/busybox", 0o100755, (guest / "busybox").read_bytes()))
    entries += [(f"modules/{path.name}", 0o100644, path.read_bytes()) for path in sorted((guest / "modules").iterdir())]
    return _cpio(entries)


def lay_out(job: Job, guest: Path, folder: Path) -> None:
    """Fills the folder that the guest shares with us."""
    (folder / "initramfs").write_bytes(_initramfs(guest))
    columns, rows = shutil.get_terminal_size()
    settings: dict[str, object] = {"OUT": job.out or "", "DISGUISES": " ".join(job.disguises)}
    settings |= {"TTY": "1" if job.tty else "", "ROWS": rows, "COLUMNS": columns}
    (folder / "settings").write_text("".join(f"{key}={shlex.quote(str(value))}\n" for key, value in settings.items()))
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | dict(job.environment)
    command = shlex.join([*(f"{key}={value}" for key, value in environment.items()), *job.command])
    (folder / "command").write_text(f"cd {shlex.quote(os.getcwd())} && exec env -i {command}\n")
    shutil.copy(HERE / "main", folder)
