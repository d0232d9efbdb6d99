"""The types of numbers, and how many bytes one takes."""

import ast

from .calls import last_name

ITEM_BYTES = {
    **dict.fromkeys(("bool", "bool_", "int8", "uint8", "i1", "u1"), 1),
    **dict.fromkeys(("float16", "bfloat16", "half", "int16", "uint16", "f2", "i2", "u2"), 2),
    **dict.fromkeys(("float32", "int32", "uint32", "single", "f4", "i4", "u4"), 4),
    **dict.fromkeys(("float64", "int64", "uint64", "double", "long", "float", "int", "f8", "i8", "u8"), 8),
    **dict.fromkeys(("complex64", "c8"), 8),
    **dict.fromkeys(("complex128", "complex", "c16"), 16),
}
"""By the name of the type, as NumPy, PyTorch or Python spell it."""


def written_dtype(node: ast.expr | None) -> str | None:
    """Return the name of a type as it is written: `np.float32`, `"f4"`, `float`."""
    name = node.value if isinstance(node, ast.Constant) else last_name(node)
    return name if isinstance(name, str) and name in ITEM_BYTES else None
