"""Every form of the report says when no fixes were looked for."""

import pytest

from jupyter_kerneldoctor.render import html, markdown, terminal

SAID = "The code is too long to look for fixes."


@pytest.mark.parametrize("form", [html, markdown, terminal])
def test_it_is_said_where_fixes_would_stand(doc, form):
    assert SAID not in form.render(doc)

    told = form.render({**doc, "fixes": [], "fixes_left_out": SAID})

    assert SAID in " ".join(told.split())
    assert "what to change" in told.lower()
