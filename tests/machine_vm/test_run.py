"""`numascope run` on several nodes: mask and memory policy of the started process, and what the guest's kernel refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from machine_vm.guest import cpuset, offline

pytestmark = [pytest.mark.vm("four-node")]

LOOK = """
import json, os, time
block = bytearray(8 << 20)
for at in range(0, len(block), 4096): block[at] = 1
lines = open("/proc/self/numa_maps").read().splitlines()
pages = {}
for line in lines:
    if "anon=" in line:
        for word in line.split():
            if word[0] == "N" and "=" in word:
                node, count = word[1:].split("=")
                pages[node] = pages.get(node, 0) + int(count)
print(json.dumps({"cpus": sorted(os.sched_getaffinity(0)), "policy": lines[0].split()[1], "pages": pages}))
"""
MOST_PAGES = 1_500
"""Of the 2,048 pages that the looker fills."""


def run(folder: Path, plan: str, *options: str) -> subprocess.CompletedProcess[str]:
    path = folder / "plan"
    path.write_text(plan)
    command = [
        sys.executable,
        "-m",
        "numascope",
        "run",
        "--plan",
        str(path),
        *options,
        "--",
        sys.executable,
        "-c",
        LOOK,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("line", "device", "cpus", "policy", "node"),
    [
        ("numactl -C 4-5 -m 2 x", "0", [4, 5], "bind:2", "2"),
        ("numactl --cpunodebind=3 --preferred=3 x", "0", [12, 13, 14, 15], "prefer:3", "3"),
        ("numactl -m 1 x", "0", list(range(16)), "bind:1", "1"),
    ],
)
def test_the_started_process_has_its_cpus_and_its_pages_where_they_were_planned(
    line: str, device: str, cpus: list[int], policy: str, node: str, tmp_path: Path
) -> None:
    done = run(tmp_path, line, "--device", device)
    found = json.loads(done.stdout)
    assert (found["cpus"], found["policy"]) == (cpus, policy), done.stderr
    assert found["pages"][node] >= MOST_PAGES


def test_it_does_what_numactl_does_with_the_same_options(tmp_path: Path) -> None:
    line = ["numactl", "-C", "9", "--interleave=0,2"]
    theirs = subprocess.run([*line, sys.executable, "-c", LOOK], capture_output=True, text=True, check=True).stdout
    ours = run(tmp_path, " ".join([*line, "x"]), "--device", "0").stdout
    assert {name: json.loads(ours)[name] for name in ("cpus", "policy")} == {
        name: json.loads(theirs)[name] for name in ("cpus", "policy")
    }


def test_a_mindspore_plan_by_nodes_binds_both_to_the_node(tmp_path: Path) -> None:
    plan = {
        "bind_config": {"bind_cpu_mode": "numa", "bind_memory_mode": "numa"},
        "bind_cpu": {"device1": 2},
        "bind_memory": {"device1": 2},
    }
    found = json.loads(run(tmp_path, json.dumps(plan), "--device", "1").stdout)
    assert (found["cpus"], found["policy"]) == ([8, 9, 10, 11], "bind:2")


def test_an_offline_cpu_is_refused_or_left_out_by_name(tmp_path: Path) -> None:
    with offline(5):
        refused = run(tmp_path, "taskset -c 4-5 x", "--device", "0")
        done = run(tmp_path, "taskset -c 4-5 x", "--device", "0", "--fallback")
    assert refused.returncode == 125
    assert "CPU 5 offline; --fallback starts it on CPU 4 alone" in refused.stderr
    assert json.loads(done.stdout)["cpus"] == [4]


def test_a_cpuset_is_named_where_it_stands_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "plan"
    path.write_text("numactl -C 2-6 -m 3 x")
    with cpuset("0-3") as group:
        (group.path / "cpuset.mems").write_text("0-1")
        join = f"echo $$ > {group.path}/cgroup.procs; exec {sys.executable} -m numascope run --plan {path} --device 0"
        refused = subprocess.run(["sh", "-c", f"{join} true"], capture_output=True, text=True, check=False)
        done = subprocess.run(["sh", "-c", f"{join} --fallback -- true"], capture_output=True, text=True, check=False)
    assert refused.returncode == 125
    assert "CPU 4-6 outside the cpuset 0-3; --fallback starts it on CPU 2-3 alone" in refused.stderr
    assert "node 3 outside the cpuset's 0-1; by --fallback it is started without a memory policy" in done.stderr


def test_a_policy_that_linux_6_1_lacks_is_refused_with_the_linux_that_has_it(tmp_path: Path) -> None:
    for options in ((), ("--dry-run",)):
        refused = run(tmp_path, "numactl --weighted-interleave=0-1 x", "--device", "0", *options)
        assert (refused.returncode, refused.stdout) == (125, "")
        assert "older than the policy (Linux 6.9); --fallback starts it without a memory policy" in refused.stderr


def test_several_preferred_nodes_are_not_taken_for_one_silently(tmp_path: Path) -> None:
    many = json.loads(run(tmp_path, "numactl --preferred-many=0-1 x", "--device", "0").stdout)
    assert many["policy"].startswith("prefer")
    plan = {
        "numascope": 1,
        "bind_config": {"bind_cpu_mode": "none", "bind_memory_mode": "numa"},
        "bind_memory": {"device0": {"policy": "preferred", "nodes": "0-1"}},
    }
    refused = run(tmp_path, json.dumps(plan), "--device", "0")
    assert refused.returncode == 125, refused.stdout
    assert "policy preferred of node 0-1 was asked for, the kernel gave node 0; --fallback" in refused.stderr
