"""Functions that make far more than is asked of them, and what to call in their place: one entry for each.

An entry stands in the file of its field; `WAYS` has all of them. The first that was running is proposed. Those of
`GENERAL` save something wherever they are written, and are asked after all rules that know more; those of `LIBRARIES`
know the library only, and are asked where nothing else is known.
"""

from collections.abc import Iterable
from importlib import import_module

from .libraries import LIBRARIES
from .way import LesserWay, counterexamples, examples, first_running

__all__ = ["GENERAL", "LIBRARIES", "WAYS", "LesserWay", "counterexamples", "examples", "first_running"]

_FIELDS = (
    *("neighbours", "pairs", "generation", "scores", "layers", "forecasts", "alignment", "all_at_once", "wide_tables"),
    *("estimators", "maps", "in_parts", "copies"),
    *("sparse_columns", "pictures", "arrays", "numerics", "row_objects", "tables", "texts", "engines", "files"),
    *("pages", "matrices", "graphs", "drawings", "long_texts", "exact_numbers", "sciences", "statistics", "models"),
    *("batches", "networks", "wide_layers", "agents", "learning", "tensors", "training"),
)
"""The files, in the order in which they are asked."""


def _ways(kind: str, fields: Iterable[str]) -> tuple[LesserWay, ...]:
    return tuple(way for field in fields for way in getattr(import_module(f".{field}", __name__), kind))


WAYS = _ways("WAYS", _FIELDS)
GENERAL = _ways(
    "GENERAL", ("matrices", "files", "row_objects", "tables", "doubles", "arrays", "pictures", "pages", "texts")
)
