"""What nobody should send is one clear error, or does no harm; nothing is ever written."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import tarfile
from pathlib import Path

import pytest
from archives import CPU, PACKERS, file, machine, special, symlink, tar, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numascope.errors import InputError
from numascope.host.archive import inflate
from numascope.host.archive import root as archive
from numascope.host.archive import tar as tar_reader
from numascope.host.archive.root import open_archive
from numascope.machine.build import build_machine


def refusal(path: str, inside: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        open_archive(path, inside)
    assert caught.value.path == path
    return caught.value.problem


def test_names_that_lead_out_devices_and_fifos_are_passed_over(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        tar(
            machine(
                file("../../etc/cron.d/x", b"x"),
                file("sys/../../../x", b"x"),
                symlink("sys/link/../../x", "/etc"),
                special("sys/null", tarfile.CHRTYPE),
                special("sys/disk", tarfile.BLKTYPE),
                special("sys/fifo", tarfile.FIFOTYPE),
                special("sys/loop", tarfile.LNKTYPE, "sys/loop"),
                file("sys/" + "n" * 300, b"x"),
                file("/".join(["d"] * 100), b"x"),
                file(f"/{CPU}/cpu7/online", b"0\n"),
            )
        ),
    )
    root = open_archive(path)
    assert root.names("") == root.names("..") == ["sys"]
    assert root.names("sys") == ["devices"]
    assert "cpu7" in root.names(CPU)
    assert build_machine(root).cpus.online.last == 1
    assert os.listdir(tmp_path) == ["one.tar"]


def test_what_is_no_archive_says_so(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, b"", "empty")) == "is empty"
    assert "no tar archive" in refusal(written(tmp_path, b"just a text\n" * 100, "text"))
    assert "no tar archive" in refusal(written(tmp_path, b"short", "short"))
    assert "holds nothing" in refusal(written(tmp_path, bytes(10240), "zeros"))
    assert "no tar archive" in refusal(written(tmp_path, gzip.compress(b"text" * 1000), "packed-text"))
    assert "damaged or cut off" in refusal(written(tmp_path, b"\x1f\x8b" + b"\xff" * 600, "not-gzip"))
    assert "damaged or cut off" in refusal(written(tmp_path, b"BZh9" + b"\xff" * 600, "not-bzip2"))
    assert "damaged or cut off" in refusal(written(tmp_path, b"\xfd7zXZ\0" + b"\xff" * 600, "not-xz"))
    assert "holds no machine" in refusal(
        written(tmp_path, tar([file("sys/devices/system/cpu/online", b"0\n")]), "no-cpu")
    )
    assert "give it with --root" in refusal(str(tmp_path))
    assert "No such file" in refusal(str(tmp_path / "absent"))


def test_a_fifo_and_a_device_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert refusal(str(tmp_path / "fifo")) == refusal("/dev/zero") == "is not a regular file"


@pytest.mark.live
def test_a_file_whose_first_bytes_cannot_be_read_says_why() -> None:
    path = "/sys/class/net/lo/speed"  # a regular file, of which the kernel refuses every read (speed_show, net-sysfs.c)
    if not os.path.isfile(path):
        pytest.skip("this network namespace has no lo in /sys")
    with pytest.raises(OSError, match="Errno") as read:
        Path(path).read_bytes()
    assert refusal(path) == f"cannot be read: {read.value.strerror}"


@pytest.mark.parametrize("packer", PACKERS)
def test_an_archive_that_is_cut_off_is_an_error_wherever_it_is_cut(packer: str, tmp_path: Path) -> None:
    members = machine(file("proc/stat", os.urandom(3000)))
    whole = PACKERS[packer](tar(members))
    for tenth in range(1, 6):
        problem = refusal(written(tmp_path, whole[: len(whole) * tenth // 10 | 1]))
        assert "cut off" in problem or "no machine" in problem or "no tar archive" in problem


@pytest.mark.parametrize("packer", PACKERS)
def test_an_archive_whose_end_is_missing_is_cut_off_even_between_two_files(packer: str, tmp_path: Path) -> None:
    members = len(machine()) * 1024  # a header and a block of each
    whole = tar(machine())
    for kept in (members - 1024, members, members + 511):
        problem = refusal(written(tmp_path, PACKERS[packer](whole[:kept])))
        assert problem == "is cut off: the zeros that end a tar archive are missing; copy it again"
    one_block = written(tmp_path, PACKERS[packer](whole[: members + 512]))
    assert build_machine(open_archive(one_block)).cpus.online.last == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(at=st.integers(0, 5 * 1024 - 1), damage=st.binary(min_size=1, max_size=40))
def test_a_damaged_archive_is_a_machine_or_an_error(at: int, damage: bytes, tmp_path: Path) -> None:
    raw = bytearray(tar(machine()))
    raw[at : at + len(damage)] = damage
    with contextlib.suppress(InputError):
        build_machine(open_archive(written(tmp_path, bytes(raw))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(raw=st.binary(min_size=1, max_size=2000))
def test_any_bytes_are_an_error(raw: bytes, tmp_path: Path) -> None:
    refusal(written(tmp_path, raw))


def test_a_bomb_is_refused_while_it_unpacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "MOST_BYTES", 1 << 24)
    bomb = gzip.compress(tar(machine(file("var/log/zeros", bytes(1 << 25)))))
    assert len(bomb) < 1 << 16
    assert "unpacks to more than" in refusal(written(tmp_path, bomb))


@pytest.mark.parametrize("packer", ["gz", "bz2", "xz"])
def test_a_bomb_that_tells_its_size_is_refused_before_it_unpacks(packer: str, tmp_path: Path) -> None:
    huge = file("var/log/zeros")[0]
    huge.size = 1 << 30
    early = tar(machine())[: len(machine()) * 1024] + huge.tobuf() + bytes(1 << 20)
    assert "unpacks to more than 1 GiB" in refusal(written(tmp_path, PACKERS[packer](early)))


def test_xz_that_asks_for_more_memory_than_any_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3}]
    greedy = lzma.compress(tar(machine()), filters=filters)
    assert refusal(written(tmp_path, greedy)) == (
        "its xz dictionary needs more than the 128 MiB of memory that are granted: "
        "pack it again with gzip, or with xz as it comes"
    )
    highest = lzma.compress(tar(machine()), preset=9 | lzma.PRESET_EXTREME)
    assert build_machine(open_archive(written(tmp_path, highest))).cpus.online


def test_xz_in_several_streams_is_read_to_its_end(tmp_path: Path) -> None:
    raw = tar(machine())
    parts = [lzma.compress(raw[:3000]), bytes(8), lzma.compress(raw[3000:])]
    assert len(build_machine(open_archive(written(tmp_path, b"".join(parts)))).cpus.online) == 2


def test_sparse_files_however_large_are_passed_over(tmp_path: Path) -> None:
    pax, _ = file("sys/GNUSparseFile.0/sparse", b"1\n0\n512\n".ljust(512, b"\0"))
    pax.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 50)}
    old = bytearray(tar([special("sys/old", tarfile.GNUTYPE_SPARSE)])[:512])
    old[482] = 1
    old[148:156] = b"%06o\0 " % (sum(old) - sum(old[148:156]) + 8 * 32)
    raw = bytes(old) + bytes(512) + tar([(pax, b"1\n0\n512\n".ljust(512, b"\0")), *machine()], tarfile.PAX_FORMAT)
    root = open_archive(written(tmp_path, raw))
    assert root.names("sys") == ["devices"]


def test_sizes_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for size in (b"\x80" + b"\xff" * 11, b"\xff" * 12, b"-0000000001\0", b"99999999999\0"):
        header = bytearray(tar([file("sys/one")])[:512])
        header[124:136] = size
        header[148:156] = b"%06o\0 " % (sum(header) - sum(header[148:156]) + 8 * 32)
        problem = refusal(written(tmp_path, bytes(header) + bytes(1024)))
        assert "cut off" in problem or "no tar archive" in problem


def test_headers_of_any_content_are_read_in_one_pass_and_large_ones_refused(tmp_path: Path) -> None:
    for body in (b"9" * 60_000, b"1 =" * 20_000, b"12 path=ab\n" + b"999999 path=x\n", b"6 a=b\n" * 10_000):
        pax, data = file("PaxHeaders/x", body)
        pax.type = tarfile.XHDTYPE
        raw = tar([(pax, data)] * 20 + machine())
        assert len(build_machine(open_archive(written(tmp_path, raw))).cpus.online) == 2
    for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
        large, data = file("x", bytes(1 << 17))
        large.type = kind
        assert "header of 131,072 bytes" in refusal(written(tmp_path, tar([(large, data), *machine()])))


def test_too_many_members_and_too_much_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, tar(machine(*(file(f"etc/{number}", b"x") for number in range(2000)))))
    monkeypatch.setattr(tar_reader, "MOST_MEMBERS", 1000)
    assert "more than 1,000 members" in refusal(path)
    monkeypatch.undo()
    monkeypatch.setattr(archive, "_MOST_MEMORY_BYTES", 1 << 18)
    assert "pack only sys/ and proc/" in refusal(path)
    deep = written(tmp_path, tar([file("/".join(f"{number}" for _ in range(60)), b"") for number in range(50)]))
    assert "pack only sys/ and proc/" in refusal(deep)


def test_a_large_file_is_kept_only_where_it_may_be_read(tmp_path: Path) -> None:
    large = bytes(1 << 17)
    names = ("proc/interrupts", "var/log/messages", "cgroup/cpuset.cpus")
    members = [file(name, b"0\n" if "cgroup" in name else large) for name in names]
    root = open_archive(written(tmp_path, tar(machine(*members))))
    assert [name for name in names if root.read_if_there(name) is not None] == ["proc/interrupts", "cgroup/cpuset.cpus"]


def test_errors_quote_little_and_only_what_is_safe_to_print(tmp_path: Path) -> None:
    members = [one for number in range(30) for one in machine(at=f"\x1b[31m{'x' * 100}{number:02}/")]
    problem = refusal(written(tmp_path, tar(members)))
    assert problem.isprintable()
    assert problem.endswith("and more")
    assert max(map(len, problem.split(", "))) < 80
    assert "\\x1b" in refusal(written(tmp_path, tar(machine())), "\x1b[31m")


def test_a_machine_is_chosen_by_its_name_as_it_is_and_as_an_error_spells_it(tmp_path: Path) -> None:
    path = written(tmp_path, tar([*machine(at="\x1b[31mred\n/a/"), *machine(at="b\\\u202e/")]))
    assert refusal(path).endswith(r"out of \x1b[31mred\x0a/a, b\\\u{202e}")
    for spelled in ("\x1b[31mred\n", r"\x1b[31mred\x0a/a", r"\x1b[31mred\x0a"):
        assert open_archive(path, spelled).path == rf"{path}:\x1b[31mred\x0a/a"
    for spelled in ("b\\\u202e", r"b\\\u{202e}"):
        assert open_archive(path, spelled).path == rf"{path}:b\\\u{{202e}}"


def test_fifty_thousand_members_are_read_one_at_a_time(tmp_path: Path) -> None:
    members = [file(f"{CPU}/cpu{number // 50}/cpuidle/state{number % 50}", b"1\n") for number in range(50_000)]
    root = open_archive(written(tmp_path, PACKERS["gz"](tar(members))))
    assert len(root.names(CPU)) == 1000
    assert root.read(f"{CPU}/cpu999/cpuidle/state49") == b"1\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    names=st.lists(
        st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=60), max_size=4
    ),
    data=st.binary(max_size=1500),
    form=st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_every_name_and_content_that_tarfile_writes_is_read_back(
    names: list[str], data: bytes, form: int, tmp_path: Path
) -> None:
    kept = [name for name in names if name not in (".", "..")]
    path = "/".join(["sys", *kept, "leaf"])
    root = open_archive(written(tmp_path, tar(machine(file(path, data), symlink("sys/to", f"/{path}")), form)))
    assert root.read(path) == root.read("sys/to") == data


def test_tarfile_and_this_reader_agree_on_a_real_archive(shared: Path) -> None:
    path = shared / "captures" / "hwloc-32em64t-mic-dax.tar.bz2"
    stream = inflate.Inflated(str(path))
    ours = {one.name: one for one in tar_reader.read_members(stream, lambda _, size: size < 1 << 20)}
    stream.close()
    with tarfile.open(fileobj=io.BytesIO(bz2.decompress(path.read_bytes()))) as theirs:
        for entry in theirs:
            member = ours.pop(entry.name)
            content = theirs.extractfile(entry) if entry.isreg() else None
            assert (member.kind == "file", member.kind == "symlink") == (entry.isreg(), entry.issym())
            assert member.target == (entry.linkname if entry.issym() else "")
            assert member.data == (b"" if content is None else content.read())
    assert ours == {}
