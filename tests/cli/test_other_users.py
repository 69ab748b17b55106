"""What the verbs say of a process that is another user's."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from namespaces import AS_NOBODY, PACKAGE, needs_setpriv, python_for, target_of

from numascope.cli.standin_process import StandIn
from numascope.host.root import HostRoot
from numascope.observe.facts import scan_facts
from numascope.observe.jobs import find_jobs

pytestmark = pytest.mark.live

SITE = str(Path(pytest.__file__).resolve().parent.parent)
ATTACH = """
import sys
package, site, pid = sys.argv[1:]
sys.path[:0] = [package, site]
from numascope.cli import main
sys.argv = ["numascope", "attach", pid, "--once", "--for", "200ms"]
sys.exit(main())
"""

THREADS = ATTACH.replace('"attach", pid, "--once", "--for", "200ms"', '"threads", pid, "--json"')


@needs_setpriv
def test_threads_of_a_rank_whose_environment_is_private_is_partial_and_says_so() -> None:
    with StandIn(60.0) as job:
        (rank, *_) = (
            rank.pid
            for one in find_jobs(scan_facts(HostRoot()))
            if one.launcher == job.launcher_pid
            for rank in one.ranks
        )
        done = subprocess.run(
            [*AS_NOBODY, python_for(AS_NOBODY), "-c", THREADS, PACKAGE, SITE, str(rank)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["partial"] is True
    assert document["notes"] == [f"environment of {rank} cannot be read: its rank is unknown"]


@needs_setpriv
def test_attach_says_what_of_another_users_process_it_could_not_read_and_ends_3() -> None:
    with target_of((), "thread(sleep); ready(); sleep()") as child:
        done = subprocess.run(
            [*AS_NOBODY, python_for(AS_NOBODY), "-c", ATTACH, PACKAGE, SITE, str(child.pid)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert "Traceback" not in done.stderr
    assert done.returncode == 3, done.stdout + done.stderr
    words = " ".join(done.stdout.split())
    assert f"environment and memory policy of {child.pid} may not be read: run as uid 0 or as root" in words
    assert "exit 3: clean as far as seen, but part could not be read" in words
