"""Examines the user's objects without running any of their code: no `__class__`, `__getattr__`, `__len__`, properties.

`isinstance` and `__class__` may make a lazy proxy compute; `type(x)` and the slots of `type` itself do not.
"""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_mro = type.__dict__["__mro__"].__get__
_name = type.__dict__["__name__"].__get__
_module = type.__dict__["__module__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_flags = type.__dict__["__flags__"].__get__

_module_namespace: Any = vars(ModuleType)["__dict__"]

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a `class` statement, or by a modern extension module


def mro(cls: type) -> tuple[type, ...]:
    """Return the class and its bases, in the order they are searched."""
    return _mro(cls) or (cls,)


def class_name(cls: type) -> str:
    """Return module and name: "builtins.list", "pandas.core.frame.DataFrame"."""
    return f"{class_module(cls) or '?'}.{_name(cls)}"


def class_module(cls: type) -> str | None:
    """Return the name of the module in which a class was defined."""
    module = _module(cls)
    return module if type(module) is str else None


_PUBLIC = {"_io": "io"}
"""By the module that C code names, the one that people import."""


def short_name(cls: type) -> str:
    """Return the type's name as people write it: "list", "pandas.DataFrame", "Net" for the notebook's own class."""
    name = class_name(cls)
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    return last if package in ("builtins", "__main__") else f"{_PUBLIC.get(package, package)}.{last}"


def is_heap_type(cls: type) -> bool:
    """Return whether a class was made by a `class` statement, or by a modern extension module."""
    return bool(_flags(cls) & _HEAP_TYPE)


def instance_dict(value: Any) -> dict[str, Any]:
    """Return the attributes set on an object itself; none where the class computes its `__dict__`."""
    for cls in mro(type(value)):
        found = _namespace(cls).get("__dict__")
        if found is not None:
            passive = type(found) is GetSetDescriptorType and (is_heap_type(cls) or cls is BaseException)
            attributes = found.__get__(value) if passive else None
            return attributes if type(attributes) is dict else {}
    return {}


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of an object's attributes: those in its `__dict__`, and those in `__slots__`."""
    yield from instance_dict(value).items()
    for cls in mro(type(value)):
        for name, member in _namespace(cls).items() if is_heap_type(cls) else ():
            if type(member) is MemberDescriptorType:
                try:
                    yield name, member.__get__(value)
                except AttributeError:
                    pass  # it has no value yet


def class_attributes(cls: type) -> Mapping[str, Any]:
    """Return the attributes of a class itself."""
    found: Mapping[str, Any] = _namespace(cls)
    return found


def module_variables(module: ModuleType) -> dict[str, Any]:
    """Return the variables of a module, which may have a `__getattr__` of its own."""
    variables: dict[str, Any] = _module_namespace.__get__(module)
    return variables
