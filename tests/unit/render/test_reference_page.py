"""Reference pages in a terminal: no markup but the backticks of code."""

from jupyter_kerneldoctor.render.reference_page import render


def test_headings_and_bold_words_lose_their_marks_and_code_keeps_its_own():
    page = "# Too much\n\n`too-much`\n\n## What it means\nIt is **really\ntoo much**: `f(**a)`, `g(**b)`.\n"

    assert render(page) == (
        "Too much\n========\n\n`too-much`\n\nWHAT IT MEANS\nIt is really\ntoo much: `f(**a)`, `g(**b)`."
    )
