"""What numascope foretells of msrun's objects, of `true`, and of hosts that lack something."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence

from large_machines import kunpeng
from mindspore_foretold import commands, ended, judged, prefixes, value_of
from mindspore_inputs import BOX, READ, WHOLE, cpus, main, memory
from plan_questions import document, question, rules
from shapes import Shape, machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.errors import InputError
from numascope.machine.objects import Machine, Node
from numascope.observe.jobs.devices import mindspore_device
from numascope.plan.check.job import job_faults
from numascope.plan.check.judged import View
from numascope.plan.check.launch import launcher_refusals, linked_file, unread_cpuset
from numascope.plan.check.msrun_affinity import affinities_of
from numascope.plan.check.objects import HostFacts, JobFacts
from numascope.plan.given import read_command_line
from numascope.plan.make.lscpu import unread_nodes
from numascope.plan.make.made import NoPlanError
from numascope.plan.make.msrun_auto import auto_cores, auto_nodes
from numascope.plan.make.seats import Seat, found_seats
from numascope.plan.objects import SCHEDULER, Plan, Subject
from numascope.plan.owners import owners_of

_BOX = machine(Shape(1, 1, 1, 2))
"""Two CPUs, one node: where the answers were taken."""

_SEATS: Sequence[Seat] = [Seat(at, None, node, node) for at, node in enumerate((6, 6, 4, 4, 2, 2, 0, 0))]

_TWO = {"device0": ["0"], "device1": ["1"]}
_LINES: Mapping[str, tuple[object, object]] = {
    "ordered": ({"scheduler": ["0"], **_TWO}, None),
    "swapped": ({"device1": ["1"], "device0": ["0"]}, None),
    "only device1": ({"device1": ["1"]}, None),
    "unavail": ({"device0": ["9"]}, None),
    "empty": ({"device0": [], "device1": ["1"]}, None),
    "numa dict": (None, {"device0": ["0"], "device1": ["0"]}),
    "numa dict+core dict": (_TWO, {"scheduler": ["0"], "device0": ["0"], "device1": ["0"]}),
    "numa True+core True": ("True", "True"),
    "core True": ("True", None),
}


def _command(core: object, numa: object, variables: str = "") -> str:
    given = {"bind_core": core, "bind_numa": numa}
    texts = {name: one if isinstance(one, str) else json.dumps(one) for name, one in given.items() if one is not None}
    options = " ".join(f"--{name}='{text}'" for name, text in texts.items())
    return f"{variables} msrun --worker_num=2 --local_worker_num=2 {options} train.py".strip()


def _words(plan: Plan, subject: Subject) -> str:
    """The command that binds this process as the plan says."""
    rule = next((one for one in plan.rules if one.subject == subject), None)
    nodes = next((one.nodes for one in plan.memory if one.subject == subject), None)
    if nodes is not None:
        by_cpu = rule is not None and rule.nodes is None
        return f"numactl --membind {nodes} " + (
            f"--physcpubind {rule.cpus}" if rule and by_cpu else f"--cpunodebind {nodes}"
        )
    return "" if rule is None else f"taskset -c {rule.cpus}"


def _of_line(line: str) -> object:
    try:
        plan = read_command_line("line", line.encode(), _BOX)
    except InputError as refusal:
        return f"!{'ValueError' if 'ValueError' in str(refusal) else 'ArgumentTypeError'}"
    if any("msrun ends with RuntimeError" in note.text for note in plan.notes):
        return "!RuntimeError"
    return [_words(plan, one) for one in (SCHEDULER, Subject(0), Subject(1))]


def ordered(tried: str) -> object:
    """Msrun's objects and `true` on a machine of two CPUs; a bind JSON beside them goes before."""
    if tried == "json + bind_core":
        return prefixes(judged(main("0")), ("scheduler", "device0", "device1"))
    if tried == "no-bind_config dict":
        return ended(judged(READ["b_nocfg.json"]))
    return _of_line(_command(*_LINES[tried]))


def alone(tried: str) -> object:
    """`true` where no device is seen."""
    if tried == "_get_cpu_info":
        return "!RuntimeError" if unread_nodes(_BOX) else {}
    number = 3 if tried == "equal 3 of 8" else int(tried.rsplit(maxsplit=1)[-1])
    if "numa" in tried:
        return _lists(auto_nodes(_BOX, (), number))
    on = machine(Shape(1, 1, 1, 8)) if tried.endswith("of 8") else _BOX
    return _lists(auto_cores(on, on.cpus.online, (), number))


def _lists(found: Mapping[int, CpuSet]) -> object:
    return {number: list(ids) for number, ids in found.items()}


def plain(answer: str) -> object:
    """An answer as the value that it is."""
    return answer if answer.startswith("!") else ast.literal_eval(answer)


def visible(tried: str) -> object:
    """ASCEND_RT_VISIBLE_DEVICES, sorted, from a rank's environment and before msrun."""
    ranks = [{"ASCEND_RT_VISIBLE_DEVICES": "5,3", "DEVICE_ID": str(at)} for at in range(3)]
    devices = [mindspore_device(one)[0] for one in ranks]
    if tried == "mock Ascend":
        return devices[:2]
    if tried == "exceeds":
        return "!RuntimeError" if devices[2] is None else devices[2]
    if tried == "sim level 1":
        return mindspore_device({**ranks[1], "MS_SIMULATION_LEVEL": "1"})[0]
    if tried == "prefix":
        judgement = judged(cpus({"device3": {"main": "0"}, "device5": {"main": "1"}}))
        return prefixes(judgement, ("scheduler", *(f"device{one}" for one in devices[:2])))
    assert tried == "bad env"
    return _of_line(_command("True", None, "ASCEND_RT_VISIBLE_DEVICES=3,x"))


def visibly(answer: str) -> object:
    """The recorded form of `visible`."""
    return commands(answer) if "train.py" in answer else plain(answer)


def lacking(tried: str) -> object:
    """A host without a tool, or without cgroup v1's list of CPUs: what ends msrun, `False` where it goes on and binds nobody."""
    tools = {tool: f"{tool} missing" not in tried for tool in ("numactl", "taskset")}
    host = HostFacts(has_v1_cpuset=None if "missing" in tried else False, tools=tools)
    view = BOX._replace(tools=tools, has_cpuset_file=host.has_v1_cpuset)
    if tried.startswith("json"):
        wanted = {"json numa mode": cpus({"device0": 0}, "numa"), "json, numactl missing": memory({"device0": 0})}
        return ended(judged(wanted.get(tried, main("0")), view))
    core, numa = (None, {"device0": ["0"]}) if "bind_numa" in tried else (_TWO if "dict" in tried else "True", None)
    if tried == "avail":
        return "[]" if any(one.is_host for one in judged(main("0"), view).problems) else None
    if tried == "set_cpu_affinity strategy":
        return affinities_of(value_of(WHOLE), view._replace(cpus=EMPTY)).of(0).modules or None
    plan = read_command_line("line", _command(core, numa).encode(), _BOX)
    asked = question(document({}), _BOX, host)._replace(owners=owners_of(plan, _BOX, ()))
    found = (*launcher_refusals(asked), *unread_cpuset(asked))
    return "False" if any("binds nobody" in line for one in found for line in one.evidence) else None


def lacked(answer: str) -> object:
    """The recorded form of `lacking`; a document stands for what is taken."""
    return None if answer.startswith("{") else answer


def of_large(tried: str) -> object:
    """A machine of eight nodes of 24 CPUs, with eight NPUs near every second node; and nodes that lscpu tells otherwise."""
    on = kunpeng()
    if tried == "device map":
        return [seat.number for seat in found_seats(on, ("npu",), None).seats]
    if tried.startswith("auto bind_numa"):
        return _nodes_of_large(on, 4 if tried.endswith("workers 4") else 8)
    if tried.startswith("auto bind_core") and "interleaved" not in tried:
        allowed = CpuSet.span(0, 95) if tried.endswith("0-95") else on.cpus.online
        return _texts(auto_cores(on, allowed, _SEATS, 8))
    if tried == "device8 key":
        return ended(judged(cpus({"device8": {"main": "0"}}), BOX._replace(highest_device=7)))
    if tried == "memory-only node in lscpu":
        return "!RuntimeError" if unread_nodes(on._replace(nodes=(*on.nodes, Node(8, EMPTY, 1, None)))) else None
    if tried == "HT ranges":
        both = machine(Shape(2, 1, 1, 24, 2))
        return str(unread_nodes(both)) or {node.id: str(node.cpus) for node in both.nodes}
    odd = interleaved()
    if tried.startswith("interleaved"):
        return "!RuntimeError" if unread_nodes(odd) else None
    assert tried == "auto bind_core on interleaved box"
    return _texts(auto_cores(odd, odd.cpus.online, [Seat(at, None, at % 2, at % 2) for at in range(8)], 8))


def interleaved() -> Machine:
    """Two nodes, one of the even and one of the odd CPUs."""
    on = machine(Shape(2, 1, 1, 4))
    halves = [CpuSet.of(range(at, 8, 2)) for at in range(2)]
    nodes = tuple(node._replace(cpus=half) for node, half in zip(on.nodes, halves, strict=True))
    return on._replace(nodes=nodes, node_of={cpu: cpu % 2 for cpu in range(8)})


def _nodes_of_large(on: Machine, workers: int) -> object:
    part = on if workers == 8 else on._replace(nodes=on.nodes[:4])
    try:
        return _lists(auto_nodes(part, _SEATS, workers))
    except NoPlanError as error:
        return f"!{'StopIteration' if 'StopIteration' in str(error) else error}"


def _texts(found: Mapping[int, CpuSet]) -> object:
    return {number: str(ids) for number, ids in found.items()}


def consistent(tried: str) -> object:
    """The file that set_cpu_affinity is given, against the one that msrun was given."""
    if tried == "relative path, numa mode":
        answer = affinities_of(value_of(cpus({"device0": 0}, "numa")), View()).of(0)
        return answer.exception or answer.modules or None
    data = json.dumps(WHOLE).encode()
    if tried == "symlink to same file":
        return "!ValueError" if linked_file(question(data, _BOX, HostFacts(is_link=True))) else None
    is_changed = tried.startswith("content changed")
    launched = data + b" " if is_changed else data
    digest = hashlib.sha256(launched).hexdigest()
    job = JobFacts(1, "mindspore", "/h.json", digest, "/h.json" if is_changed else "/h2.json", None, None)
    found = job_faults(question(data, _BOX, job=job))
    assert rules(found) == [("job-hash", "error") if is_changed else ("job-path", "warning")]
    return (
        "!ValueError"
        if any("set_cpu_affinity(bind_file=…)" in line for one in found for line in one.evidence)
        else None
    )
