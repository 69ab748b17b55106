from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import expected, unpack

REPOSITORY = Path(__file__).resolve().parent.parent

# Under nohup, or in the background of a script, these would be ignored by whatever tests start, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Golden files are rewritten only when asked, and then reviewed like code."""
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The developers' store of captures beside the checkout; a user's checkout has none."""
    path = REPOSITORY.parent / "shared"
    if not path.is_dir():
        pytest.skip("needs ../shared, the developers' store of captures, which is not part of a checkout")
    return path


@pytest.fixture(scope="session")
def snapshots() -> Path:
    """What numascope saw, kept in the repository."""
    return REPOSITORY / "snapshots"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Path], None]:
    """Compares a text with a kept file, or with --update-golden writes it."""

    def compare(text: str, path: Path) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; --update-golden writes it anew"

    return compare


@pytest.fixture(scope="session")
def stored_root(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks a capture of the store, once in a session, and gives its root."""
    unpacked_archives: dict[str, Path] = {}

    def unpacked(name: str) -> Path:
        entry = expected()[name]
        archive = str(entry["archive"])
        if archive not in unpacked_archives:
            unpacked_archives[archive] = unpack(shared / "captures" / archive, tmp_path_factory.mktemp("capture"))
        return unpacked_archives[archive] / str(entry["root"])

    return unpacked
