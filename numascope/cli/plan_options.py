"""The options of the verbs of plans: those that several share, which go with which policy, and what users type as values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Final, TypeVar

import click

from numascope.cli.arguments import FilePath
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


def machine_options(body: Callable[..., None]) -> Callable[..., None]:
    """The ways to another machine than this one, as `numascope topo` has them; `body` gets all of them as `wanted`."""

    @wraps(body)
    def with_wanted(
        *,
        root: str | None,
        capture: str | None,
        inside: str | None,
        xml: str | None,
        synthetic: str | None,
        **given: object,
    ) -> None:
        from numascope.cli.machine_source import Wanted

        body(wanted=Wanted(root, capture, inside, xml, synthetic), **given)

    for option in (
        click.option("--synthetic", default=None, metavar="TEXT", help='A machine in words: "package:2 l3:2 core:4 pu:2".'),
        click.option("--xml", default=None, metavar="FILE", help="hwloc's XML, version 2."),
        click.option("--inside", default=None, metavar="DIR", help="Which machine of an archive that holds several."),
        click.option("--capture", default=None, metavar="FILE", help="An archive of one: numascope capture's, or hwloc's."),
        click.option("--root", default=None, metavar="DIR", help="A directory with a copy of another machine's /sys and /proc."),
    ):  # fmt: skip
        option(with_wanted)
    return with_wanted


def device() -> Callable[[_Body], _Body]:
    """`--device`: which devices there are, and where they sit."""
    return click.option(
        "--device", "devices", multiple=True, metavar="N=WHERE", help="0=PCI-ADDRESS or 0=node:N; as found without."
    )


def output() -> Callable[[_Body], _Body]:
    """`--output`: the file that a plan is written to."""
    return click.option(
        "--output", "-o", "path", type=FilePath(), default=None, help="A new file; standard output without."
    )


def force() -> Callable[[_Body], _Body]:
    """`--force`: that file may be there already."""
    return click.option("--force", is_flag=True, help="Write over a file that is there.")


def indent() -> Callable[[_Body], _Body]:
    """`--indent`: how far the JSON of a plan is indented."""
    return click.option(
        "--indent", type=click.IntRange(0, 16), default=2, metavar="N", help="Of the JSON; 2 by default."
    )


def check_policy(policy: str, given: Mapping[str, object]) -> None:
    """UsageError where an option was given that this policy does not heed."""
    for name, value in given.items():
        if value not in (None, False) and policy not in _OF_POLICY[name]:
            owners = _OF_POLICY[name]
            of = "torch's modes" if owners == TORCH else owners[0]
            raise UsageError(f"{name} is for --policy {of}: leave it out with --policy {policy}")


def refuse_command(form: str, command: Sequence[str]) -> None:
    """UsageError where a command was given that this form has no place for."""
    from numascope.plan.write.forms import FORMS

    if command and not FORMS[form].has_command:
        raise UsageError(
            "a COMMAND is for --to numactl, taskset or torchrun, or others that start ranks: leave it out, or give such a form"
        )


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


def role_sizes(text: str | None, option: str = "--roles", what: str = "CPUs") -> Mapping[str, int] | None:
    """`main=7,runtime=5` as role → number; UsageError, which names the option and what its numbers count."""
    if text is None:
        return None
    from numascope.plan.dialects.roles import KNOWN
    from numascope.plan.objects import WHOLE_PROCESS
    from numascope.plan.source import nearest

    found: dict[str, int] = {}
    for piece in text.split(","):
        matched = _ROLE.fullmatch(piece.strip())
        if matched is None or int(matched[2]) < 1 or matched[1] == WHOLE_PROCESS:
            raise UsageError(
                f'{option}: "{safe_text(piece.strip()[:40])}" is no role with its {what}: give main=7,runtime=5'
            )
        if matched[1] not in KNOWN:
            raise UsageError(
                f'{option}: there is no role "{matched[1]}"{nearest(matched[1], KNOWN)}: docs/roles.md has all'
            )
        if matched[1] in found:
            raise UsageError(f"{option}: {matched[1]} is there twice: name each role once")
        found[matched[1]] = int(matched[2])
        if len(found) > _MOST_ROLES:
            raise UsageError(f"{option}: more than {_MOST_ROLES} roles: give those of one rank")
    return found


def slot(name: str, text: str | None, usual: tuple[int, int]) -> tuple[int, int]:
    """`4-8` as two positions; UsageError."""
    if text is None:
        return usual
    matched = _SLOT.fullmatch(text)
    if matched is None or int(matched[1]) > int(matched[2]):
        raise UsageError(f'{name} "{safe_text(text[:40])}": give two positions, the lower first, such as 4-8')
    return int(matched[1]), int(matched[2])
