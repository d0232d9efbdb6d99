"""A magic that is asked wrongly says its name, what is wrong, and where its options are told."""

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jupyter_kerneldoctor.kernel.magics import KernelDoctorMagics


@pytest.fixture
def magics(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    return KernelDoctorMagics(InteractiveShell(config=Config({"HistoryManager": {"enabled": False}})), None)


@pytest.mark.parametrize(
    ("magic", "line", "said"),
    [
        (
            "kerneldoctor",
            "foo",
            "There is no `%kerneldoctor foo`. There are `%kerneldoctor status`, `%kerneldoctor on`",
        ),
        ("kerneldoctor", "--foo", "%kerneldoctor: unrecognized arguments: --foo. Nothing was run; `%kerneldoctor?`"),
        (
            "postmortem",
            "a b",
            "%postmortem: unrecognized arguments: b. Nothing was run; `%postmortem?` shows the options.",
        ),
    ],
)
def test_of_a_magic_that_is_asked_wrongly_it_is_said_what_there_is(magics, magic, line, said):
    with pytest.raises(UsageError) as raised:
        getattr(magics, magic)(line)

    assert str(raised.value).startswith(said)
