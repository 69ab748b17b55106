"""Where the journal lies: ours alone, no link followed, one at a time; and where it cannot be written nothing is changed."""

from __future__ import annotations

import contextlib
import os
import resource
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from steering import SLEEPERS, changes_of, do, here, masks, settle, store_in, undo, watching

from numascope.errors import InputError, UsageError
from numascope.steer.ledger import read_ledger
from numascope.steer.store import NoJournalError, Store, state_path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems and gives files away")


def boot_directory(folder: Path) -> Path:
    return folder / "numascope" / here().boot_id


@contextlib.contextmanager
def tmpfs(folder: Path, options: str) -> Iterator[None]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_user_has_it_in_his_state_home_and_root_in_var_lib() -> None:
    user, root = here(uid=1000), here(uid=0)
    assert state_path(user, {"XDG_STATE_HOME": "/s", "HOME": "/h"}) == ("/s", ("numascope",))
    assert state_path(user, {"HOME": "/h"}) == ("/h", (".local", "state", "numascope"))
    assert state_path(root, {"XDG_STATE_HOME": "/s", "HOME": "/h"}) == ("/var/lib", ("numascope",))
    assert state_path(root, {"NUMASCOPE_STATE": "/s"}) == ("/s", ("numascope",))
    with pytest.raises(UsageError, match="absolute"):
        state_path(user, {"XDG_STATE_HOME": "relative"})
    with pytest.raises(UsageError, match="HOME is not set"):
        state_path(user, {})


def test_only_we_can_enter_and_read(tmp_path: Path) -> None:
    with store_in(tmp_path) as store, store.locked():
        number, descriptor = store.create()
        os.close(descriptor)

    directory = boot_directory(tmp_path)
    modes = [
        stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "numascope", directory, directory / "0001.jsonl", directory / "lock")
    ]
    assert number == 1
    assert modes == [0o700, 0o700, 0o600, 0o600]


def test_nothing_is_made_where_only_reading_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(NoJournalError):
        Store(here(), {"NUMASCOPE_STATE": str(tmp_path)}, create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("linked", ["numascope", "boot"])
def test_a_link_on_the_way_is_refused(tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if linked == "numascope":
        (tmp_path / "numascope").symlink_to(elsewhere)
    else:
        (tmp_path / "numascope").mkdir(mode=0o700)
        boot_directory(tmp_path).symlink_to(elsewhere)
    with pytest.raises(InputError, match="links are not followed"), store_in(tmp_path):
        pass
    assert list(elsewhere.iterdir()) == []


def test_an_entry_or_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        (boot_directory(tmp_path) / "0001.jsonl").symlink_to("/etc/passwd")
        ledger = read_ledger(store)
        assert ledger.entries == ()
        assert "links are not followed" in ledger.damages[0].problem
        (boot_directory(tmp_path) / "lock").symlink_to(tmp_path / "made")
        with pytest.raises(InputError, match="link"), store.locked():
            pass
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_directory_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    with store_in(tmp_path):
        pass
    boot_directory(tmp_path).chmod(mode)
    with pytest.raises(InputError, match="others may write"), store_in(tmp_path):
        pass


@needs_root
def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "numascope").mkdir(mode=0o700)
    os.chown(tmp_path / "numascope", 65534, 65534)
    with pytest.raises(InputError, match="belongs to uid 65534"), store_in(tmp_path):
        pass


def test_the_lock_keeps_a_second_one_out(tmp_path: Path) -> None:
    with (
        store_in(tmp_path) as one,
        store_in(tmp_path) as other,
        one.locked(),
        pytest.raises(InputError, match="another numascope"),
        other.locked(wait_s=0.05),
    ):
        pass


def test_ids_go_on_where_they_were_even_beside_a_torn_file(tmp_path: Path) -> None:
    with store_in(tmp_path) as store, store.locked():
        (boot_directory(tmp_path) / "0041.jsonl").write_bytes(b"{")
        (boot_directory(tmp_path) / "notes.txt").write_bytes(b"not ours to read")
        number, descriptor = store.create()
        os.close(descriptor)
        assert store.ids() == [41, 42]
    assert number == 42


def test_a_home_shared_by_two_hosts_keeps_their_entries_apart(tmp_path: Path) -> None:
    other = here(boot_id="00000000-1111-2222-3333-444444444444", host="other")
    with store_in(tmp_path) as mine, store_in(tmp_path, other) as theirs:
        for store in (mine, theirs):
            with store.locked():
                number, descriptor = store.create()
                os.close(descriptor)
                assert number == 1


@contextlib.contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """A disk that is full there, as far as this process can tell."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.live
@needs_two_cpus
def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    with (
        program(SLEEPERS.format(count=20)) as child,
        watching(tmp_path, child.pid, OWN_CPUS[0]) as session,
        store_in(tmp_path) as store,
    ):
        before = masks(child.pid)
        with files_of_at_most(1500), pytest.raises(InputError, match="nothing is changed"):
            settle(session, store)
        assert masks(child.pid) == before
        assert store.ids() == [], "half a record is no record"


@pytest.mark.live
@needs_two_cpus
def test_a_disk_that_fills_after_the_undo_records_keeps_them(tmp_path: Path) -> None:
    """The results find no place; what was set is put back all the same."""
    with (
        program(SLEEPERS.format(count=20)) as child,
        watching(tmp_path, child.pid, OWN_CPUS[0]) as session,
        store_in(tmp_path) as store,
    ):
        before = masks(child.pid)
        changes = changes_of(session)
        do(changes, store)
        entry = boot_directory(tmp_path) / "0001.jsonl"
        intents = b"".join(line for line in entry.read_bytes().splitlines(keepends=True) if b'"result"' not in line)
        undo(store)
        with files_of_at_most(len(intents) + 300):
            results = do(changes, store)
        assert {one.outcome for one in results} == {"set"}
        assert all("results are not kept" in one.why for one in results)
        assert masks(child.pid) != before
        undo(store)
        assert masks(child.pid) == before


@pytest.mark.live
@needs_root
@needs_two_cpus
@pytest.mark.parametrize(("options", "why"), [("size=8k", "no space left"), ("ro", "read-only")])
def test_a_file_system_that_takes_nothing_changes_nothing(tmp_path: Path, options: str, why: str) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    with (
        program(SLEEPERS.format(count=60)) as child,
        watching(tmp_path, child.pid, OWN_CPUS[0]) as session,
        tmpfs(folder, options),
    ):
        before = masks(child.pid)
        with pytest.raises(InputError, match=f"(?i){why}.*nothing is changed"), store_in(folder) as store:
            settle(session, store)
        assert masks(child.pid) == before
