"""Facts of processes without what may be secret in them: jobs, ranks, roles and findings come out the same. Pure.

Kept is only what is known to say nothing: numbers, the words that the frameworks and OpenMP define, names of options and
programs. Every other value of the environment becomes an alias, the same for equal values, so that what is compared stays
comparable; every other argument becomes `…`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from numascope.host.system.cgroup_load import CgroupLoad
from numascope.observe.jobs.schemes import LAUNCHERS
from numascope.observe.jobs.served import TITLE
from numascope.observe.sample import ProcessFacts

HIDDEN: Final = "…"

_MOST_ALIASES: Final = 1 << 16

# Command lines, as observe.jobs and observe.roles look at them.

_MARKERS: Final = ("compile_worker", "multiprocessing.resource_tracker", "multiprocessing.forkserver")
_BINDING: Final = "--numa-binding"
_BINDING_MODES: Final = frozenset({"node", "socket", "exclusive", "core-complex"})
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_MODULE: Final = re.compile(r"[A-Za-z0-9_.]{1,128}")
_OPTION: Final = re.compile(r"--[A-Za-z][A-Za-z0-9_.-]{0,63}|-[A-Za-z0-9]|--?")

# Environments.

_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}|OMPI_MCA_orte_ess_jobid")
_SECRETIVE: Final = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH")
_ADDRESSES: Final = re.compile(r"_(?:ADDR|HOST|IP|IFNAME|HOSTNAME|ENDPOINT)$|ADDR|HOSTID")
_RUN_IDS: Final = re.compile(r"RUN_ID$|JOB_ID$|COMM_ID$")
_HASHES: Final = re.compile(r"_HASH$")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_BINDS: Final = re.compile(r"OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|CPU_AFFINITY|VLLM_CPU_OMP_")
_LIST: Final = re.compile(r"[-+]?[0-9]{1,9}(?:[-, ]+[0-9]{1,9})*[-, ]*|[0-9]{1,9}\.[0-9]{1,9}| *")
_SEPARATORS: Final = re.compile(r"[ ,;:={}()\[\]*+^!|-]+")
_NPU: Final = re.compile(r"(?:npu|numa|pack|die)[0-9]{1,9}")
_WORDS: Final = frozenset({
    "true", "false", "yes", "no", "on", "off", "enabled", "disabled", "enable", "disable", "none", "close", "spread",
    "master", "primary", "cores", "threads", "sockets", "ll_caches", "numa_domains", "granularity", "fine", "core",
    "thread", "tile", "die", "socket", "node", "package", "group", "compact", "scatter", "balanced", "explicit",
    "proclist", "verbose", "noverbose", "respect", "norespect", "warnings", "nowarnings", "duplicates", "noduplicates",
    "reset", "noreset", "logical", "physical", "static", "dynamic", "guided", "auto", "passive", "active", "infinite",
    "turnaround", "throughput", "serial", "hard", "intel_tbb", "gnu", "ms_worker", "ms_sched", "ms_pserver", "info",
    "warn", "warning", "error", "debug", "trace", "version", "abort", "ring", "tree", "ll", "ll128", "simple", "loc",
    "pix", "pxb", "phb", "sys", "nvl", "collnet", "nvls", "static_cpu", "proc", "k", "m", "g", "all", "void", "nodevfiles"
})  # fmt: skip
_POLICY: Final = re.compile(r"[a-z]+(?:[ =()+|]+[a-z]+)*\)?(?::[0-9,-]*)?")
_LIBRARY: Final = re.compile(r"lib[a-z]{1,16}[0-9]{0,2}")
_QUOTA_FILE: Final = re.compile(r"cpu\.[a-z_.]{1,32}")
_FOLDERS: Final = re.compile(r"[^\s=:'\"]*/")


class Redactor:
    """Redacts the processes of one recording; unchanged facts give the same object, equal values the same alias."""

    def __init__(self) -> None:
        self._aliases: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._known: dict[int, tuple[ProcessFacts, ProcessFacts]] = {}

    def processes(self, processes: Mapping[int, ProcessFacts]) -> Mapping[int, ProcessFacts]:
        """All of a sample's processes, redacted."""
        known: dict[int, tuple[ProcessFacts, ProcessFacts]] = {}
        for pid, one in processes.items():
            old = self._known.get(pid)
            known[pid] = old if old is not None and (old[0] is one or old[0] == one) else (one, self.facts(one))
        self._known = known
        return {pid: redacted for pid, (_, redacted) in known.items()}

    def facts(self, process: ProcessFacts) -> ProcessFacts:
        """One process, redacted."""
        environ = process.environ
        return replace(
            process,
            cmdline=redacted_cmdline(process.cmdline),
            environ=None
            if environ is None
            else {self._name(name): self._value(name, environ[name]) for name in environ},
            policy=None if process.policy is None else process.policy if _POLICY.fullmatch(process.policy) else HIDDEN,
            cgroup=None if process.cgroup is None else self._cgroup(process.cgroup),
            libraries=tuple(name if _LIBRARY.fullmatch(name) else HIDDEN for name in process.libraries),
        )

    def cgroups(self, cgroups: Mapping[str, CgroupLoad]) -> Mapping[str, CgroupLoad]:
        """A sample's cgroups: their names have those of users, pods and containers in them."""
        return {
            self._cgroup(name): load._replace(quota_path=self._quota_path(load.quota_path))
            for name, load in cgroups.items()
        }

    def _cgroup(self, name: str) -> str:
        return name if name == "/" else self._alias("cgroup", name)

    def _quota_path(self, path: str) -> str:
        folder, slash, file = path.rpartition("/")
        return self._alias("path", folder) + slash + (file if _QUOTA_FILE.fullmatch(file) else HIDDEN) if path else ""

    def _name(self, name: str) -> str:
        return name if _NAME.fullmatch(name) else self._alias("name", name)

    def _value(self, name: str, value: str) -> str:
        if _SECRETIVE.search(name):
            return HIDDEN if value else ""
        if _HASHES.search(name) and _DIGEST.fullmatch(value):
            return value  # says which plan it was, and the plan is beside it
        if name == "TORCHELASTIC_ERROR_FILE":
            return self._error_file(value)
        if _ADDRESSES.search(name):
            return self._alias("host", value)
        if _RUN_IDS.search(name):
            return self._alias("id", value)
        if _LIST.fullmatch(value) or _is_of_words(value, binds=_BINDS.match(name) is not None):
            return value
        return self._alias("path" if "/" in value else "id", value)

    def _error_file(self, value: str) -> str:
        """`…/attempt_N/RANK/error.json`: its folder tells a rank's true number."""
        parts = value.split("/")
        if len(parts) < 3 or not parts[-3].startswith("attempt_"):
            return self._alias("path", value)
        attempt = parts[-3] if _is_number(parts[-3].removeprefix("attempt_")) else f"attempt_{HIDDEN}"
        rank = parts[-2] if _is_number(parts[-2]) else HIDDEN
        file = "error.json" if parts[-1] == "error.json" else HIDDEN
        folder = [self._alias("path", "/".join(parts[:-3]))] if parts[:-3] else []
        return "/".join([*folder, attempt, rank, file])

    def _alias(self, kind: str, value: str) -> str:
        """The same for the same value; past 65,536 of them none is remembered and all others are alike."""
        if not value:
            return ""
        found = self._aliases.get((kind, value))
        if found is None:
            if len(self._aliases) >= _MOST_ALIASES:
                return kind + HIDDEN
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            found = self._aliases[kind, value] = f"{kind}{number}"
        return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _is_of_words(value: str, *, binds: bool) -> bool:
    """Whether a value is made of known words and numbers; separators other than `,` and blanks only in variables that bind."""
    if not value.isascii() or (not binds and re.search(r"[^A-Za-z0-9_, ]", value)):
        return False
    words = [word for word in _SEPARATORS.split(value.lower()) if word]
    return all(word in _WORDS or _is_number(word) or _NPU.fullmatch(word) for word in words)


def redacted_cmdline(cmdline: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments: the program, options, a module after `-m` and what tells a role stay, all else becomes `…`."""
    found = [_argument(part) for part in cmdline]
    names = [part.rpartition("/")[2] for part in cmdline[:3]]
    if cmdline and TITLE.fullmatch(cmdline[0]):
        found[0] = cmdline[0]
    elif names and (shown := _program(names[0])):
        marks = _marks(cmdline[0])
        found[0] = f"{marks}/{shown}" if marks else shown
    if len(names) == 3 and names[0].startswith("python") and names[1] == "-m" and _MODULE.fullmatch(cmdline[2]):
        found[2] = cmdline[2]
    for at, part in enumerate(cmdline):
        name, equals, value = part.partition("=")
        if name.replace("_", "-") != _BINDING:
            continue
        if equals and value.replace("_", "-") in _BINDING_MODES:
            found[at] = part
        elif not equals and cmdline[at + 1 : at + 2] and cmdline[at + 1] in _BINDING_MODES:
            found[at + 1] = cmdline[at + 1]
    return tuple(found)


def _program(name: str) -> str:
    """The name of a program, which it may have written itself; empty where it is more than a name."""
    if _PROGRAM.fullmatch(name):
        return name
    return "python" + HIDDEN if name.startswith("python") else ""


def _marks(part: str) -> str:
    """What in an argument tells a role."""
    return "".join(HIDDEN + mark for mark in _MARKERS if mark in part)


def _argument(part: str) -> str:
    """One argument; whether its last component is an option or a launcher stays as it is, for that is what is looked at."""
    name = part.rpartition("/")[2]
    marks = _marks(part)
    if name in LAUNCHERS or name == "-m":
        return f"{marks}/{name}" if marks else name
    if part.startswith("-"):
        option, equals, _ = part.partition("=")
        shown = option if _OPTION.fullmatch(option) else "-" + HIDDEN
        shown += marks or ("=" + HIDDEN if equals else "")
        return shown + ("" if "/" not in part else "/-" if name.startswith("-") else "/" + HIDDEN)
    return "-" + HIDDEN + marks if name.startswith("-") else marks or HIDDEN


def without_folders(text: str) -> str:
    """A sentence or path in which every path is cut down to its last component."""
    return _FOLDERS.sub("", text)
