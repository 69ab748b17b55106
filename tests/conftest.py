from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


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
