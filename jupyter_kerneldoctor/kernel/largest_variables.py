"""Lists the biggest objects that the user's variables hold. Never a value.

Besides variables, IPython and libraries keep memory out of sight: the results of cells (`Out`, `_`), figures that were
not closed, and the last traceback, which keeps the local variables of all its functions.
"""

from __future__ import annotations

import gc
import sys
import time
from contextlib import suppress
from operator import itemgetter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from . import library_objects
from .deadline import Deadline
from .introspection import class_name, mro
from .object_sizes import PLAIN, Measured, SizeEstimator, TimeUpError

if TYPE_CHECKING:
    from collections.abc import Iterator

BUDGET_S = 0.003
"""Of processor time: a busy machine does not shorten what is examined."""
MOST_LISTED = 12
LEAST_BYTES = 1 << 20
"""Smaller objects explain nothing."""

_LAST_RESULTS = ("_", "__", "___")
_SKIPPED_NAMES = {"In", "Out", "_ih", "_oh", "_dh", "_sh", "exit", "quit", "get_ipython", *_LAST_RESULTS}
"""IPython's own. `Out` and the last results are examined separately; `_3` is `Out[3]`."""

_MOST_FUNCTIONS = 100
"""The most functions of a traceback."""

CONTAINERS = {list, tuple, dict, set, frozenset}

Found = dict[str, Any]
Named = tuple[str, Any]
Kind = tuple[int, Any]
"""How costly an object of a class is to measure, and which container it is, if any."""


def biggest(
    variables: dict[str, Any], hidden: dict[str, Any], *, budget_s: float = BUDGET_S
) -> tuple[list[Found], bool]:
    """Return the biggest as `recording.events.NamedObject`, biggest first, and whether all were examined."""
    found: list[Found] = []
    begin_s = time.thread_time()
    estimator = SizeEstimator(begin_s + budget_s)
    named, complete = named_variables(variables, hidden, begin_s + budget_s / 2)
    try:
        for name, value, is_hidden in candidates(named, variables):
            _measure(found, estimator, name, value, is_hidden=is_hidden)
        if (figures := open_figures(estimator)) is not None:
            found.append(as_fields("open figures", figures, is_hidden=True))
        _traceback(found, estimator, variables)
    except TimeUpError:
        pass
    found.sort(key=lambda one: -one["bytes"])
    return found[:MOST_LISTED], complete and not estimator.is_time_up


def named_variables(variables: dict[str, Any], hidden: dict[str, Any], until_s: float) -> tuple[list[Named], bool]:
    """Return the user's variables, quick ones before those that have to be searched, and whether these are all.

    The newest are examined first, as there may be more names than there is time for.
    """
    named: list[tuple[tuple[int, int], Named]] = []
    until = Deadline(until_s)
    kinds: dict[type, Kind] = {}
    complete = True
    try:
        for name, value in reversed(variables.items()):
            if until.is_over:
                complete = False
                break
            plain = PLAIN.get(type(value))
            if (plain is None or plain(value) >= LEAST_BYTES) and _is_users(name, value, hidden):
                named.append((_effort(value, kinds), (name, value)))
    except RuntimeError:  # another thread made a variable
        complete = False
    named.reverse()
    return [pair for _, pair in sorted(named, key=itemgetter(0))], complete


def candidates(named: list[Named], variables: dict[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Yield name, value, and whether it is hidden; variables first, as an object counts under its first name."""
    for name, value in named:
        yield name, value, False
    results = variables.get("_oh")
    if type(results) is dict:
        for number, value in list(results.items()):
            yield f"Out[{number}]", value, True
    for name in _LAST_RESULTS:
        yield name, variables.get(name), True


def _is_users(name: str, value: Any, hidden: dict[str, Any]) -> bool:
    if type(name) is not str or name in _SKIPPED_NAMES or name.startswith("__"):
        return False
    if name.startswith("_") and name[1:].isdecimal():
        return False
    return name not in hidden or hidden[name] is not value


def _effort(value: Any, kinds: dict[type, Kind]) -> tuple[int, int]:
    """Return a sort key: objects that know their size, then containers, the longest first, then others."""
    cls = type(value)
    if cls not in kinds:
        kinds[cls] = _kind(cls)
    effort, container = kinds[cls]
    return effort, 0 if container is None else -container.__len__(value)


def _kind(cls: type) -> Kind:
    container = next((base for base in mro(cls) if base in CONTAINERS), None)
    if container is not None:
        return 1, container
    return (0 if library_objects.knows(cls) or class_name(cls).startswith("builtins.") else 2), None


def _measure(found: list[Found], estimator: SizeEstimator, name: str, value: Any, *, is_hidden: bool) -> None:
    measured = None
    with suppress(Exception):  # another thread has changed it, or it is not as its library makes it
        measured = estimator.measure(value)
    if measured is not None and measured.bytes >= LEAST_BYTES:
        found.append(as_fields(name, measured, is_hidden=is_hidden))
    if estimator.is_time_up:
        raise TimeUpError


def as_fields(name: str, measured: Measured, *, is_hidden: bool) -> Found:
    """Return an object as it is recorded, without what says nothing."""
    fields = {"name": name, **measured._asdict(), "hidden": is_hidden}
    return {key: value for key, value in fields.items() if value not in (None, (), False) and key != "unmeasured"}


def open_figures(estimator: SizeEstimator) -> Measured | None:
    """Describe the figures that pyplot keeps until they are closed; None where there are none."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    gcf = getattr(helpers, "Gcf", None)
    managers = list(gcf.figs.values()) if gcf is not None else []
    size = estimator.figures([manager.canvas.figure for manager in managers]) if managers else 0
    return Measured(size, "matplotlib.Figure", items=len(managers)) if size >= LEAST_BYTES else None


def _traceback(found: list[Found], estimator: SizeEstimator, variables: dict[str, Any]) -> None:
    """Add the local variables that the last error keeps alive.

    Without `f_locals`, which up to Python 3.12 makes a copy that outlives a `traceback.clear_frames`.
    """
    traceback = getattr(sys, "last_traceback", None)
    total, functions = 0, 0
    while traceback is not None and functions < _MOST_FUNCTIONS and not estimator.is_time_up:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if frame.f_code.co_name == "<module>":
            continue
        functions += 1
        shared = {id(variables), id(frame.f_globals), id(frame.f_builtins)}  # up to Python 3.10 a frame refers to these
        for value in gc.get_referents(frame):
            if id(value) not in shared and type(value) not in (FrameType, CodeType):
                measured = estimator.measure(value)
                total += measured.bytes if measured is not None else 0
    if total >= LEAST_BYTES:
        found.append(as_fields("the last traceback", Measured(total, "traceback", items=functions), is_hidden=True))
