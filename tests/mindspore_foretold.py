"""What numascope foretells of the inputs whose answers are kept: values of the command line, and bind JSONs."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from mindspore_inputs import BOX, CASES, READ, WHOLE
from plans import loaded
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.plan.check.judged import Judgement, View
from numascope.plan.check.msrun_affinity import affinities_of
from numascope.plan.check.msrun_judge import judge
from numascope.plan.dialects.draft import Scene
from numascope.plan.dialects.mindspore import MODULES
from numascope.plan.dialects.msrun_options import Options, read_msrun_options
from numascope.plan.dialects.words import Word
from numascope.plan.given import read_plan
from numascope.plan.json_reader import Value, read_json
from numascope.plan.load import parse_plan

TAKEN = "taken"


def compact(document: object) -> bytes:
    """A document as the measured files were written."""
    return json.dumps(document, separators=(",", ":")).encode()


def value_of(document: object) -> Value:
    """A document as the judge reads it."""
    return read_json("bind.json", json.dumps(document).encode())


def judged(document: object, view: View = BOX) -> Judgement:
    """MindSpore's course over a document, on the machine on which the answers were taken unless said otherwise."""
    return judge(value_of(document), view)


def ended(judgement: Judgement) -> str | None:
    """The exception that ends msrun before a worker runs."""
    problem = judgement.first("reads", "checks", "starts")
    return None if problem is None else f"!{problem.kind}"


def of_kind(answer: str) -> str:
    """An answer of which only the exception counts."""
    return answer if answer.startswith("!") else TAKEN


def core_value(tried: str) -> object:
    """A value of --bind_core: taken by the command line or not."""
    try:
        read_msrun_options("line", Options(Word(tried.removeprefix("bind_core "), 1, 1)), {}, {})
    except InputError as refusal:
        is_later = "is the unified bind JSON" in str(refusal)  # which ends msrun a step later, with ValueError
        return TAKEN if is_later else "!ArgumentTypeError"
    return TAKEN


def numa_value(tried: str) -> object:
    """A value of --bind_numa: taken or not, or what the environment then has as the file's hash."""
    name, _, is_environment = tried.removeprefix("bind_numa ").partition(" ")
    if name.startswith(("hash", "CRLF")):
        text = json.dumps(WHOLE, indent=1).replace("\n", "\r\n" if name == "CRLF" else "\n").encode()
        return TAKEN if parse_plan("p", text).text_sha256 == hashlib.sha256(text).hexdigest() else "False"
    if name in ("true", '{"device0":["0"]}'):
        read_msrun_options("line", Options(None, Word(name, 1, 1)), {}, {})
        return None if is_environment else TAKEN
    is_taken = name in READ and judged(READ[name]).first("reads") is None
    if name not in READ:
        assert _is_refused(name)
    if is_environment:
        return hashlib.sha256(compact(READ[name])).hexdigest()[:12] if is_taken else None
    return TAKEN if is_taken else "!ArgumentTypeError"


def _is_refused(name: str) -> bool:
    try:
        if name == "b_bad.json":
            parse_plan(name, b"{")
        else:
            loaded({"b_dir.json": "/", "nope.json": "/nope.json"}[name])
    except InputError:
        return True
    return False


def numa_answer(answer: str) -> object:
    """The recorded form of `numa_value`."""
    if answer.startswith("{'MSRUN_BIND_FILE'"):
        return ast.literal_eval(answer)["MSRUN_BIND_FILE_HASH"]
    return answer if answer == "False" else of_kind(answer)


def launch(tried: str) -> object:
    """A bind JSON: what ends msrun, or what stands before the commands of the scheduler and of two workers."""
    judgement = judged(CASES[tried])
    return ended(judgement) or prefixes(judgement, ("scheduler", "device0", "device1"))


def prefixes(judgement: Judgement, processes: Sequence[str]) -> list[str]:
    """The words before the command of each process."""
    return [" ".join(judgement.prefixes.get(process, ())) for process in processes]


def commands(answer: str) -> object:
    """The recorded form of `launch`."""
    if answer.startswith("!"):
        return answer
    return [one.removesuffix(" a").removesuffix("python train.py").strip() for one in ast.literal_eval(answer)]


def extraction(tried: str) -> object:
    """What set_cpu_affinity(bind_file=…) reads for device 0: CPUs by module, and whether actors are fixed."""
    if tried == "assign":
        return _positions_beyond()
    name = tried.removeprefix("extract ")
    document: Any = CASES.get(name, WHOLE)
    is_under_msrun = name.startswith("with MSRUN_BIND_FILE")
    assert name in CASES or is_under_msrun or name == "without"
    answer = affinities_of(value_of(document), View(), is_under_msrun=is_under_msrun).of(0)
    if answer.exception is not None:
        return f"!{answer.exception}"
    is_fixed = bool(document["bind_config"].get("actor_thread_fix_bind"))
    return {module: str(ids) for module, ids in answer.modules.items()}, is_fixed


def _positions_beyond() -> object:
    device = {"affinity_cpu_list": ["0"], "module_to_cpu_dict": {"main": [0], "runtime": [7]}}
    plan = read_plan(
        "p", json.dumps({"affinity_config": {"device_0": device}}).encode(), Scene(machine(Shape(1, 1, 1, 2)))
    )
    assert "position 7 is beyond" in plan.notes[0].text
    return {"main": "0", "runtime": ""} | {rule.role: str(rule.cpus) for rule in plan.rules}, False


def extracted(answer: str) -> object:
    """The recorded form of `extraction`: indices in a list become CPUs, and modules that no thread belongs to are left out."""
    if answer.startswith("!"):
        return answer
    read = ast.literal_eval(answer)
    if isinstance(read, dict):
        return {module: str(CpuSet.of(ids)) for module, ids in read.items()}, False
    listed, modules, fixed = read
    pool = list(CpuSet.parse(",".join(listed or ())))
    found = {module: str(CpuSet.of(pool[at] for at in ids)) for module, ids in (modules or {}).items()}
    return {module: ids for module, ids in found.items() if module in MODULES}, fixed == "True"
