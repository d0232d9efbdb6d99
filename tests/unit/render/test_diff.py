"""A change to a cell, as it is shown: every line of it, and nothing of the diff's own header."""

import pytest

from jupyter_kerneldoctor.diagnosis.changes import unified_diff
from jupyter_kerneldoctor.render import html, terminal
from jupyter_kerneldoctor.render.diff import GAP, lines_of

QUERY = "rows = query('''\n-- all of them\nselect *''')"
FASTER = "rows = query('''\nselect *''')\n++count"


def as_text(doc):
    return terminal.render(doc, width=80)


@pytest.mark.parametrize("render", [as_text, html.render])
def test_a_line_that_looks_like_a_header_is_shown(doc, render):
    doc["fixes"][0]["edits"][0]["diff"] = unified_diff(QUERY, FASTER, "cell [8]")
    shown = render(doc)

    assert "--- all of them" in shown
    assert "+++count" in shown
    assert "--- cell" not in shown
    assert "@@" not in shown


def test_lines_that_are_left_out_are_marked():
    old = "\n".join(map(str, range(30)))
    new = old.replace("3\n4\n", "3\nfour\n").replace("27\n", "twenty-seven\n")
    shown = lines_of(unified_diff(old, new, "cell [1]"))

    assert shown.count(GAP) == 1
    assert shown[0] == " 1"
    assert {"-4", "+four", "-27", "+twenty-seven"} < set(shown)


def test_a_character_that_separates_pages_or_paragraphs_is_no_line_end():
    assert lines_of(unified_diff("a = '\u2028\x0c'", "a = 1", "cell [1]")) == ["-a = '\u2028\x0c'", "+a = 1"]
