"""What users type of a plan, as values: sets of CPUs, roles with their sizes, positions; and which options go with which policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

import click

from numascope.errors import UsageError
from numascope.host.text import safe_text

if TYPE_CHECKING:
    from numascope.cpuset import CpuSet
    from numascope.machine.objects import Machine

_Body = TypeVar("_Body", bound=Callable[..., None])

TORCH: Final = ("node", "socket", "exclusive", "core-complex")
POLICIES: Final = ("balanced", "msrun", *TORCH)

FORM_NAMES: Final = (
    "mindspore", "numascope", "msrun", "torchrun", "torch_npu", "mindformers", "vllm", "rankfile", "slurm", "numactl", "taskset",
    "omp-places", "gomp", "systemd", "docker", "podman", "kubernetes",
)  # fmt: skip
"""What a plan can be written in: the names of `plan/write/forms.py`, here so that help needs no import of it."""

DIALECT_NAMES: Final = (
    "mindspore", "numascope", "msrun", "torch", "torch_npu", "mindformers", "vllm", "rankfile", "slurm", "numactl", "taskset",
)  # fmt: skip
"""What a plan can be read from: the names of `plan/dialects/detect.py`."""

_OF_POLICY: Final[Mapping[str, tuple[str, ...]]] = {
    "--roles": ("balanced",), "--smt": ("balanced",), "--reserve": ("balanced",), "--busy": ("balanced",),
    "--avoid-busy": ("balanced",), "--strict-torch": TORCH, "--device-ids": ("msrun",), "--device-count": ("msrun",),
    "--runtime-range": ("msrun",), "--minddata-range": ("msrun",), "--main-range": ("msrun",),
    "--scheduler-range": ("msrun",), "--pynative-range": ("msrun",), "--scheduler-base": ("msrun",),
}  # fmt: skip
"""Options that only some policies heed: with another one they are refused, none is left unheeded."""

_ROLE = re.compile(r"([a-z][a-z0-9_]{0,30})=([0-9]{1,6})")
_SLOT = re.compile(r"\s*([0-9]{1,6})-([0-9]{1,6})\s*")
_MOST_ROLES: Final = 32


def machine_options(body: _Body) -> _Body:
    """The ways to another machine than this one, as `numascope topo` has them."""
    for option in (
        click.option("--synthetic", default=None, metavar="TEXT", help='A machine in words: "package:2 l3:2 core:4 pu:2".'),
        click.option("--xml", default=None, metavar="FILE", help="hwloc's XML, version 2."),
        click.option("--inside", default=None, metavar="DIR", help="Which machine of an archive that holds several."),
        click.option("--capture", default=None, metavar="FILE", help="An archive of one: numascope capture's, or hwloc's."),
        click.option("--root", default=None, metavar="DIR", help="A directory with a copy of another machine's /sys and /proc."),
    ):  # fmt: skip
        body = option(body)
    return body


def check_policy(policy: str, given: Mapping[str, object]) -> None:
    """UsageError where an option was given that this policy does not heed."""
    for name, value in given.items():
        if value not in (None, False) and policy not in _OF_POLICY[name]:
            owners = _OF_POLICY[name]
            of = "torch's modes" if owners == TORCH else owners[0]
            raise UsageError(f"{name} is for --policy {of}: leave it out with --policy {policy}")


def cpu_list(name: str, text: str, machine: Machine) -> CpuSet:
    """CPUs as the user lists them; UsageError where there is none of that number, or none at all."""
    from numascope.cpuset import BadIdListError, CpuSet

    try:
        cpus = CpuSet.parse(text)
    except BadIdListError as error:
        raise UsageError(f"{name} {error}") from None
    strange = cpus - machine.cpus.present
    if not cpus or strange:
        raise UsageError(f"{name} {strange or 'is an empty list'}: this machine has the CPUs {machine.cpus.present}")
    return cpus


def role_sizes(text: str | None) -> Mapping[str, int] | None:
    """`main=7,runtime=5` as role → CPUs; UsageError."""
    if text is None:
        return None
    from numascope.plan.dialects.roles import KNOWN
    from numascope.plan.source import nearest

    found: dict[str, int] = {}
    for piece in text.split(","):
        matched = _ROLE.fullmatch(piece.strip())
        if matched is None or int(matched[2]) < 1 or matched[1] == "any":
            raise UsageError(
                f'--roles: "{safe_text(piece.strip()[:40])}" is no role with its CPUs: give main=7,runtime=5'
            )
        if matched[1] not in KNOWN:
            raise UsageError(
                f'--roles: there is no role "{matched[1]}"{nearest(matched[1], KNOWN)}: docs/roles.md has all'
            )
        if matched[1] in found:
            raise UsageError(f"--roles: {matched[1]} is there twice: name each role once")
        found[matched[1]] = int(matched[2])
        if len(found) > _MOST_ROLES:
            raise UsageError(f"--roles: more than {_MOST_ROLES} roles: give those of one rank")
    return found


def slot(name: str, text: str | None, usual: tuple[int, int]) -> tuple[int, int]:
    """`4-8` as two positions; UsageError."""
    if text is None:
        return usual
    matched = _SLOT.fullmatch(text)
    if matched is None or int(matched[1]) > int(matched[2]):
        raise UsageError(f'{name} "{safe_text(text[:40])}": give two positions, the lower first, such as 4-8')
    return int(matched[1]), int(matched[2])
