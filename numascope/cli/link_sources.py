"""Who knows of links beside the bridges of /sys: AMD's driver, NVIDIA's library, and a text that the user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numascope.cli.machine_source import Found
    from numascope.machine.links import Link
    from numascope.machine.objects import Machine
    from numascope.machine.told import Told


class Linked(NamedTuple):
    """A machine with what all sources say of its devices, the links between these, and what the sources disagree on."""

    machine: Machine
    links: tuple[Link, ...]
    doubts: tuple[str, ...]


def linked(found: Found, text: str | None) -> Linked:
    """The machine with its links; `text` is the path of a file that the user gives. InputError where that does not fit."""
    from numascope.machine.links import doubts_of, links_of, links_that_disagree
    from numascope.machine.told import with_claims

    machine = found.machine
    links: list[Link] = []
    for told in told_of(found, text):
        machine = with_claims(machine, told)
        links += told.links
    doubt = links_that_disagree(machine, links)
    notes = machine.notes if doubt is None else (*machine.notes, doubt)
    return Linked(machine._replace(notes=notes), links_of(machine, links), doubts_of(machine, links))


def told_of(found: Found, text: str | None) -> list[Told]:
    """What each source says, the most trusted first; the library is asked on this host only."""
    from numascope.host.pci.kfd import read_kfd
    from numascope.machine.told import told_by_kfd, told_by_nvml, told_by_smi

    machine, root = found
    told = []
    if text is not None:
        from numascope.host.pci.smi import MOST_BYTES, parse_smi
        from numascope.host.text import safe_text
        from numascope.host.user_file import read_user_file

        raw = read_user_file(text, MOST_BYTES, "text of nvidia-smi or npu-smi")
        told.append(told_by_smi(machine, parse_smi(raw, safe_text(text))))
    if root is not None:
        told.append(told_by_kfd(read_kfd(root)))
    if root is not None and root.is_live:
        from numascope.host.pci.nvml import ask_nvml, load_nvml

        library = load_nvml()
        report = None if library is None else ask_nvml(library)
        if report is not None:
            told.append(told_by_nvml(report))
    return told
