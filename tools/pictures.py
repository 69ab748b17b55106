"""Makes the pictures of the README: the real dashboard on the stand-in job, on whatever machine this runs.

python tools/pictures.py docs/pictures
"""

from __future__ import annotations

import sys
from pathlib import Path

from numascope.cli.session import Session, open_session
from numascope.cli.standin_process import StandIn
from numascope.observe.select import Wanted
from numascope.tui.svg import screenshot_svg

SETTLE_S = 3.0
LOOKS = 4
SHOTS = (
    ("attach", 120, 40, ()),
    ("threads", 120, 30, ("2",)),
    ("light", 120, 40, ("2", "x", "1")),
)
"""Name, width, height, and the keys that lead there."""


def main(folder: Path) -> None:
    """Writes one SVG a shot."""
    folder.mkdir(parents=True, exist_ok=True)
    with StandIn() as job:
        session: Session = open_session((Wanted(job.launcher_pid),), None, interval_s=3.0, window_s=3.0)
        try:
            seen = session.look(SETTLE_S).sample.number
            for name, width, height, keys in SHOTS:
                # The first looks of a dashboard carry the cost of its start, which is not what it costs to watch.
                seen += LOOKS
                title = f"numascope attach {job.launcher_pid}"
                svg = screenshot_svg(session, width, height, keys=keys, reports=seen, title=title)
                (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        finally:
            session.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
