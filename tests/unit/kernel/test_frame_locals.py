"""The variables of a running function are read, and nothing is different afterwards."""

import gc
import sys
import threading
import time
import weakref

import pytest
from support import requires

from jupyter_kerneldoctor.kernel.frame_locals import local_variables

pytestmark = requires.gil


class Big:
    """Something whose end can be seen."""


def read(frame):
    return dict(local_variables(frame))


def test_arguments_locals_and_shared_variables_are_read():
    outer = ["outer"]

    def function(first, *rest, key=1, **others):
        shared = [first]
        later: object

        def inner():
            return shared, outer, first, later

        found = read(sys._getframe())
        later = inner
        return found

    found = function("a", "b", key=2, other=3)
    assert found.pop("inner").__name__ == "inner"
    assert found.pop("later", None) is None
    assert found == {
        "first": "a",
        "rest": ("b",),
        "key": 2,
        "others": {"other": 3},
        "shared": ["a"],
        "outer": ["outer"],
    }


def test_nothing_is_kept_alive():
    def function():
        big = Big()
        seen = weakref.ref(big)
        before = sys.getrefcount(big)
        read(sys._getframe())
        after = sys.getrefcount(big)
        big = None
        return before, after, seen()

    before, after, left = function()
    assert (before, left) == (after, None)


def test_the_users_own_snapshot_of_the_variables_stays_as_it_is():
    def function():
        number = 1
        snapshot = locals()
        number = 2
        read(sys._getframe())
        return snapshot["number"], number

    assert function() == (1, 2)


def test_a_suspended_generator_is_read():
    def numbers():
        kept = [1]
        yield kept
        kept.append(2)
        yield kept

    generator = numbers()
    next(generator)
    assert read(generator.gi_frame) == {"kept": [1]}
    assert next(generator) == [1, 2]


def test_a_function_that_has_ended_is_read_as_long_as_its_frame_lives():
    def function():
        big = Big()
        return sys._getframe(), weakref.ref(big)

    frame, seen = function()
    assert type(read(frame)["big"]) is Big
    del frame
    assert seen() is None


def test_a_module_has_no_local_variables():
    variables = {}
    exec("import sys\nframe = sys._getframe()", variables)
    assert read(variables["frame"]) == {}


@pytest.mark.slow
def test_another_thread_is_read_while_it_runs():
    """Calls and returns go on all the time, and the collector is off as it is during a look."""
    over = []

    def inner(depth, *values):
        text, number = str(depth), depth * 3
        squares = (value * value for value in range(depth))
        return [inner(depth - 1, text, number), *squares] if depth else values

    def work():
        while not over:
            inner(20)

    thread = threading.Thread(target=work)
    thread.start()
    gc.disable()
    try:
        names, end = set(), time.monotonic() + 1
        while time.monotonic() < end:
            frame = sys._current_frames().get(thread.ident)
            while frame is not None:
                found = read(frame)
                names |= found.keys()
                assert type(found.get("depth", 0)) is int
                frame = frame.f_back
    finally:
        gc.enable()
        over.append(True)
        thread.join()
    assert {"depth", "text", "number", "values"} <= names
