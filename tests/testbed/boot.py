"""Booting a guest under QEMU until its command has ended."""

# ruff: noqa: T201  (what a command line says)

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from testbed.job import Accelerator, Job, lay_out
from testbed.machines import MACHINES
from testbed.prepare import QEMU

TIMED_OUT: Final = 124
NO_RESULT: Final = 125
"""Exit statuses of our own: the time ran out, or the machine stopped before the command had ended."""

_KERNEL_ARGUMENTS: Final = (
    "console=ttyS0 loglevel=4 panic=-1 psi=1 mitigations=off "
    "no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
)
"""Emulation is late, not stuck."""

_BOOT_LIMIT_S: Final[dict[Accelerator, float]] = {"kvm": 60, "tcg": 150}
"""For the command to start, before the next attempt: a boot under emulation hangs once in a while."""


def run(job: Job, guest: Path) -> int:
    """The command's exit status, its output passed on as it comes; TIMED_OUT, NO_RESULT."""
    deadline_s = time.monotonic() + job.timeout_s
    for accelerator in _accelerators(job):
        with tempfile.TemporaryDirectory(prefix="testbed-") as folder:
            status = _attempt(job, accelerator, Path(folder), guest, deadline_s)
        if status is not None:
            return status
    return NO_RESULT


def _accelerators(job: Job) -> tuple[Accelerator, ...]:
    """Those to try in turn; without hardware virtualisation /dev/kvm may exist and still boot nothing."""
    if job.accelerator == "kvm":
        return ("kvm",)
    if job.accelerator == "auto":
        hardware = re.search(r"^flags\s*:.*\b(vmx|svm)\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if hardware and os.access("/dev/kvm", os.W_OK):
            return ("kvm", "tcg", "tcg")
    return ("tcg", "tcg")


def _attempt(job: Job, accelerator: Accelerator, folder: Path, guest: Path, deadline_s: float) -> int | None:
    """Boots once; the exit status, or None where the command did not start although there was time."""
    lay_out(job, guest, folder)
    boot_deadline_s = min(deadline_s, time.monotonic() + _BOOT_LIMIT_S[accelerator])
    started, status = folder / "started", folder / "status"
    with _qemu(job, accelerator, folder, guest) as qemu:
        while qemu.poll() is None and time.monotonic() < (deadline_s if started.exists() else boot_deadline_s):
            time.sleep(0.05)
        outcome = "timed out" if qemu.returncode is None else "the machine stopped"
    if status.exists():
        return int(status.read_text())
    for log in (folder / "qemu", folder / "console"):
        if log.exists():
            print(*log.read_text(errors="replace").splitlines()[-20:], sep="\n", file=sys.stderr)
    has_started = started.exists()
    print(f"testbed: {accelerator}: {outcome} {'with' if has_started else 'before'} the command", file=sys.stderr)
    if time.monotonic() > deadline_s:
        return TIMED_OUT
    return NO_RESULT if has_started else None


@contextmanager
def _qemu(job: Job, accelerator: Accelerator, folder: Path, guest: Path) -> Iterator[subprocess.Popen[bytes]]:
    """QEMU, ended on the way out; its end also ends the threads that pass on the command's output."""
    command = list(_command(job, accelerator, folder, guest))
    sinks: list[int] = []
    pumps: list[threading.Thread] = []
    if job.tty:
        command += ["-chardev", "stdio,id=tty,signal=off", "-device", "virtconsole,chardev=tty"]
    else:
        for number, target in enumerate((sys.stdout.buffer, sys.stderr.buffer), start=1):
            source, sink = os.pipe()
            sinks.append(sink)
            pumps.append(threading.Thread(target=_pump, args=(source, target), daemon=True))
            command += ["-add-fd", f"fd={sink},set={number}"]
            command += ["-chardev", f"file,id=out{number},path=/dev/fdset/{number},append=on"]
            command += ["-device", f"virtserialport,chardev=out{number}"]
    with (folder / "qemu").open("wb") as log:
        stdin = None if job.tty else subprocess.DEVNULL
        qemu = subprocess.Popen(command, stdin=stdin, stderr=log, pass_fds=sinks)
    for sink in sinks:
        os.close(sink)
    for thread in pumps:
        thread.start()
    try:
        yield qemu
    finally:
        qemu.terminate()
        try:
            qemu.wait(5)
        except subprocess.TimeoutExpired:
            qemu.kill()
            qemu.wait()
        for thread in pumps:
            thread.join()


def _command(job: Job, accelerator: Accelerator, folder: Path, guest: Path) -> Iterator[str]:
    yield from ("setpriv", "--pdeathsig", "KILL")  # QEMU never outlives us
    yield from (QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot")
    yield from ("-accel", "tcg,thread=multi" if accelerator == "tcg" else accelerator)
    yield from ("-kernel", f"{guest}/kernel", "-initrd", f"{folder}/initramfs")
    yield from ("-append", f"{_KERNEL_ARGUMENTS} {job.kernel_arguments}")
    yield from ("-serial", f"file:{folder}/console", "-device", "virtio-serial-pci")
    yield from _share("/", "root", "readonly=on", "multidevs=remap")
    yield from _share(str(folder), "job")
    if job.out:
        yield from _share(job.out, "out")
    yield from MACHINES[job.machine].qemu_arguments()  # last, lest the devices above land on its buses
    yield from job.qemu_arguments


def _share(path: str, tag: str, *options: str) -> tuple[str, str]:
    return "-virtfs", ",".join(["local", f"path={path}", f"mount_tag={tag}", "security_model=none", *options])


def _pump(source: int, target: BinaryIO) -> None:
    with open(source, "rb", buffering=0) as stream:
        while chunk := stream.read(65536):
            target.write(chunk)
            target.flush()
