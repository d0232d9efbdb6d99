"""Takes the user's own objects, functions and modules apart, and names the parts as the user would write them.

No code of the user's runs: attributes are read from the dictionaries and slots of objects, variables from frames.
"""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from itertools import islice
from pathlib import Path
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from . import library_objects, linked_objects
from .frame_locals import local_variables
from .introspection import (
    attributes,
    class_attributes,
    class_module,
    instance_dict,
    module_variables,
    mro,
    short_name,
)
from .largest_variables import CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType, FrameType

Place = dict[str, str]
"""The function whose variable it is, as `file` and `function`; empty for a global variable."""
Part = tuple[str, Any, Place]

_LIBRARIES = tuple(sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PACKAGES = ("/site-packages/", "/dist-packages/", str(Path(__file__).parents[1]) + "/")
_WITHOUT_FILE = ("<ipython-input", "<timed exec>", "<string>")

_MOST_MEMBERS = 8
"""A list of at most so many of the user's own objects is taken apart."""
_LONG = 8
"""So many items a list has that a library keeps, of what it was given again and again."""
_MOST_OF_LIBRARIES = 300
"""The most attributes of a library's object among which the user's are looked for."""
_MOST_AWAITED = 50

_SUSPENDED: dict[type, Any] = {
    GeneratorType: lambda value: (value.gi_frame, value.gi_yieldfrom),
    CoroutineType: lambda value: (value.cr_frame, value.cr_await),
    AsyncGeneratorType: lambda value: (value.ag_frame, value.ag_await),
}
"""How to get the frame of a function that waits, and what it waits for."""

# What PyTorch keeps in a module: others set as an attribute, functions to be called, and what is measured with it.
_MODULES, _HOOKS = {"_modules", "_buffers"}, {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks"}
_MEASURED = {"_parameters"}


def parts_of(name: str, value: Any, place: Place) -> tuple[Iterable[Part], bool]:
    """Return the parts of an object that are to be examined, and whether that is all there is to it."""
    cls = type(value)
    if cls is FunctionType:
        return _shared_variables(value), True
    if cls is MethodType:
        return [(short_name(type(value.__self__)), value.__self__, {})] if _is_users_part(value.__self__) else (), True
    if cls in _SUSPENDED:
        return waiting_variables(value), True
    if cls is ModuleType:
        inner = module_variables(value)
        return _members(name, inner.items(), place) if _is_users_module(inner.get("__name__")) else (), True
    if type in mro(cls):
        return _members(name, class_attributes(value).items(), place) if _is_users_class(value) else (), True
    if cls in (list, tuple):
        team = [(f"{name}[{at}]", item, place) for at, item in enumerate(value)] if _is_team(value) else []
        return team, bool(team)
    if _is_users_object(cls) and linked_objects.is_node(value):
        return (), False
    if _is_users_object(cls):
        return _members(name, attributes(value), place), not library_objects.knows(cls)
    inner = instance_dict(value)
    some = islice(_members(name, inner.items(), place), _MOST_OF_LIBRARIES)
    is_network = "_modules" in inner  # PyTorch's; a metric keeps in lists what it was given
    return [part for part in some if _is_users_part(part[1]) or (is_network and _is_long(part[1]))], False


def _members(name: str, found: Iterable[tuple[str, Any]], place: Place) -> Iterator[Part]:
    """Yield attributes, or variables of a module."""
    for member, value in found:
        if member in _MODULES and type(value) is dict:
            yield from _members(name, value.items(), place)
        elif member in _HOOKS and dict in mro(type(value)):
            yield from ((name, hook, place) for hook in dict.values(value))
        elif member not in _MEASURED and not (type(member) is str and member.startswith("__")):
            yield f"{name}.{member}", value, place


def users_variables(frame: FrameType) -> Iterator[Part]:
    """Yield the variables of a function of the user's. What it shares with its inner functions is its own."""
    if is_users_file(frame.f_code.co_filename):
        for name, value in local_variables(frame):
            yield name, value, _place(frame.f_code)


def global_variables(frame: FrameType) -> Iterable[Part]:
    """Return the global variables of a function of the user's, which may be those of another module or of a script."""
    if not is_users_file(frame.f_code.co_filename):
        return ()
    module = frame.f_globals.get("__name__")
    if type(module) is not str or module == "__main__":
        return [(name, value, {}) for name, value in frame.f_globals.copy().items() if not name.startswith("__")]
    return _members(module, frame.f_globals.items(), {})


def users_objects(frame: FrameType) -> Iterator[Part]:
    """Yield the user's objects in a library's function, such as callbacks. They are named by their class."""
    if not is_users_file(frame.f_code.co_filename):
        for _, value in local_variables(frame):
            if _is_users_part(value):
                for one in value if type(value) in (list, tuple) else (value,):
                    yield short_name(type(one)), one, {}


def waiting_variables(waiting: Any) -> Iterator[Part]:
    """Yield the variables of a generator or coroutine, and of those that it waits for, if they are the user's."""
    for _ in range(_MOST_AWAITED):
        if type(waiting) not in _SUSPENDED:
            return
        frame, waiting = _SUSPENDED[type(waiting)](waiting)
        if frame is not None:
            yield from users_variables(frame)


def waiting_tasks() -> Iterator[Any]:
    """Yield the coroutines of asyncio's tasks, which are on no stack while they wait."""
    asyncio = sys.modules.get("asyncio.tasks")
    task_type: Any = getattr(asyncio, "Task", None)
    for name in ("_all_tasks", "_scheduled_tasks"):  # up to Python 3.11, and since 3.12
        for reference in getattr(getattr(asyncio, name, None), "data", set()).copy():
            if (task := reference()) is not None and task_type in mro(type(task)):
                yield task_type.get_coro(task)
    if sys.version_info >= (3, 14):  # only C knows them, of one event loop at a time; kernels have tornado's
        for loop in [*getattr(getattr(sys.modules.get("tornado.ioloop"), "IOLoop", None), "_ioloop_for_asyncio", ())]:
            for task in getattr(asyncio, "_c_all_tasks", lambda _: ())(loop):
                if task_type in mro(type(task)):
                    yield task_type.get_coro(task)


def is_users_file(file: str) -> bool:
    """Return whether code is the user's own: of a cell, or of a file outside Python's and the packages' directories."""
    if file.startswith("<"):
        return file.startswith(_WITHOUT_FILE)
    return not file.startswith(_LIBRARIES) and not any(package in file for package in _PACKAGES)


def _shared_variables(function: FunctionType) -> Iterator[Part]:
    """Yield the variables that a function of the user's shares with the one it is defined in."""
    code = function.__code__
    if is_users_file(code.co_filename):
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # it has no value yet
            if name != "__class__":  # for `super()`
                yield name, value, _place(code)


def _place(code: CodeType) -> Place:
    return {"file": code.co_filename, "function": code.co_name}


def _is_users_part(value: Any) -> bool:
    if type(value) is FunctionType:
        return value.__closure__ is not None and is_users_file(value.__code__.co_filename)
    return _is_users_object(type(value)) or (type(value) in (list, tuple) and _is_team(value))


def _is_long(value: Any) -> bool:
    return type(value) is list and len(value) >= _LONG


def _is_team(items: Any) -> bool:
    return 0 < len(items) <= _MOST_MEMBERS and all(_is_users_object(type(item)) for item in items)


def _is_users_object(cls: type) -> bool:
    return _is_users_class(cls) and not CONTAINERS.intersection(mro(cls))


def _is_users_class(cls: type) -> bool:
    return _is_users_module(class_module(cls))


@cache
def _is_users_module(name: Any) -> bool:
    if name == "__main__":
        return True
    module = sys.modules.get(name) if type(name) is str else None
    file = module_variables(module).get("__file__") if type(module) is ModuleType else None
    return type(file) is str and is_users_file(file)
