"""When the variables are looked at, and what is sent: never silence where there was too little time."""

from types import SimpleNamespace

import pytest

from jupyter_kerneldoctor.kernel import largest_variables
from jupyter_kerneldoctor.kernel.namespace import NamespaceWatch

MIB = 1 << 20


@pytest.fixture
def looks(monkeypatch):
    """The results that looks have, in order; what was not looked at is left in it."""
    results = []
    monkeypatch.setattr(largest_variables, "biggest", lambda *_: results.pop(0))
    return results


def messages(watch, *sizes):
    """Return what is sent at the ends of cells after which this much memory is in use."""
    sent = []
    shell = SimpleNamespace(user_ns={}, user_ns_hidden={})
    for size in sizes:
        stretch = SimpleNamespace(before_bytes=100 * MIB, after_bytes=size * MIB)
        watch.look(shell, SimpleNamespace(send=sent.append), 1, stretch)
    return sent


def test_that_there_was_no_time_is_said_and_the_next_cell_looks_again(looks):
    looks += [([], False), ([{"name": "x", "bytes": 50 * MIB}], True)]
    sent = messages(NamespaceWatch(), 150, 150, 150)

    assert b'"complete":false' in sent[0]
    assert b'"complete":true' in sent[1]
    assert len(sent) == 2


def test_where_there_never_is_enough_time_not_every_cell_looks(looks):
    looks += [([], False)] * 3

    assert len(messages(NamespaceWatch(), 150, 150, 150, 150)) == 1
    assert len(looks) == 1
