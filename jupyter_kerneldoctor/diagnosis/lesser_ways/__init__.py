"""Functions that make far more than is asked of them, and what to call in their place: one entry for each.

An entry stands in the file of its field; `WAYS` has all of them. The first that was running is proposed.
"""

from . import arrays, files, tables, training
from .way import LesserWay, names, running

__all__ = ["WAYS", "LesserWay", "names", "running"]

WAYS = (*arrays.WAYS, *tables.WAYS, *files.WAYS, *training.WAYS)
