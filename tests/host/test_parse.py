from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.cpuset import CpuSet
from numascope.host import parse

PARSERS = (
    parse.text,
    parse.id_list,
    parse.mask,
    parse.decimal,
    parse.hexadecimal,
    parse.cache_size_kib,
    parse.meminfo,
    parse.distances,
    parse.cpuinfo_fields,
)

SETS = st.sets(st.integers(0, 2000), max_size=60).map(CpuSet.of)


@given(st.binary(max_size=200))
def test_no_bytes_make_a_parser_fail(raw: bytes) -> None:
    for parser in PARSERS:
        parser(raw)
    parse.cpu_model(parse.cpuinfo_fields(raw))
    parse.cpu_architecture(parse.cpuinfo_fields(raw))


@given(SETS, st.sampled_from([b"", b"\n", b"\n\0\0\0", b"\0garbage"]))
def test_a_set_comes_back_out_of_its_list_and_its_mask(cpus: CpuSet, tail: bytes) -> None:
    assert parse.id_list(str(cpus).encode() + tail) == cpus
    assert parse.mask(cpus.mask().encode() + tail) == cpus


@pytest.mark.parametrize("raw", [b"", b"\n", b"\0\0\0\0"])
def test_an_empty_list_is_the_empty_set_and_an_empty_mask_or_number_is_unknown(raw: bytes) -> None:
    assert parse.id_list(raw) == CpuSet()
    assert parse.mask(raw) is None
    assert parse.decimal(raw) is None
    assert parse.distances(raw) is None


@pytest.mark.parametrize(("raw", "value"), [(b"-1\n", -1), (b"65535\n\0\0", 65535), (b"0x3", None), (b"1 2", None)])
def test_a_decimal_file_holds_one_number(raw: bytes, value: int | None) -> None:
    assert parse.decimal(raw) == value


@pytest.mark.parametrize(("raw", "value"), [(b"0x10de\n", 0x10DE), (b"030200", 0x30200), (b"0x\n", None)])
def test_a_pci_id_is_hexadecimal(raw: bytes, value: int | None) -> None:
    assert parse.hexadecimal(raw) == value


@pytest.mark.parametrize(
    ("raw", "kib"),
    [(b"32K\n", 32), (b"12288K \0\0", 12288), (b"2M", 2048), (b"103079215104\n", 96 << 20), (b"0K", None), (b"", None)],
)
def test_a_cache_size_is_in_kib_and_zero_is_unknown(raw: bytes, kib: int | None) -> None:
    assert parse.cache_size_kib(raw) == kib


def test_memory_beyond_what_57_bits_address_is_unknown() -> None:
    assert parse.meminfo(b"MemTotal: 140737488355328 kB\nMemFree: 140737488355329 kB\n") == (1 << 47, None)
    assert parse.meminfo(b"Node 1 MemTotal: 99999999999999999 kB") == (None, None)
    assert parse.meminfo(b"Node 0 MemTotal: -5 kB") == (None, None)


def test_a_mask_that_was_never_made_is_the_empty_set_and_some_lists_are_never_empty() -> None:
    assert parse.id_list_or_null(b"  (null)\n") == parse.id_list_or_null(b"\n") == CpuSet()
    assert parse.id_list_or_null(b"2-3\n") == parse.some_ids(b"2-3\n") == CpuSet.parse("2-3")
    assert parse.some_ids(b"\n") is None
    assert parse.id_list_or_null(b"(nil)") is None


def test_meminfo_of_a_node_and_of_the_machine_have_the_same_two_lines() -> None:
    assert parse.meminfo(b"Node 0 MemTotal:  3005392 kB\nNode 0 MemFree: 2814956 kB\n") == (3005392, 2814956)
    assert parse.meminfo(b"MemTotal:       16 kB\nHugePages_Total: 0\n") == (16, None)


def test_distances_are_whole_numbers_only() -> None:
    assert parse.distances(b"10 21 255\n") == (10, 21, 255)
    assert parse.distances(b"10 -1\n") is None


def test_an_x86_processor_is_named_by_model_name_with_single_blanks() -> None:
    fields = parse.cpuinfo_fields(b"model\t\t: 44\nmodel name\t: Intel(R)  Xeon(R) CPU    L5640\nflags\t: fpu lm\n")
    assert (parse.cpu_model(fields), parse.cpu_architecture(fields)) == ("Intel(R) Xeon(R) CPU L5640", "x86_64")


def test_an_arm_processor_is_named_by_its_part_number_where_it_is_known() -> None:
    known = parse.cpuinfo_fields(b"Features\t: fp asimd\nCPU implementer\t: 0x48\nCPU part\t: 0xd01\n")
    assert (parse.cpu_model(known), parse.cpu_architecture(known)) == ("Kunpeng-920", "aarch64")
    unknown = parse.cpuinfo_fields(b"CPU implementer\t: 0x48\nCPU part\t: 0xfff\n")
    assert (parse.cpu_model(unknown), parse.cpu_architecture(unknown)) == (None, None)


def test_a_name_with_an_escape_sequence_cannot_reach_the_terminal() -> None:
    assert parse.cpu_model(parse.cpuinfo_fields(b"model name: \x1b[2JPWNED")) == "\\x1b[2JPWNED"
