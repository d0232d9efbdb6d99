"""`try` stops when it is told to, whatever runs at that moment."""

import os
import signal
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

import pytest

from jupyter_kerneldoctor.commands.trial import _interruptible, _may_run
from jupyter_kerneldoctor.trial import Plan
from jupyter_kerneldoctor.trial.plan import PlannedCell


def signalled(number):
    with _interruptible() as stop:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        assert stop.is_set()
        os.kill(os.getpid(), number)  # a second one while it tidies up


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_a_library_swallows_is_not_lost(number):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    with pytest.raises(KeyboardInterrupt):
        signalled(number)

    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_a_program_in_the_background_goes_on_ignoring_interrupts():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _interruptible() as stop:
        os.kill(os.getpid(), signal.SIGINT)

    assert not stop.is_set()
    signal.signal(signal.SIGINT, before)


def test_a_path_in_the_prompt_stays_on_its_line(tmp_path: Path, capsys):
    directory = tmp_path / "nb\n  interpreter: python3"
    directory.mkdir()
    (directory / "up\x1b[2J\n").symlink_to(tmp_path)
    plan = Plan("a", (PlannedCell("x", 1),), "/bin/a\nb", directory, copies=True, limit_bytes=None, patience_s=1.0)

    assert _may_run(Namespace(json=False, yes=True, fit=False), plan, "with\nit", [])

    said = capsys.readouterr().out
    assert len(said.splitlines()) == 6
    assert "left out:    links to other places: up" in said
    assert "\x1b" not in said
