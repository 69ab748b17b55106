"""What is written for those who read it: by their own rules, and where they are installed by themselves."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from processes import OWN_CPUS
from shapes import Shape, machine

from numascope.plan.dialects.draft import Scene
from numascope.plan.given import read_plan
from numascope.plan.write.forms import Written, converted
from numascope.plan.write.outline import Setting

HOST = machine(Shape(2, 1, 4, 2))
PAIRED = machine(Shape(2, 1, 2, 2, 2))


def turned(form: str, text: str, command: tuple[str, ...] = ()) -> Written:
    return converted(read_plan("bind.json", text.encode(), Scene(HOST)), form, Setting(HOST, command))


def test_a_preferred_set_of_nodes_is_one_node_for_numactl_and_systemd_which_the_kernel_heeds_alone() -> None:
    own = """{"numascope": 1, "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa"}, "bind_cpu": {"device0": {"any": "0"}},
    "bind_memory": {"device0": {"policy": "preferred", "nodes": "0-1"}}}"""
    for form in ("numactl", "torchrun"):
        done = turned(form, own)
        assert "numactl --physcpubind=0 --preferred=0 " in done.text
        assert list(map(str, done.lost)) == [
            "bind.json:2:32: memory of device0 (node 0-1): numactl prefers one node, the first is written"
        ]
    done = turned("systemd", own)
    assert done.text.splitlines()[-2:] == ["NUMAPolicy=preferred", "NUMAMask=0"]
    assert [str(one).rpartition(": ")[2] for one in done.lost] == ["systemd prefers one node, the first is written"]
    newer = turned("numactl", own.replace("preferred", "weighted-interleave"))
    assert "numactl 2.0.16 (Debian 12) refuses --weighted-interleave" in newer.doubts[0]


def test_what_systemd_would_put_into_a_command_is_kept_from_it() -> None:
    assert (
        turned("systemd", "taskset -c 0 x", command=("echo", "${HOME}", "a$b"))
        .text.splitlines()[1]
        .endswith("echo '$${HOME}' 'a$$b'")
    )


def test_kubernetes_asks_for_whole_cores_and_no_single_node_where_a_rank_spans_nodes() -> None:
    def text(cpus: str) -> list[str]:
        plan = read_plan("lines", f"taskset -c {cpus} x".encode(), Scene(PAIRED))
        return converted(plan, "kubernetes", Setting(PAIRED)).text.splitlines()

    near = text("1-3")
    assert "# topologyManagerPolicy: single-numa-node" in near
    assert '# reservedSystemCPUs: "0,4-15"' in near
    assert '      limits: {cpu: "4", memory: MEMORY}' in near
    assert "# 3 CPUs are no whole cores, which full-pcpus-only asks for: 4 are" in near
    assert "# topologyManagerPolicy: best-effort" in text("3-4")


@pytest.mark.live
def test_systemd_itself_takes_the_drop_in(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    lines = b"numactl -C 0,2-3 -i 0-1 x"
    for text in (lines, lines.replace(b"-i 0-1", b"-l"), lines.replace(b"-i 0-1", b"-p 1"), b"taskset -c 1 x"):
        written_text = converted(read_plan("lines", text, Scene(PAIRED)), "systemd", Setting(PAIRED)).text
        (tmp_path / "rank@0.service").write_text("[Service]\nExecStart=/bin/true\n")
        drop_in = tmp_path / "rank@0.service.d" / "numascope.conf"
        drop_in.parent.mkdir(exist_ok=True)
        drop_in.write_text(written_text)
        done = subprocess.run(
            ["systemd-analyze", "verify", str(tmp_path / "rank@0.service")], capture_output=True, text=True, check=False
        )
        assert "numascope.conf" not in done.stderr + done.stdout


@pytest.mark.live
@pytest.mark.parametrize("form", ["numactl", "taskset", "torchrun"])
def test_a_line_run_by_its_tool_binds_to_the_planned_cpu(form: str, tmp_path: Path) -> None:
    if shutil.which("numactl") is None or shutil.which("taskset") is None:
        pytest.skip("numactl or taskset is not installed")
    command = ("grep", "Cpus_allowed_list", "/proc/self/status")
    text = turned(form, f"taskset -c {OWN_CPUS[-1]} x", command).text
    script = tmp_path / "bind.sh"
    script.write_text(text)
    words = ["env", "LOCAL_RANK=0", "sh", str(script), *(command if form == "torchrun" else ())]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == str(OWN_CPUS[-1])


SOURCE = """#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void) {
  int cpus[64] = {0}, threads = 0;
#pragma omp parallel
  { cpus[omp_get_thread_num()] = sched_getcpu();
#pragma omp single
    threads = omp_get_num_threads(); }
  for (int at = 0; at < threads; at++) printf("%d ", cpus[at]);
  return 0;
}
"""


@pytest.mark.live
@pytest.mark.parametrize("form", ["omp-places", "gomp"])
def test_libgomp_puts_a_thread_on_each_planned_cpu_in_order(form: str, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source, program = tmp_path / "places.c", tmp_path / "places"
    source.write_text(SOURCE)
    if subprocess.run(["gcc", "-fopenmp", "-o", program, source], capture_output=True, check=False).returncode:
        pytest.skip("gcc has no OpenMP here")
    cpus = sorted(OWN_CPUS)[:2]
    line = turned(form, f"taskset -c {','.join(map(str, cpus))} x", (str(program),)).text.splitlines()[1]
    done = subprocess.run(["env", *shlex.split(line)], capture_output=True, text=True, check=True)
    assert [int(one) for one in done.stdout.split()] == cpus
