"""Every form of the report says that the same cell ended a kernel before."""

import pytest

from jupyter_kerneldoctor.render import html, markdown, terminal

AGAIN = "This cell has killed the kernel once before, at 2027-01-15 08:00 UTC (Crash in native code)."


@pytest.mark.parametrize("form", [html, markdown, terminal])
def test_it_is_told_where_there_is_one(doc, form):
    assert "has killed the kernel" not in form.render(doc)

    told = form.render({**doc, "recurrence": {"text": AGAIN, "deaths": []}})
    assert AGAIN in " ".join(told.replace("\\", "").split())
