"""A plan for whoever starts a rank as a service or in a container: systemd, docker, podman, Kubernetes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from numascope.cpuset import union
from numascope.machine.objects import Machine
from numascope.plan.objects import MemoryPolicy
from numascope.plan.write.launch import PLACEHOLDER
from numascope.plan.write.losses import Losses
from numascope.plan.write.outline import Outline, Part, Setting
from numascope.plan.write.reduce import first_preferred

_NUMA_POLICIES: Final[Mapping[MemoryPolicy, str]] = {
    "bind": "bind", "preferred": "preferred", "interleave": "interleave", "local": "local",
}  # fmt: skip
SYSTEMD_POLICIES: Final[tuple[MemoryPolicy, ...]] = tuple(_NUMA_POLICIES)


def systemd_text(outline: Outline, setting: Setting) -> str:
    """A drop-in for each rank, or with a command a systemd-run line (systemd.exec(5): CPUAffinity, NUMAPolicy, NUMAMask)."""
    blocks = []
    command = [
        word.replace("$", "$$") for word in setting.command
    ]  # systemd itself puts in ${…}, whatever quotes the shell saw
    for part in outline.parts:
        properties = _properties(part)
        if setting.command:
            words = ["systemd-run", "--pty", *(f"--property={one}" for one in properties), *command]
            blocks.append(f"# {part.label}\n{shlex.join(words)}\n")
        else:
            name = f"rank@{part.subject.device}.service.d/numascope.conf"
            blocks.append("\n".join([f"# {part.label}: {name}", "[Service]", *properties, ""]))
    return ("" if setting.command else "\n").join(blocks)


def _properties(part: Part) -> list[str]:
    properties = [f"CPUAffinity={part.cpus}"] if part.cpus else []
    if part.memory is not None:
        properties.append(f"NUMAPolicy={_NUMA_POLICIES[part.policy]}")
        properties += [f"NUMAMask={part.memory}"] if part.memory else []
    return properties


def settle_systemd(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """A unit whose NUMAMask names several preferred nodes ends 242 before it starts (systemd, numa_policy_is_valid)."""
    del machine
    return first_preferred(outline, "systemd", losses)


def container_text(outline: Outline, tool: str, setting: Setting) -> str:
    """`docker run --cpuset-cpus=… --cpuset-mems=… IMAGE COMMAND` for each rank; podman takes the same."""
    lines = []
    for part in outline.parts:
        words = [tool, "run", f"--cpuset-cpus={part.cpus}"]
        words += [] if part.memory is None else [f"--cpuset-mems={part.memory}"]
        lines += [f"# {part.label}", shlex.join([*words, "IMAGE", *(setting.command or PLACEHOLDER)])]
    return "\n".join([*lines, ""])


def container_doubts(outline: Outline) -> Sequence[str]:
    """How a cpuset differs from a mask."""
    del outline
    return (
        "a container's cpuset is a limit that nothing in it can leave, and no policy: memory is refused elsewhere, not preferred here",
    )


def kubernetes_text(outline: Outline, setting: Setting) -> str:
    """What makes the kubelet give each pod CPUs of its own on one node; which ones, it decides itself."""
    most = max((len(part.cpus) for part in outline.parts), default=0)
    per_core = max((len(core.cpus) for core in setting.machine.cores), default=1)
    whole = -(-most // per_core) * per_core
    spans = any(len(setting.machine.nodes_of(part.cpus)) > 1 for part in outline.parts)
    rest = setting.machine.cpus.online - union(part.cpus for part in outline.parts)
    lines = [
        "# kubelet configuration: whole cores to each container, of one NUMA node, with its memory",
        "# cpuManagerPolicy: static",
        f'# reservedSystemCPUs: "{rest}"'
        if rest
        else "# reservedSystemCPUs: the static policy asks for some, and the plan leaves none",
        '# cpuManagerPolicyOptions: {full-pcpus-only: "true"}',
        f"# topologyManagerPolicy: {'best-effort' if spans else 'single-numa-node'}",
        "# memoryManagerPolicy: Static",
    ]
    lines += ["# single-numa-node would admit no rank that spans nodes"] if spans else []
    lines += [f"# {most} CPUs are no whole cores, which full-pcpus-only asks for: {whole} are"] if whole != most else []
    for part in outline.parts:
        near = "" if part.memory is None else f", memory on node {part.memory}"
        lines.append(f"# planned for {part.label}: CPU {part.cpus}{near}")
    command = setting.command or PLACEHOLDER
    lines += [
        "apiVersion: v1", "kind: Pod", "metadata: {name: rank}", "spec:", "  containers:", "  - name: rank", "    image: IMAGE",
        f"    command: [{', '.join(map(_quoted, command))}]", "    resources:",
        "      # equal, whole numbers: only such a pod gets CPUs of its own (class Guaranteed)",
        f'      requests: {{cpu: "{whole}", memory: MEMORY}}', f'      limits: {{cpu: "{whole}", memory: MEMORY}}',
    ]  # fmt: skip
    return "\n".join([*lines, ""])


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def kubernetes_doubts(outline: Outline) -> Sequence[str]:
    """What Kubernetes cannot be told."""
    found = [
        "Kubernetes takes no CPU numbers: the kubelet chooses them, these are the settings that keep a rank on one node"
    ]
    if len({len(part.cpus) for part in outline.parts}) > 1:
        found.append("ranks have different numbers of CPUs: the pod asks for the largest")
    return found
