"""hwloc's own program as the judge of what numascope reads and writes for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from captures import expected, unpack

from numascope.host.root import HostRoot
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine

KEPT = Path(__file__).resolve().parent.parent / "snapshots" / "machines"
SNAPSHOTS = sorted(path.parent.name for path in KEPT.glob("*/about.toml"))
CAPTURES = sorted(expected()) or ["the store is absent"]


def lstopo(*arguments: str, environment: dict[str, str] | None = None) -> tuple[str, str]:
    """What lstopo prints and what it complains of; the test skips where it is not installed."""
    if shutil.which("lstopo-no-graphics") is None:
        pytest.skip("needs lstopo-no-graphics (Debian: hwloc-nox)")
    done = subprocess.run(
        ["lstopo-no-graphics", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HWLOC_DEBUG_CHECK": "1", **(environment or {})},
    )
    return done.stdout, done.stderr if done.returncode == 0 else f"exit {done.returncode}: {done.stderr}"


def xml_of_root(root: Path, into: Path) -> bytes:
    """The XML that lstopo makes from a copy of /sys and /proc; skips where it can make none."""
    environment = {"HWLOC_FSROOT": str(root), "HWLOC_THISSYSTEM": "0", "HWLOC_COMPONENTS": "linux,stop"}
    environment["HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES"] = "1"
    file = into / "machine.xml"
    _, complaint = lstopo("--of", "xml", "--whole-io", "--disallowed", "-f", str(file), environment=environment)
    if not file.is_file():
        pytest.skip(f"hwloc reads nothing from this capture: {complaint.strip()[:80]}")
    return file.read_bytes()


@cache
def machine_of(root: Path) -> Machine:
    """The machine that numascope reads from a root."""
    host = HostRoot(str(root))
    machine = build_machine(host)
    host.close()
    return machine


def snapshot_root(name: str, into: Path) -> Path:
    """The root of a kept machine, unpacked."""
    about = tomllib.loads((KEPT / name / "about.toml").read_text(encoding="utf-8"))
    root: Path = unpack(KEPT / name / about["file"], into) / about["root"]
    return root
