"""Process trees captured from real jobs, as facts and threads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from numascope.cpuset import CpuSet
from numascope.observe.roles import ThreadFacts
from numascope.observe.sample import ProcessFacts

_PROC = re.compile(r"PROC pid=(\d+) ppid=(\d+) pgrp=\d+ sid=(\S+) comm=(.*) threads=(\d+) cmd=(.*)")
_THREAD = re.compile(r"T tid=(\d+) comm='(.*)' allowed=(\S*) mems=\S* psr=\S+ state=\S+ ut=(\d+) st=(\d+) start=(\d+)")
_TICK_NS = 10_000_000


class Captured(NamedTuple):
    """What a capture holds: facts by pid, threads by pid."""

    facts: dict[int, ProcessFacts]
    threads: dict[int, list[ThreadFacts]]


def read_mindspore(path: Path) -> Captured:
    """A capture in text: a PROC line, its environment, a line a thread."""
    facts: dict[int, ProcessFacts] = {}
    threads: dict[int, list[ThreadFacts]] = {}
    pid = 0
    for line in path.read_text().splitlines():
        text = line.strip()
        if found := _PROC.match(text):
            pid = int(found[1])
            sid = int(found[3]) if found[3].isdigit() else 0
            facts[pid] = ProcessFacts(
                pid, int(found[2]), 0, sid, found[4], tuple(found[6].split()), {}, threads=int(found[5])
            )
            threads[pid] = []
        elif text.startswith("env "):
            key, _, value = text[4:].partition("=")
            environ = facts[pid].environ
            assert isinstance(environ, dict)
            environ[key] = value
        elif found := _THREAD.match(text):
            ran = (int(found[4]) + int(found[5])) * _TICK_NS
            threads[pid].append(ThreadFacts(int(found[1]), found[2], int(found[6]), ran, CpuSet.parse(found[3])))
    return Captured(facts, threads)


def read_torch(path: Path) -> Captured:
    """A capture in JSON: a list of processes, each with its threads."""
    facts: dict[int, ProcessFacts] = {}
    threads: dict[int, list[ThreadFacts]] = {}
    for one in json.loads(path.read_text()):
        pid = one["pid"]
        facts[pid] = ProcessFacts(
            pid,
            one["ppid"],
            one["starttime"],
            one["session"],
            one["comm"],
            tuple(one["cmdline"]),
            one["env"],
            threads=len(one["threads"]),
        )
        threads[pid] = [
            ThreadFacts(
                each["tid"],
                each["comm"],
                each["starttime"],
                (each["utime"] + each["stime"]) * _TICK_NS,
                CpuSet.parse(each["cpus"]),
            )
            for each in one["threads"]
        ]
    return Captured(facts, threads)
