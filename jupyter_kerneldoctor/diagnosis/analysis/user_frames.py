"""The user's own frames of a stack: of cells, and of files beside the notebook; libraries and wrappers are left out."""

import posixpath
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.model import Cell

from ..code.cellfiles import user_line
from ..code.notebook import Notebook
from .frame_names import FrameNames

Find: TypeAlias = Callable[[Callable[[Notebook], Any]], Any]
"""Searches the code, in the time that there is for it: what it is given looks at the notebook."""
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class UserFrame(NamedTuple):
    """A function of the user's, or a cell, that was being executed."""

    frame: Frame
    cell: Cell | None
    """The cell whose code it is; None for a file."""
    line: int
    """In the cell as the user sees it, or in the file."""

    @property
    def is_cell(self) -> bool:
        """Whether it is the top level of a cell or file, and no function."""
        return self.frame.function.startswith("<module>") or self.frame.function == "<cell line: 1>"


def user_frames(frames: Iterable[Frame], names: FrameNames, notebook: str | None) -> tuple[UserFrame, ...]:
    """Return the user's frames of a stack, innermost first. `notebook` is the notebook's path, where it is known."""
    folder = posixpath.dirname(notebook) if notebook else ""
    found = []
    for frame in frames:
        cell = names.cell_of(frame)
        line = frame.line if cell is None else user_line(cell, frame)
        if line is not None and (cell is not None or _is_beside(frame, folder)):
            found.append(UserFrame(frame, cell, line))
    return tuple(one for one, outer in zip(found, (*found[1:], None), strict=False) if not _is_within(one, outer))


def _is_within(one: UserFrame, outer: UserFrame | None) -> bool:
    """Return whether it is a comprehension, which had a frame of its own before Python 3.12 (PEP 709)."""
    return one.frame.function in _COMPREHENSIONS and outer is not None and outer.cell is one.cell


def _is_beside(frame: Frame, folder: str) -> bool:
    return len(folder) > 1 and frame.file.startswith(f"{folder}/") and frame.module is None
