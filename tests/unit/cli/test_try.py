"""`try` stops when it is told to, whatever runs at that moment."""

import os
import signal
from contextlib import suppress

import pytest

from jupyter_kerneldoctor.commands.trial import _interruptible


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
