"""Starting and ending the stand-in job, so that nothing of it stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from numascope.cli import standin
from numascope.cli.demo_plan import demo_plan
from numascope.cpuset import BadIdListError, CpuSet
from numascope.errors import NumascopeError
from numascope.host.root import HostRoot

_READY_WITHIN_S: Final = 30.0
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")
"""What the job gets of the user's environment: it is shown on screens, and nothing else of it is needed."""


class StandIn:
    """A running stand-in job, as a context manager; it also ends on its own when this process does, however that ends."""

    def __init__(self, for_s: float = 3600.0) -> None:
        self.for_s = for_s
        self.plan_path = ""
        self.launcher_pid = 0
        self.escape: str | None = None
        """Which thread leaves the plan, in words; None where no CPU is left to escape to."""
        self._launcher: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Writes the plan into a private directory, starts the job, and returns when every thread has its name and its CPUs."""
        directory = Path(tempfile.mkdtemp(prefix=standin.DIRECTORY_PREFIX))
        plan = directory / standin.PLAN_NAME
        allowed = os.sched_getaffinity(0)
        with contextlib.closing(HostRoot()) as host:
            document = demo_plan(sorted(allowed), nodes_of(host))
        plan.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        outside = standin.cpu_outside(standin.read_plan(plan), standin.ESCAPED_DEVICE, allowed)
        if outside is not None:
            self.escape = (
                f"ActorThread_0 of rank {standin.ESCAPED_RANK} runs on CPU {outside}, which its plan does not give it"
            )
        self.plan_path = str(plan)
        command = [sys.executable, "-I", "-S", standin.__file__, "numascope-demo", "launcher"]
        command += [f"--worker_num={standin.RANKS}", f"--local_worker_num={standin.RANKS}", "--join=True"]
        command += [f"--bind_numa={plan}", f"--for={self.for_s}", "--tied"]
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        with (directory / standin.LOG_NAME).open("wb") as log:
            self._launcher = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                process_group=0,
            )
        self.launcher_pid = self._launcher.pid
        if not self._is_ready():
            said = (directory / standin.LOG_NAME).read_text(encoding="utf-8", errors="replace").strip()
            self.stop()
            last = said.splitlines()[-1] if said else "it said nothing"
            raise NumascopeError(f"the stand-in job did not start within {_READY_WITHIN_S:.0f} s: {last}")

    def stop(self) -> None:
        """Ends the job and removes its directory; a second call does nothing."""
        launcher, self._launcher = self._launcher, None
        if launcher is None:
            return
        launcher.terminate()
        try:
            launcher.wait(timeout=10)
        except subprocess.TimeoutExpired:
            launcher.kill()
            launcher.wait()
        for pipe in (launcher.stdin, launcher.stdout):
            if pipe is not None:
                pipe.close()
        standin.remove(Path(self.plan_path))

    def _is_ready(self) -> bool:
        """Every part of the job gives up the pipe when it is ready: the end of it means that all are."""
        launcher = self._launcher
        if launcher is None or launcher.stdout is None:
            return False
        until = time.monotonic() + _READY_WITHIN_S
        while (left := until - time.monotonic()) > 0:
            readable, _, _ = select.select([launcher.stdout], [], [], left)
            if readable and not os.read(launcher.stdout.fileno(), 4096):
                return launcher.poll() is None
        return False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def nodes_of(host: HostRoot) -> list[list[int]]:
    """The CPUs of each NUMA node that has some (`/sys/devices/system/node/node*/cpulist`); empty where the kernel names no nodes."""
    found: list[list[int]] = []
    for name in host.names("sys/devices/system/node"):
        if not name.startswith("node"):
            continue
        text = host.read_if_there(f"sys/devices/system/node/{name}/cpulist") or b""
        try:
            cpus = list(CpuSet.parse(text.decode("ascii", "replace")))
        except BadIdListError:
            continue
        if cpus:
            found.append(cpus)
    return found
