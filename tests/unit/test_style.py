"""The style sheets of the panel, as they are installed."""

import re
from pathlib import Path

STYLES = "".join(path.read_text() for path in (Path(__file__).parents[2] / "style").glob("*.css"))


def test_nothing_moves_so_who_asks_for_less_motion_has_none():
    assert ".jp-KernelDoctor" in STYLES
    assert not re.search(r"animation|transition|scroll-behavior|@keyframes", STYLES)


def test_colours_are_those_of_the_theme():
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\(", STYLES)) <= {"#000", "#fff"}  # upon a warning's
