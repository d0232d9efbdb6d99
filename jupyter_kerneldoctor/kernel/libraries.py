"""The arrays, frames and tensors of the libraries that hold most memory in notebooks: where their bytes are.

Libraries are recognised by the names of their types, and only those that the kernel has imported are asked, through
attributes that compute nothing and copy nothing.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from .statictypes import class_name, instance_dict, mro

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Part = tuple[int, int]
"""An identity, by which what is shared is counted once, and a number of bytes."""

Objects = tuple[int, "Callable[[int], Any]"]
"""A number of Python objects in an array, and how to get one of them."""


class Buffer(NamedTuple):
    """Memory of a library's object."""

    parts: tuple[Part, ...]
    shape: tuple[int, ...] = ()
    dtype: Any = None
    """What `str` makes a name of."""
    device: str | None = None
    objects: tuple[Objects, ...] = ()


def describe(value: Any, bases: tuple[type, ...]) -> Buffer | None:
    """Return what is behind an object of a library's; None for any other object, and where it cannot be told."""
    for base in bases:
        handler = _handler(base)
        if handler is not None:
            try:
                return handler(value)
            except Exception:
                return None  # another version of the library
    return None


def knows(cls: type) -> bool:
    """Whether objects of this class are measured without a search."""
    return any(_handler(base) is not None for base in mro(cls))


_handlers: dict[type, Callable[[Any], Buffer | None] | None] = {}


def _handler(base: type) -> Callable[[Any], Buffer | None] | None:
    """Who knows this class; looked up by its name once. Classes of the user's that pass by are not kept alive."""
    if base in _handlers:
        return _handlers[base]
    handler = _HANDLERS.get(class_name(base))
    if handler is not None:
        _handlers[base] = handler
    return handler


def _numpy(value: Any) -> Buffer:
    ndarray = sys.modules["numpy"].ndarray
    shape, dtype = ndarray.shape.__get__(value), ndarray.dtype.__get__(value)
    return Buffer((_owner(value),), shape, dtype, objects=_objects(value, dtype))


def _owner(array: Any) -> Part:
    """The array that has the memory. A file that is mapped holds none."""
    ndarray = sys.modules["numpy"].ndarray
    base = array
    while (next_base := ndarray.base.__get__(base)) is not None and ndarray in mro(type(next_base)):
        base = next_base
    mapped = next_base is not None and class_name(type(next_base)) == "mmap.mmap"
    size = int(ndarray.nbytes.__get__(base))
    if next_base is not None and ndarray.base.__get__(array) is not None:
        size = max(size, int(ndarray.nbytes.__get__(array)))
    key = id(base) if next_base is None else id(next_base)
    return (key, 0 if mapped else size)


def _objects(array: Any, dtype: Any) -> tuple[Objects, ...]:
    if not dtype.hasobject or dtype.names:
        return ()
    ndarray = sys.modules["numpy"].ndarray
    return ((int(ndarray.size.__get__(array)), lambda place: ndarray.item(array, place)),)


def _pandas(value: Any) -> Buffer:
    """A frame, series or index, from the arrays its columns are kept in."""
    pieces = [*_pandas_pieces(value)]
    parts = [part for piece in pieces for part in piece.parts]
    objects = [one for piece in pieces for one in piece.objects]
    manager = instance_dict(value).get("_mgr")
    shape = tuple(reversed([len(axis) for axis in manager.axes])) if manager is not None else ()
    kinds = {str(block.dtype) for block in manager.blocks} if manager is not None else {str(value.dtype)}
    dtype = kinds.pop() if len(kinds) == 1 else ("mixed" if kinds else None)
    return Buffer(tuple(parts), shape, dtype, objects=tuple(objects))


def _pandas_pieces(value: Any) -> Iterator[Buffer]:
    manager = instance_dict(value).get("_mgr")
    if manager is None:
        yield from _pandas_index(value)
        return
    for block in manager.blocks:
        yield from _pandas_array(block.values)
    for axis in manager.axes:
        yield from _pandas_index(axis)


def _pandas_index(index: Any) -> Iterator[Buffer]:
    attributes = instance_dict(index)
    if "_codes" in attributes:  # several levels
        for codes in attributes["_codes"]:
            yield from _pandas_array(codes)
        for level in attributes.get("_levels", ()):
            yield from _pandas_index(level)
    elif "_data" in attributes:
        yield from _pandas_array(attributes["_data"])


def _pandas_array(array: Any) -> Iterator[Buffer]:
    if sys.modules["numpy"].ndarray in mro(type(array)):
        yield _numpy(array)
        return
    if not class_name(type(array)).startswith("pandas."):
        return  # another library's column: what it computes when it is asked is not known
    ndarray = sys.modules["numpy"].ndarray
    inner = [getattr(array, name, None) for name in ("_ndarray", "_data", "_mask")]
    inner = [one for one in inner if ndarray in mro(type(one))]
    yield from map(_numpy, inner)
    if not inner:
        yield Buffer(((id(array), int(array.nbytes)),), dtype=array.dtype)


def _nbytes(value: Any) -> Buffer:
    """What says by itself how many bytes it has, and computes nothing for that (JAX, CuPy)."""
    device = value.device
    kind = "cuda" if class_name(type(value)).startswith("cupy.") else getattr(device, "platform", "cpu")
    name = None if kind == "cpu" else f"{kind}:{device.id}"
    return Buffer(((id(value), int(value.nbytes)),), tuple(value.shape), str(value.dtype), name)


def _arrow(value: Any) -> Buffer:
    shape = (value.num_rows, value.num_columns) if hasattr(value, "num_rows") else (len(value),)
    return Buffer(((id(value), int(value.nbytes)),), shape)


def _polars(value: Any) -> Buffer:
    inner = getattr(value, "_df", None)
    if inner is not None:
        return Buffer(((id(inner), int(inner.estimated_size())),), tuple(inner.shape()))
    return Buffer(((id(value._s), int(value._s.estimated_size())),), (int(value._s.len()),), str(value._s.dtype()))  # noqa: SLF001 - polars has no other way without a copy


def _torch(value: Any) -> Buffer | None:
    torch = sys.modules["torch"]
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - a subclass's own code must not run
        if value.device.type == "meta":
            return None
        storage = value.untyped_storage()
        device = None if value.device.type == "cpu" else str(value.device)
        parts = [(storage.data_ptr(), storage.nbytes())]
        if value.is_leaf and value.requires_grad and value.grad is not None:
            gradient = value.grad.untyped_storage()
            parts.append((gradient.data_ptr(), gradient.nbytes()))
        return Buffer(tuple(parts), tuple(value.shape), str(value.dtype).removeprefix("torch."), device)


def _torch_module(value: Any) -> Buffer | None:
    """A model: its parameters, their gradients and its buffers."""
    parts: list[Part] = []
    devices: set[str | None] = set()
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < 500:
        module = instance_dict(waiting.pop())
        if id(module) in seen:
            continue
        seen.add(id(module))
        tensors = [*(module.get("_parameters") or {}).values(), *(module.get("_buffers") or {}).values()]
        for buffer in (_torch(tensor) for tensor in tensors if tensor is not None):
            if buffer is not None:
                parts += buffer.parts
                devices.add(buffer.device)
        waiting += [child for child in (module.get("_modules") or {}).values() if child is not None]
    return Buffer(tuple(parts), device=devices.pop() if len(devices) == 1 else None)


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
    dtype = str(data.dtype) if data is not None else None
    return Buffer(tuple(_owner(array) for array in arrays), tuple(attributes["_shape"]), dtype)


def _array(value: Any) -> Buffer:
    array = sys.modules["array"].array
    return Buffer(((id(value), array.__sizeof__(value)),), (array.__len__(value),), array.typecode.__get__(value))


_HANDLERS: dict[str, Callable[[Any], Buffer | None]] = {
    "numpy.ndarray": _numpy,
    "pandas.core.frame.DataFrame": _pandas,
    "pandas.core.series.Series": _pandas,
    "pandas.core.indexes.base.Index": _pandas,
    "pandas.DataFrame": _pandas,
    "pandas.Series": _pandas,
    "pandas.Index": _pandas,
    "polars.dataframe.frame.DataFrame": _polars,
    "polars.series.series.Series": _polars,
    "pyarrow.lib.Table": _arrow,
    "pyarrow.lib.RecordBatch": _arrow,
    "pyarrow.lib.ChunkedArray": _arrow,
    "pyarrow.lib.Array": _arrow,
    "torch.Tensor": _torch,
    "torch._tensor.Tensor": _torch,
    "torch.nn.modules.module.Module": _torch_module,
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
}
"""By module and name of a class; classes derived from it are treated alike."""


def axes_of(figure: dict[str, Any]) -> list[Any]:
    """The axes of a matplotlib figure, from its attributes."""
    stack = instance_dict(figure.get("_axstack"))
    axes = stack.get("_axes")
    return list(axes) if type(axes) is dict else []


def canvas_bytes(figure: dict[str, Any]) -> int:
    """The picture that a figure was last drawn into."""
    renderer = instance_dict(instance_dict(figure.get("canvas")).get("renderer"))
    width, height = renderer.get("width"), renderer.get("height")
    return 4 * int(width) * int(height) if width and height else 0
