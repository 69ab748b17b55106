"""Makes the pictures of the README: the real dashboard on the recording of eight ranks.

python tools/pictures.py docs/pictures
"""

from __future__ import annotations

import sys
from pathlib import Path

from numascope.cli.recorded import open_replay
from numascope.tui.svg import screenshot_svg

RECORDING = Path(__file__).resolve().parent.parent / "snapshots" / "recordings" / "eight-ranks.nsr"
LOOKS = 12
SHOTS = (
    ("attach", 120, 40, ()),
    ("threads", 120, 30, ("2",)),
    ("light", 120, 40, ("2", "x", "1")),
)
"""Name, width, height, and the keys that lead there."""


def main(folder: Path) -> None:
    """Writes one SVG a shot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, width, height, keys in SHOTS:
        session = open_replay(str(RECORDING), speed=16.0)
        try:
            svg = screenshot_svg(
                session, width, height, keys=keys, reports=LOOKS, title=f"numascope replay {RECORDING.name}"
            )
            (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        finally:
            session.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
