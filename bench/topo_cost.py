"""CPU of reading and drawing a machine, against lstopo (and of this one lscpu) in the same run; and the dearest imports."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from commands import NUMASCOPE, median_cpu_s, ratio, row
from trees import write_tree

TIMES = 9
MACHINES = (
    (256, "package:2 node:1 l3:8 core:8 pu:2", "at most 5"),
    (512, "package:2 node:4 l3:4 core:8 pu:2", "at most 3"),
    (2048, "package:4 node:4 l3:8 core:8 pu:2", "at most 3"),
)
LSTOPO = "lstopo-no-graphics"


def main() -> None:
    """Prints the costs of this machine and of larger ones, their ratios, and the dearest imports."""
    bare = median_cpu_s(TIMES, sys.executable, "-c", "pass")
    own = median_cpu_s(TIMES, *NUMASCOPE, "topo")
    print(f"the machine map (median of {TIMES}; a bare interpreter's start, {1000 * bare:.1f} ms, is taken off)")
    row("numascope topo, this machine", own - bare)
    for peer in ("lscpu", LSTOPO):
        if shutil.which(peer) is None:
            print(f"  {peer} is not installed: no ratio to it")
            continue
        theirs = median_cpu_s(TIMES, peer)
        row(peer, theirs)
        ratio(f"numascope / {peer}", (own - bare) / theirs)
    if shutil.which(LSTOPO) is not None:
        for cpus, words, promise in MACHINES:
            _larger(cpus, words, promise, bare)
    _imports()


def _larger(cpus: int, words: str, promise: str, bare: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), words)
        own = median_cpu_s(TIMES, *NUMASCOPE, "topo", "--root", folder) - bare
        environ = {"HWLOC_FSROOT": folder, "HWLOC_THISSYSTEM": "0", "HWLOC_COMPONENTS": "linux,stop"}
        theirs = median_cpu_s(TIMES, LSTOPO, "--of", "console", **environ)
    row(f"numascope topo --root, {cpus:,} CPUs", own)
    row(f"{LSTOPO} of the same files", theirs)
    ratio("numascope / lstopo", own / theirs, promise)


def _imports() -> None:
    """The dearest modules of `topo`, as python -X importtime has them."""
    command = [sys.executable, "-X", "importtime", "-m", "numascope", "topo"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = []
    for line in done.stderr.splitlines():
        _, _, cells = line.partition("import time:")
        own, _, name = (cell.strip() for cell in cells.split("|")) if cells.count("|") == 2 else ("", "", "")
        if own.isdecimal():
            found.append((int(own), name))
    print(f"  imports: {sum(own for own, _ in found) / 1000:.1f} ms, the dearest")
    for own, name in sorted(found, reverse=True)[:12]:
        print(f"    {own / 1000:6.1f} ms  {name}")


if __name__ == "__main__":
    main()
