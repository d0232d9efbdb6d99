"""Finds the memory of the arrays, data frames and tensors of libraries.

Objects are recognised by the names of their types, and examined through attributes that compute and copy nothing. No
library is imported.
"""

from __future__ import annotations

import gc
import math
import sys
import time
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from .buffers import Buffer, of_array, owner
from .dataframes import of_arrow, of_pandas, of_polars
from .introspection import class_name, instance_dict, mro

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .buffers import Part


_MOST_STATES = 100
"""Of about so many parameters the state in an optimiser is looked at; the others are taken to be like them."""

CACHE: Any = type(lru_cache(len))
_MOST_CACHED = 10_000
"""Of the results of a function with a limited cache, which cannot be listed in part."""


def cached_results(function: Any, most: int) -> tuple[int, int, list[Any]]:
    """Return how many results `functools.lru_cache` keeps of a function, the size of their table, and some of them."""
    _, _, limit, count = CACHE.cache_info(function)
    if limit is not None and limit > _MOST_CACHED:
        return count, 0, []
    kept = gc.get_referents(function)
    table = next(one for one in kept if type(one) is dict)
    some = dict.values(table) if limit is None else kept[2 : 3 * count : 3]
    return count, dict.__sizeof__(table), [*islice(some, most)]


def describe(value: Any, bases: tuple[type, ...], until_s: float) -> Buffer | None:
    """Return the memory of a library's object; None for any other object, and where it is unknown.

    The tensors of a model are added up until `until_s` (time.thread_time).
    """
    for base in bases:
        handler = _handler(base)
        if handler is not None:
            try:
                return _torch_module(value, until_s) if handler is _torch_module else handler(value)
            except Exception:
                return None  # another version of the library
    return None


def knows(cls: type) -> bool:
    """Return whether objects of this class are measured without a search."""
    return any(_handler(base) is not None for base in mro(cls))


_handlers: dict[type, Callable[..., Buffer | None]] = {}


def _handler(base: type) -> Callable[..., Buffer | None] | None:
    """Return the handler of a class, looked up by name once. The user's own classes are not kept alive."""
    if base in _handlers:
        return _handlers[base]
    handler = _HANDLERS.get(class_name(base))
    if handler is not None:
        _handlers[base] = handler
    return handler


def _nbytes(value: Any) -> Buffer:
    """Describe an array whose `nbytes` computes nothing (JAX, CuPy)."""
    device = value.device
    kind = "cuda" if class_name(type(value)).startswith("cupy.") else getattr(device, "platform", "cpu")
    name = None if kind == "cpu" else f"{kind}:{device.id}"
    return Buffer(((id(value), int(value.nbytes)),), tuple(value.shape), str(value.dtype), name)


def _torch(value: Any) -> Buffer | None:
    with _without_subclass_code():
        if value.is_meta:
            return None
        dtype = str(value.dtype).removeprefix("torch.")
        has_graph = value.requires_grad and not value.is_leaf
        device = _torch_device(value.device)
        return Buffer((_torch_part(value),), tuple(value.shape), dtype, device, has_graph=has_graph)


def _torch_module(value: Any, until_s: float) -> Buffer:
    """Describe a model: its parameters and its buffers.

    Gradients are left out: a backward pass writes `grad` without holding the GIL, so that reading it in another thread
    can end the process.
    """
    parts: list[Part] = []
    devices: set[Any] = set()
    with _without_subclass_code():
        for tensor in _torch_tensors(value):
            if time.thread_time() > until_s:
                break
            if tensor is not None and not tensor.is_meta:
                parts.append(_torch_part(tensor))
                devices.add(tensor.device)
    return Buffer(tuple(parts), device=_torch_device(devices.pop()) if len(devices) == 1 else None)


def _torch_optimizer(value: Any) -> Buffer:
    """Describe an optimiser: what it keeps of each parameter, such as Adam's two moments."""
    states = list(dict.values(instance_dict(value)["state"]))
    some = states[:: 1 + len(states) // _MOST_STATES]
    kept = [one for state in some for one in dict.values(state)]
    kept += [one for each in kept if type(each) is list for one in each]  # L-BFGS's steps
    tensor = sys.modules["torch"].Tensor
    with _without_subclass_code():
        found = [one for one in kept if tensor in mro(type(one)) and not one.is_meta]
        parts, devices = [_torch_part(one) for one in found], {one.device for one in found}
    device = _torch_device(devices.pop()) if len(devices) == 1 else None
    return Buffer(tuple(parts), device=device, scale=len(states) / max(1, len(some)))


def _without_subclass_code() -> Any:
    """Return a context in which no code of a tensor's subclass runs."""
    return sys.modules["torch"]._C.DisableTorchFunctionSubclass()  # noqa: SLF001 - there is no public name


def _torch_part(tensor: Any) -> Part:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _torch_device(device: Any) -> str | None:
    return None if device.type == "cpu" else str(device)


def _torch_tensors(model: Any) -> Iterator[Any]:
    """Yield the tensors of a model and of the models within it, and None after each model, so that time is checked."""
    waiting, seen = [model], set[int]()
    while waiting:
        module = instance_dict(waiting.pop())
        if id(module) not in seen:
            seen.add(id(module))
            yield from (module.get("_parameters") or {}).values()
            yield from (module.get("_buffers") or {}).values()
            waiting += [child for child in (module.get("_modules") or {}).values() if child is not None]
            yield None


def _tensorflow(value: Any) -> Buffer:
    tensor = value
    shape, dtype = tuple(int(length) for length in tensor.shape), tensor.dtype
    place = str(tensor.device).rpartition("device:")[2]
    device = None if place.startswith("CPU") or not place else place.lower().replace("gpu", "cuda")
    return Buffer(((id(value), math.prod(shape) * int(dtype.size)),), shape, str(dtype.name), device)


_PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2}
"""Of Pillow's modes (its "Concepts" page); all others take four."""


def _pillow(value: Any) -> Buffer | None:
    attributes = instance_dict(value)
    width, height = attributes["_size"]
    if attributes.get("_im", attributes.get("im")) is None:
        return Buffer((), (height, width))  # opened, not yet read
    mode = attributes["_mode"]
    return Buffer(((id(value), width * height * _PIXEL_BYTES.get(mode, 4)),), (height, width), mode)


def _scipy_sparse(value: Any) -> Buffer:
    numpy = sys.modules["numpy"]
    attributes = instance_dict(value)
    arrays = [found for found in attributes.values() if numpy.ndarray in mro(type(found))]
    arrays += [found for found in attributes.get("coords", ()) if numpy.ndarray in mro(type(found))]
    data = attributes.get("data")
    dtype = numpy.ndarray.dtype.__get__(data) if numpy.ndarray in mro(type(data)) else None
    return Buffer(tuple(owner(array) for array in arrays), tuple(attributes["_shape"]), dtype)


def _array(value: Any) -> Buffer:
    array = sys.modules["array"].array
    return Buffer(((id(value), array.__sizeof__(value)),), (array.__len__(value),), array.typecode.__get__(value))


def _file_in_memory(value: Any) -> Buffer:
    """Describe a BytesIO, or a StringIO by how far it was written: a byte for each character, at least."""
    io = sys.modules["_io"]
    is_bytes = io.BytesIO in mro(type(value))
    return Buffer(((id(value), io.BytesIO.__sizeof__(value) if is_bytes else io.StringIO.tell(value)),))


def _shared_memory(value: Any) -> Buffer:
    attributes = instance_dict(value)
    return Buffer(((id(value), int(attributes["_size"]) if attributes["_mmap"] is not None else 0),))


_HANDLERS: dict[str, Callable[..., Buffer | None]] = {
    "numpy.ndarray": of_array,
    "pandas.core.frame.DataFrame": of_pandas,
    "pandas.core.series.Series": of_pandas,
    "pandas.core.indexes.base.Index": of_pandas,
    "pandas.DataFrame": of_pandas,
    "pandas.Series": of_pandas,
    "pandas.Index": of_pandas,
    "polars.dataframe.frame.DataFrame": of_polars,
    "polars.series.series.Series": of_polars,
    "pyarrow.lib.Table": of_arrow,
    "pyarrow.lib.RecordBatch": of_arrow,
    "pyarrow.lib.ChunkedArray": of_arrow,
    "pyarrow.lib.Array": of_arrow,
    "torch.Tensor": _torch,
    "torch._tensor.Tensor": _torch,
    "torch.nn.modules.module.Module": _torch_module,
    "torch.optim.optimizer.Optimizer": _torch_optimizer,
    "tensorflow.python.framework.ops.EagerTensor": _tensorflow,
    "tensorflow.python.ops.resource_variable_ops.BaseResourceVariable": _tensorflow,
    "jaxlib.xla_extension.ArrayImpl": _nbytes,
    "jaxlib._jax.ArrayImpl": _nbytes,
    "jax._src.array.ArrayImpl": _nbytes,
    "cupy.ndarray": _nbytes,
    "cupy._core.core.ndarray": _nbytes,
    "PIL.Image.Image": _pillow,
    "scipy.sparse._base._spbase": _scipy_sparse,
    "scipy.sparse._matrix.spmatrix": _scipy_sparse,
    "array.array": _array,
    "_io.BytesIO": _file_in_memory,
    "_io.StringIO": _file_in_memory,
    "multiprocessing.shared_memory.SharedMemory": _shared_memory,
}
"""By module and name of a class; subclasses are treated alike."""


def axes_of(figure: dict[str, Any]) -> list[Any]:
    """Return the axes of a matplotlib figure, given its attributes."""
    stack = instance_dict(figure.get("_axstack"))
    axes = stack.get("_axes")
    return list(axes) if type(axes) is dict else []


def canvas_bytes(figure: dict[str, Any]) -> int:
    """Return the size of the image that a matplotlib figure was last drawn into, given its attributes."""
    renderer = instance_dict(instance_dict(figure.get("canvas")).get("renderer"))
    width, height = renderer.get("width"), renderer.get("height")
    return 4 * int(width) * int(height) if width and height else 0
