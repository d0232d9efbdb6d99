import mistune
import pytest

from jupyter_kerneldoctor.render import markdown


def test_holds_the_whole_answer(doc):
    text = markdown.render(doc)

    assert text.startswith("### The kernel ran out of memory in cell \\[8\\]")
    assert "    losses.append(loss)  # <-- here" in text
    assert "```diff\n" in text
    assert "* Not a crash in native code" in text
    assert "recording `20261121T140211Z-4711-ab12cd`" in text


def test_backticks_in_a_source_do_not_end_its_block(doc):
    doc["cell"]["source"] = "s = '''\n```\n````\n@everyone\n'''"

    text = markdown.render(doc)

    assert "`````python\ns = '''" in text


def test_text_is_shown_as_it_is():
    assert markdown.escaped("<b>*x*</b> #1 @me `a_b` c_d") == r"\<b\>\*x\*\</b\> \#1 \@me `a_b` c\_d"
    assert markdown.escaped("an odd ` tick") == r"an odd \` tick"


@pytest.mark.parametrize(
    "name", ["a`` <img src=x> ``b", "``<img src=x>``", "`a``<img src=x>``b`", "<img src=x>`", "\\`<img>"]
)
def test_backticks_in_a_name_let_no_html_through(doc, name):
    doc["notebook"] = name
    html = mistune.html(markdown.render(doc))

    assert "<img" not in html
