"""Tells a crash in a background thread from one in the thread that runs the cells."""

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from .traceback import Traceback


def is_background(report: Traceback) -> bool:
    """Whether the crash was in a thread that Python code started, and not in the one that runs the cells.

    The thread's outermost function shows that, where the report is not cut before it; else the other threads do. A
    thread of a library may call into Python anywhere.
    """
    frames = report.current.frames
    if not frames or any(_runs_cells(frame) for frame in frames):
        return False
    if frames[-1].short_file == "threading.py" or (not report.current.cut and frames[-1].function != "<module>"):
        return True
    return any(_runs_cells(frame) for thread in report.threads if not thread.current for frame in thread.frames)


def _runs_cells(frame: Frame) -> bool:
    """Whether this is the top level of a cell, or the kernel's main loop."""
    if frame.function == "<module>" and is_cell_file(frame.file):
        return True
    return frame.short_file == "ipykernel/kernelapp.py"
