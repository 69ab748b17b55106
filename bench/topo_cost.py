"""CPU of reading and drawing this machine, against lscpu and, where it is installed, lstopo in the same run."""

from __future__ import annotations

import shutil

from commands import NUMASCOPE, median_cpu_s, ratio, row

TIMES = 7


def main() -> None:
    """Prints the costs and their ratios; numascope's is mostly the interpreter's start."""
    own = median_cpu_s(TIMES, *NUMASCOPE, "topo")
    began = median_cpu_s(TIMES, *NUMASCOPE, "--version")
    print(f"the machine map (median of {TIMES})")
    row("numascope topo", own)
    row("numascope --version: start alone", began)
    for peer in (("lscpu",), ("lstopo-no-graphics",)):
        if shutil.which(peer[0]) is None:
            print(f"  {peer[0]} is not installed: no ratio to it")
            continue
        theirs = median_cpu_s(TIMES, *peer)
        row(peer[0], theirs)
        ratio(f"numascope / {peer[0]}", own / theirs)


if __name__ == "__main__":
    main()
