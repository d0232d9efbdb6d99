"""The style sheets of the panel, as they are installed."""

import re
from pathlib import Path

STYLES = "".join(path.read_text() for path in (Path(__file__).parents[2] / "style").glob("*.css"))


def test_nothing_moves_so_who_asks_for_less_motion_has_none():
    assert ".jp-KernelDoctor" in STYLES
    assert not re.search(r"animation|transition|scroll-behavior|@keyframes", STYLES)
