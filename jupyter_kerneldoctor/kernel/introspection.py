"""Looks at the user's objects without running any of their code: no `__class__`, `__getattr__`, `__len__`, properties.

A lazy proxy that is asked for its class computes; `type(x)` and the slots of `type` itself do not ask it.
"""

from __future__ import annotations

from types import GetSetDescriptorType
from typing import Any

_mro = type.__dict__["__mro__"].__get__
_name = type.__dict__["__name__"].__get__
_module = type.__dict__["__module__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_flags = type.__dict__["__flags__"].__get__

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a `class` statement, or by a modern extension module


def mro(cls: type) -> tuple[type, ...]:
    """The class and its bases, in the order they are searched."""
    return _mro(cls) or (cls,)


def class_name(cls: type) -> str:
    """Module and name: "builtins.list", "pandas.core.frame.DataFrame"."""
    module = _module(cls)
    return f"{module if type(module) is str else '?'}.{_name(cls)}"


def instance_dict(value: Any) -> dict[str, Any]:
    """The attributes set on an object itself; empty where there are none, or the class computes them."""
    for cls in mro(type(value)):
        found = _namespace(cls).get("__dict__")
        if found is not None:
            passive = type(found) is GetSetDescriptorType and (_flags(cls) & _HEAP_TYPE or cls is BaseException)
            attributes = found.__get__(value) if passive else None
            return attributes if type(attributes) is dict else {}
    return {}
