"""How the frames of a stack are named to the user: by the cell they belong to, or by the library's file."""

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from ..code.cellfiles import CellFiles, user_line
from ..units import cell_name, quote


class FrameNames(CellFiles):
    """Names the frames of stacks that were read while these cells ran."""

    def place(self, frame: Frame) -> str:
        """Return "cell [1], line 4" as the user sees it, or "numpy/core.py, line 7"."""
        owner = self.cell_of(frame)
        line = frame.line if owner is None else user_line(owner, frame)
        if owner is None and is_cell_file(frame.file):  # its source was not recorded, or not as a whole
            return "a cell"
        name = frame.short_file if owner is None else cell_name(owner.execution_count)
        return name if line is None else f"{name}, line {line}"

    def name(self, frame: Frame) -> str:
        """Return the function and its place: "`w` (cell [1], line 4)"."""
        return self.place(frame) if frame.function == "<module>" else f"{quote(frame.function)} ({self.place(frame)})"
