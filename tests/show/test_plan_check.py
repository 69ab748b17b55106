from __future__ import annotations

import json

import pytest
from captures import MACHINES
from plan_questions import checked, question

from numascope.cpuset import CpuSet
from numascope.host.archive.root import open_archive
from numascope.machine.build import build_machine
from numascope.plan.check.objects import HostFacts, JobFacts
from numascope.review.outcome import FailOn
from numascope.show.canvas import cells
from numascope.show.glyphs import to_ascii
from numascope.show.ink import plain
from numascope.show.plan_check import Told, check_document_json, check_lines, outcome_of_check

NODES = (6, 1, 4, 3, 2, 5, 0, 7)
"""Device → the node that MindSpore's generator gives it on this server."""


DRAWN = """\
bind.json: MindSpore JSON; cpu, numa, fixed actors; 8 devices and scheduler
on this machine: 192 CPUs, 8 nodes, 8 NPUs; cpuset 0-191

warning  bind.json:27:18  mem-missing
  "bind_memory" has no "device3", and "bind_memory_mode" is "numa"
  only its CPUs are bound: its pages go where there is room
  → add "device3": 3

note     bind.json:9:15  idle
  60 CPUs are in no role: 0-3,24-27,44-51,68-75,92-99,116-123,140-147,164-171,188-191
  → nothing to do where they are left to the system

note     bind.json:9:15  slice
  the scheduler's CPUs 20-23 lie beside those of device6, on CPUs that none of its roles has
  device6 has 4-19 on the same node
  → nothing to do: the scheduler hardly runs (with --scheduler-base free it is made apart)

note     bind.json:17:18  dev-far    also 27, 37, 47
  device1 runs on node 1, its device 0000:02:00.0 is near node 6: distance 24
  line 27: device3 runs on node 3, its device 0000:42:00.0 is near node 4: distance 24
  line 37: device5 runs on node 5, its device 0000:82:00.0 is near node 2: distance 24
  line 47: device7 runs on node 7, its device 0000:c2:00.0 is near node 0: distance 24
  → swap the CPUs and memory of device1 and device7, of device3 and device5: each comes nearer

what MindSpore would do: accept it, bind 8 ranks and the scheduler at the start; runtime, minddata
when the job calls set_cpu_affinity(bind_file=…)
0 errors, 1 warning, 3 notes on 5 places
exit 1: findings at or above "warning"
"""


def generated() -> bytes:
    """The generator's plan, the scheduler beside device 6, and no memory for device 3."""
    cpus: dict[str, object] = {"scheduler": {"main": "20-23"}}
    memory = {}
    for device, node in enumerate(NODES):
        first = node * 24
        main, runtime = f"{first + 13}-{first + 19}", f"{first + 4}-{first + 8}"
        cpus[f"device{device}"] = {"runtime": runtime, "minddata": f"{first + 9}-{first + 12}", "main": main}
        if device != 3:
            memory[f"device{device}"] = node
    config = {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": True}
    return json.dumps({"bind_config": config, "bind_cpu": cpus, "bind_memory": memory}, indent=2).encode()


def told(data: bytes, fail_on: FailOn = "warning") -> Told:
    machine = build_machine(open_archive(str(MACHINES / "made-ascend-server" / "host.tar.gz")), details=True)
    machine = machine._replace(source="live")
    asked = question(data, machine)
    return Told(
        checked(data, machine, HostFacts(has_v1_cpuset=True)), asked.owners.plan, machine, asked.cpuset, None, fail_on
    )


def test_the_text_is_as_it_was_drawn() -> None:
    text = [plain(line) for line in check_lines(told(generated()), "bind.json", 100)]
    assert text == DRAWN.splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(cells(line) <= width for line in check_lines(told(generated()), "bind.json", width))


def test_the_text_is_whole_in_ascii() -> None:
    text = "\n".join(plain(to_ascii(line)) for line in check_lines(told(generated()), "bind.json", 80))
    assert text.isascii()
    assert '> add "device3": 3' in text


def test_the_document_counts_what_the_text_counts() -> None:
    one = told(generated())
    document = check_document_json(one, "bind.json")
    assert document["summary"] == {"error": 0, "warning": 1, "info": 3}
    assert document["exit"] == {"code": 1, "reason": 'findings at or above "warning"'}
    assert check_lines(one, "bind.json", 80)[-2][0].text == "0 errors, 1 warning, 3 notes on 5 places"


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("info", 1), ("never", 0)])
def test_the_exit_code_is_by_the_least_finding_that_counts(fail_on: FailOn, code: int) -> None:
    assert outcome_of_check(told(generated(), fail_on)).code == code


def test_a_machine_of_which_part_is_unread_ends_3_where_it_would_end_0() -> None:
    one = told(generated(), "error")
    part = one._replace(machine=one.machine._replace(partial=True))
    assert outcome_of_check(part).code == 3
    assert outcome_of_check(part._replace(fail_on="warning")).code == 1
    assert outcome_of_check(part._replace(checked=part.checked._replace(is_usable=False))).code == 2


def test_a_job_whose_environment_may_not_be_read_is_unread_in_part() -> None:
    job = JobFacts(7, "process", None, None, None, CpuSet.parse("0-191"), None, is_readable=False)
    assert outcome_of_check(told(generated(), "never")._replace(job=job)).code == 3
    assert outcome_of_check(told(generated(), "never")._replace(job=job._replace(is_readable=True))).code == 0


def test_a_long_list_of_cpus_is_broken_behind_its_commas() -> None:
    one = told(generated())._replace(cpuset=CpuSet.of(range(0, 192, 2)))
    head = [plain(line) for line in check_lines(one, "bind.json", 60)][1:5]
    assert head[1].endswith(",")
    assert not any(line.startswith(",") for line in head)
