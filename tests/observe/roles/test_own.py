"""A user's own names go before all tables, and what is wrong with them is said by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.errors import InputError
from numascope.observe.roles import ProcessView, Role, ThreadFacts, roles_of
from numascope.observe.roles.names import OwnNames
from numascope.observe.roles.own import default_path, parse_own_names, read_own_names

TABLE = """
[names]
"ckpt_writer_thread" = "housekeeping"
"pt_data_pin" = "comm"

[mindspore]
"ckpt_" = "log"
"ActorThread_" = "pool"
"""


def role(own: OwnNames, framework: str, comm: str) -> Role:
    view = ProcessView(framework, "rank", 1, "python", ("python",), None)
    (found,) = roles_of(view, [ThreadFacts(2, comm, 1, 1, None)], own)
    return found


@pytest.mark.parametrize(
    ("framework", "comm", "name"),
    [
        ("torch", "ckpt_writer_thr", "housekeeping"),
        ("torch", "ckpt_other", "other"),
        ("mindspore", "ckpt_other", "log"),
        ("mindspore", "ckpt_writer_thr", "housekeeping"),
        ("torch", "pt_data_pin", "comm"),
        ("mindspore", "ActorThread_3", "pool"),
        ("mindspore", "KernelThread_3", "kernel"),
    ],
)
def test_own_names_hold_everywhere_or_in_one_framework(framework: str, comm: str, name: str) -> None:
    own = OwnNames(parse_own_names(TABLE, "roles.toml"))

    assert role(own, framework, comm).name == name


def test_the_evidence_names_the_file() -> None:
    own = OwnNames(parse_own_names(TABLE, "roles.toml"))

    assert role(own, "torch", "pt_data_pin").evidence == 'comm "pt_data_pin", by roles.toml'
    assert role(own, "torch", "gloo_tcp_loop").evidence == 'comm "gloo_tcp_loop"'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[names]\nx = ?", "r.toml:2:5: is no TOML: Invalid value"),
        ("[cuda]\n", "r.toml: [cuda]: no such framework: give [names], for all, or one of mindspore"),
        ("names = 3", 'names: is no table: write [names], and below it "START" = "ROLE"'),
        ('[names]\n"x" = "lodaer"', '[names] "x": "lodaer" is no role: give one of main, launcher'),
        ('[names]\n"x" = 3', '[names] "x": this is no role'),
        ('[names]\n"x" = "unnamed"', '"unnamed" is no role'),
        ('[names]\n"" = "comm"', "a name is empty"),
        ('[names]\n"a\\u001b[31m" = "x"', "\\x1b[31m"),
        ("a=" + "[" * 5000, "r.toml"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        parse_own_names(text, "r.toml")

    assert says in str(error.value)
    assert "\x1b" not in str(error.value)


@given(text=st.text(max_size=80))
def test_any_text_is_a_table_or_an_error_of_one_line(text: str) -> None:
    said = ""
    try:
        parse_own_names(text, "r.toml")
    except InputError as error:
        said = str(error)

    assert "\n" not in said


def test_a_file_is_read_as_utf8_of_bounded_size(tmp_path: Path) -> None:
    path = tmp_path / "roles.toml"
    path.write_bytes(b'[names]\n"\xff" = "comm"')
    with pytest.raises(InputError, match="no UTF-8"):
        read_own_names(str(path))
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(InputError, match="over 1 MiB"):
        read_own_names(str(path))


def test_the_default_place_is_the_users_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "numascope"
    folder.mkdir()
    assert default_path({"XDG_CONFIG_HOME": str(tmp_path)}) is None
    (folder / "roles.toml").touch()
    assert default_path({"XDG_CONFIG_HOME": str(tmp_path)}) == str(folder / "roles.toml")
    assert default_path({"XDG_CONFIG_HOME": "relative", "HOME": str(tmp_path)}) is None
    assert default_path({}) is None
    (tmp_path / ".config").symlink_to(tmp_path)
    assert default_path({"HOME": str(tmp_path)}) == str(tmp_path / ".config/numascope/roles.toml")
