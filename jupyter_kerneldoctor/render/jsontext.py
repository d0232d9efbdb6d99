"""Documents as JSON that every parser accepts."""

import json
import math
from typing import Any


def render(value: Any) -> str:
    """Return valid JSON in ASCII: lone surrogates as escapes, numbers that JSON lacks as null."""
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=True, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
