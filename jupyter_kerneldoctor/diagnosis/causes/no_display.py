"""`no-display`: a window was to be opened where there is no screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.events import SystemState

from ..analysis.last_words import newest_text
from ..cause import Cause
from ..certainty import DOUBTED, by_words, certainty
from ..examples import cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..units import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

_DRAWS = frozenset(
    {"cv2", "vtk", "vtkmodules", "pyvista", "mayavi", "vedo", "open3d", "PyQt5", "PyQt6", "PySide2", "PySide6", "wx"}
    | {"gi", "tkinter", "glfw", "pyglet", "OpenGL", "moderngl", "glumpy", "vispy", "pygame", "turtle", "kivy", "mujoco"}
    | {"pybullet", "panda3d"}
)
"""Packages that open windows or draw with the graphics card."""

_AND_MORE = frozenset({"cv2", "open3d", "vtk", "vtkmodules", "pyvista", "mayavi", "vedo", "gi", "mujoco", "pybullet"})
"""Those of them that compute as well."""

_DRAWING = re.compile(r"show|window|render|draw|plot|view|display|visuali|screen|gui|canvas|camera", re.IGNORECASE)

_IN_A_LIBRARY_THAT_DRAWS = 0.85

_GRAPHICS_TROUBLE = re.compile(
    r"^(?:libGL error|libEGL warning|MESA: error|MESA-LOADER: failed|GLFW [Ee]rror).*", re.MULTILINE
)


class NoDisplay(Cause):
    """A library wanted to open a window, and this machine has no screen that it could reach.

    What it means
    -------------
    Windows of OpenCV, Qt, VTK and others open on the machine where the kernel runs. A server or a container has no
    screen. Some libraries then raise an error; others end the whole process.

    How it is recognised
    --------------------
    The process aborted or left, and its last words were those of a window system: Qt's "Could not load the Qt platform
    plugin", VTK's "bad X server connection", GTK's "cannot open display". With less certainty: it crashed in a library
    that draws, with no DISPLAY set, or after complaints of the graphics driver.

    What to do
    ----------
    Show pictures in the notebook: `plt.imshow(image)` in place of `cv2.imshow`. For Qt set
    `QT_QPA_PLATFORM=offscreen` before the import, for PyVista `pv.OFF_SCREEN = True`; install
    `opencv-python-headless`, or start a virtual screen with Xvfb.

    Example
    -------
    `cv2.imshow("x", image)` on a server.
    """

    id = "no-display"
    title = "No screen to open a window on"
    family = Family.NATIVE_CRASH
    last_words = (
        r"(?:Could not load|could not find) the Qt platform plugin",
        r"(?:[Cc]ould not connect to display|cannot connect to X server|bad X server connection)",
        r"(?:cannot open|[Cc]an't open|[Uu]nable to open|failed to open) display",
        r"Unable to access the X Display|The DISPLAY environment variable is missing|Cannot create GLX context",
        r"^XIO:\s+fatal IO error .* on X server",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end:
            return None
        words = death.said(self.id)
        confidence = _from_circumstances(death) if words is None else _from_words(death)
        if confidence is None:
            return None
        who = _caller(death)
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, confidence),
            f"{who} wanted to open a window or to draw {death.where()}, and {_lack(death)}.",
            evidence=(
                *evidence.exit_status(death),
                *(() if words is None else (words.evidence,)),
                *_display(death),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(exclusions.not_memory(death), exclusions.not_asked_for(death)),
            line=death.line,
            summary="Ended: no screen to draw on",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """Qt, VTK, GTK with an exit, and crashes in a library that draws."""
        cell = "cv2.imshow('x', image)"
        report = crash_report("Aborted", (cell_file(cell), 1, "<module>"))
        none = [SystemState(-5, "start", display="")]
        qt = (
            "qt.qpa.xcb: could not connect to display \n"
            'qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "/env/cv2/qt/plugins" even though it was '
            "found.\n"
            "This application failed to start because no Qt platform plugin could be initialized.\n\n"
        )
        yield recording(cell, signal="SIGABRT", crash=report, output=qt, system_states=none)
        vtk = "ERR| vtkXOpenGLRenderWindow (0x5581): bad X server connection. DISPLAY=. Aborting.\n"
        yield recording("plotter.show()", signal="SIGABRT", output=vtk, server="watched")
        yield recording("window.show()", exit_code=1, output="Gtk-WARNING **: cannot open display: \n")
        inside = ("/env/lib/python3.11/site-packages/vtkmodules/util/misc.py", 9, "render")
        crash = crash_report("Segmentation fault", inside, (cell_file("p.show()"), 1, "<module>"))
        yield recording("p.show()", signal="SIGSEGV", crash=crash, system_states=none)
        trouble = "libGL error: failed to load driver: swrast\n"
        yield recording("p.show()", signal="SIGSEGV", crash=crash, output=trouble)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """A crash in a library that draws: with a screen, or while it computes; no screen, but a crash elsewhere."""
        inside = ("/env/lib/python3.11/site-packages/vtkmodules/util/misc.py", 9, "render")
        crash = crash_report("Segmentation fault", inside, (cell_file("p.show()"), 1, "<module>"))
        yield recording(
            "p.show()", signal="SIGSEGV", crash=crash, system_states=[SystemState(-5, "start", display=":0")]
        )
        other = crash_report("Segmentation fault", ("/env/lib/python3.11/site-packages/lxml/etree.py", 5, "parse"))
        none = [SystemState(-5, "start", display="")]
        yield recording("etree.parse(f)", signal="SIGSEGV", crash=other, system_states=none)
        yield recording("import os\nos._exit(1)", exit_code=1, system_states=none)
        # A library that draws, at work on something else.
        for file, function in (("cv2/dnn/__init__.py", "forward"), ("open3d/io/__init__.py", "read_point_cloud")):
            within = (f"/env/lib/python3.11/site-packages/{file}", 5, function)
            crash = crash_report("Segmentation fault", within, (cell_file("f()"), 1, "<module>"))
            yield recording("f()", signal="SIGSEGV", crash=crash, system_states=none)
        # A program that the cell ran said so.
        said = "xclip: Can't open display: (null)\n"
        yield recording("!xclip a\netree.parse(f)", signal="SIGSEGV", crash=other, system_states=none, output=said)
        said += "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!xclip a\nstep()", signal="SIGABRT", system_states=none, output=said)


def _from_circumstances(death: Death) -> float | None:
    """How likely it is from where it crashed, without words."""
    if death.signal not in ("SIGSEGV", "SIGABRT") or not _was_drawing(death):
        return None
    if _trouble(death) is not None:
        return 0.75
    return 0.6 if death.environment.known.display == "" and _looked_for_display(death) else None


def _from_words(death: Death) -> float:
    return by_words(death, 0.96, _IN_A_LIBRARY_THAT_DRAWS if _was_drawing(death) else DOUBTED)


def _was_drawing(death: Death) -> bool:
    """Whether it crashed in a library that draws, in one of its functions that do."""
    frame = death.innermost
    if frame is None or frame.module not in _DRAWS:
        return False
    within = f"{frame.short_file.partition('/')[2]} {frame.function}"
    return frame.module not in _AND_MORE or _DRAWING.search(within) is not None


def _looked_for_display(death: Death) -> bool:
    """Whether the recording says that there is none; without a look nothing is known."""
    return any(one.display == "" for one in death.recording.system_states)


def _trouble(death: Death) -> str | None:
    found = _GRAPHICS_TROUBLE.search(newest_text(death.recording))
    return found[0] if found else None


def _caller(death: Death) -> str:
    frame = death.innermost
    if frame is not None and frame.module in _DRAWS and frame is not death.background:
        return f"The library {frame.module}"
    return "A library"


def _lack(death: Death) -> str:
    display = death.environment.known.display
    if display:
        return f"the screen that this kernel was told to use, {quote(display)}, did not answer"
    return "this kernel has no screen"


def _display(death: Death) -> Iterator[Evidence]:
    trouble, display = _trouble(death), death.environment.known.display
    if death.said("no-display") is None and trouble is not None:
        yield Evidence(f"The graphics driver complained: {quote(trouble, 200)}.", trouble[:200], None, "output")
    if display:
        yield Evidence(f"DISPLAY was set to {quote(display)}.", display, None, "environment of the process")
    elif _looked_for_display(death):
        yield Evidence(
            "Neither DISPLAY nor WAYLAND_DISPLAY was set: the kernel was not told of any screen.",
            source="environment of the process",
        )
