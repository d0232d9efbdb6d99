"""Reference pages in a terminal: no markup but the backticks of code."""

from jupyter_kerneldoctor.render.reference_page import render


def test_headings_and_bold_words_lose_their_marks_and_code_keeps_its_own():
    page = "# Too much\n\n`too-much`\n\n## What it means\nIt is **really\ntoo much**: `f(**a)`, `g(**b)`.\n"

    assert render(page, 20) == (
        "Too much\n========\n\n`too-much`\n\nWHAT IT MEANS\nIt is **really\ntoo much**: `f(**a)`,\n`g(**b)`."
    ).replace("**really\ntoo much**", "really too\nmuch")


def test_paragraphs_and_lists_fit_and_code_stays_as_it_is():
    code = "```\nx = [1,\n\n     2]  # as long as it is in the page\n```"
    page = f"One two three\nfour.\n\n- five six\n  seven\n- eight\n\n{code}\n\n    y = 1  # and this one, too"

    assert render(page, 14) == (
        f"One two three\nfour.\n\n- five six\n  seven\n- eight\n\n{code}\n\n    y = 1  # and this one, too"
    )
