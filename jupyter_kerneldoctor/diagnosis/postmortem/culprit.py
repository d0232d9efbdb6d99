"""Where it happened: the cell and line, the user's own statement, and the objects that memory grew in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jupyter_kerneldoctor.recording.model import Cell


@dataclass(frozen=True)
class Culprit:
    """The cell that was running at the death (after an `exit()` obeyed later: the one that asked), and the line."""

    source: str
    execution_count: int | None = None
    cell_id: str | None = None
    truncated: bool = False
    line: int | None = None
    """1-based, in the source as the user sees it, magics included."""

    @classmethod
    def at(cls, cell: Cell, line: int | None) -> Culprit:
        """Return a recorded cell, and the line of it that is to blame."""
        return cls(cell.source, cell.execution_count, cell.cell_id, cell.truncated, line)

    @property
    def line_source(self) -> str | None:
        """The text of the line."""
        lines = self.source.split("\n")
        return lines[self.line - 1] if self.line is not None and 0 < self.line <= len(lines) else None

    def to_json(self) -> dict[str, Any]:
        """Return the public form."""
        return {**asdict(self), "line_source": self.line_source}


@dataclass(frozen=True)
class Caller:
    """A frame of the user's on the way from the cell that ran to the statement."""

    execution_count: int | None
    cell_id: str | None
    line: int
    function: str | None
    """None for the top level of a cell."""
    file: str | None
    """Of a module of the user's; None for a cell."""


@dataclass(frozen=True)
class Statement:
    """The user's own innermost statement: in a function of another cell, too, or in a file beside the notebook."""

    execution_count: int | None = None
    cell_id: str | None = None
    line: int = 0
    """Its first line in the cell or file; `end_line` its last, None where that is not known."""
    end_line: int | None = None
    source: str | None = None
    function: str | None = None
    """`Encoder.forward`; None for the top level of a cell."""
    file: str | None = None
    via: tuple[Caller, ...] = ()
    """The frames from the cell that ran down to it."""
    cell_source: str | None = None
    """The whole cell it stands in; None for a file."""


@dataclass(frozen=True)
class Grown:
    """An object that memory grew in, or that held much of it when the cell began."""

    name: str
    """As the user would write it: `kept`, `self.seen`."""
    type: str | None = None
    length: int | None = None
    """How many items a list, dict or the like had."""
    shape: list[int] | None = None
    dtype: str | None = None
    bytes: int | None = None
    """None where nobody looked, and only the code shows that it keeps what grew."""
    grew_bytes: int | None = None
    """How much of that was added while the cell ran; None where that is not known."""
    where: str | None = None
    """ "local of fit, cell [4]"."""
    length_before: int | None = None
    item_type: str | None = None
    with_graph: bool = False
    """Whether it keeps PyTorch's graphs for gradients, which are not in `bytes`."""
    unmeasured: bool = False
    """Whether its items keep memory of a library's own, which is not in `bytes`."""
