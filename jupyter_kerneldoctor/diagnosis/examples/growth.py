"""What a recording says of a cell that grows, in a few lines, for the examples of the rules and for tests."""

from typing import Any

from jupyter_kerneldoctor.recording.events import Frame, Growth, Held, NamedObject, StatementGrowth

from . import cell_file


def grew_in(grew_bytes: int, *frames: Frame, reads: int = 10) -> StatementGrowth:
    """Make the growth that was seen in one statement; its frames innermost first, as `stuck.own_frame` makes them."""
    return StatementGrowth(frames, grew_bytes, reads)


def growth(cell_seq: int, *statements: StatementGrowth, unknown_bytes: int = 0) -> Growth:
    """Make the growth of a cell, charged to these statements."""
    grew_bytes = unknown_bytes + sum(one.bytes for one in statements)
    return Growth(-0.5, cell_seq, grew_bytes, unknown_bytes, sum(one.reads or 0 for one in statements), statements)


def held(cell_seq: int, *objects: NamedObject, before_the_end_s: float = 1.0) -> Held:
    """Make a look at what a growing cell holds."""
    return Held(-before_the_end_s, cell_seq, objects, took_s=0.002)


def local(source: str, function: str, name: str, kind: str, size_bytes: int, **more: Any) -> NamedObject:
    """Make a local variable of a function of the cell `source`; all of it grew in this cell by default."""
    grew_bytes = more.pop("grew_bytes", size_bytes)
    return NamedObject(name, kind, size_bytes, **more, grew_bytes=grew_bytes, file=cell_file(source), function=function)
