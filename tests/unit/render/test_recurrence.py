"""Every form of the report says that the same cell ended a kernel before."""

import time

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import recording
from jupyter_kerneldoctor.render import html, markdown, terminal

AGAIN = "The same cell has ended a kernel once before: on 2027-01-15 at 08:00 UTC (Crash in native code)."


HERE = AGAIN.replace("2027-01-15 at 08:00 UTC", "2027-01-15 at 13:30")


@pytest.fixture
def in_india(monkeypatch):
    """5 h 30 min ahead of UTC."""
    monkeypatch.setenv("TZ", "IST-5:30")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_india")
@pytest.mark.parametrize("form", [html, markdown, terminal])
def test_it_is_told_where_there_is_one_in_local_time_like_all_times(form):
    document = diagnose(recording("f()", signal="SIGSEGV")).to_json()
    assert "has ended a kernel" not in form.render(document)

    told = form.render({**document, "recurrence": {"text": AGAIN, "deaths": []}})
    assert HERE in " ".join(told.replace("\\", "").split())
