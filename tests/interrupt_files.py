"""Files of /proc/interrupts as the kernel lays them out, with counts of a test's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

X86 = "  IR-PCI-MSIX-0000:5e:00.0 {irq:4d}-edge      {name}"
ARM = "    GICv3 {irq:3d} Level     {name}"


def interrupts_text(cpus: Sequence[int], devices: Mapping[int, tuple[str, Mapping[int, int]]], tail: str = X86) -> str:
    """`devices`: IRQ → name and CPU → count; a CPU that is not named counts 0."""
    lines = ["           " + "".join(f"CPU{cpu:<8d}" for cpu in cpus)]
    for irq, (name, counts) in devices.items():
        columns = "".join(f"{counts.get(cpu, 0):10d} " for cpu in cpus)
        lines.append(f"{irq:4d}: {columns}{tail.format(irq=irq, name=name)}")
    lines += [
        " LOC: " + "".join(f"{2_086_481:10d} " for _ in cpus) + "  Local timer interrupts",
        " ERR:          0",
    ]
    return "\n".join(lines) + "\n"


def write_interrupts(folder: Path, text: str) -> None:
    """Makes it the /proc/interrupts of a root."""
    (folder / "proc").mkdir(exist_ok=True)
    (folder / "proc/interrupts").write_text(text)
