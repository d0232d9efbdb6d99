import re
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import SystemState

from ..analysis.last_words import newest_text, plugin_of_another_qt
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..conflicts import by_words
from ..examples import crash_in, crash_report, recording

_DRAWS = frozenset(
    {"cv2", "vtk", "vtkmodules", "pyvista", "mayavi", "vedo", "open3d", "PyQt5", "PyQt6", "PySide2", "PySide6", "wx"}
    | {"gi", "tkinter", "glfw", "pyglet", "OpenGL", "moderngl", "glumpy", "vispy", "pygame", "turtle", "kivy", "mujoco"}
    | {"pybullet", "panda3d"}
)
"""Packages that open windows or draw with the graphics card."""

_AND_MORE = frozenset({"cv2", "open3d", "vtk", "vtkmodules", "pyvista", "mayavi", "vedo", "gi", "mujoco", "pybullet"})
"""Those of them that compute as well."""

_DRAWING = re.compile(r"show|window|render|draw|plot|view|display|visuali|screen|gui|canvas|camera", re.IGNORECASE)

_GRAPHICS_TROUBLE = re.compile(
    r"^(?:libGL error|libEGL warning|MESA: error|MESA-LOADER: failed|GLFW [Ee]rror).*", re.MULTILINE
)

_UNREACHABLE = re.compile(r"\bdisplay\b|X server", re.IGNORECASE)

_PACKAGES = "/env/lib/python3.11/site-packages"


class NoDisplay(Cause):
    """A library wanted to open a window, and this machine has no screen that it could reach.

    What it means: Windows of OpenCV, Qt, VTK and others open on the machine where the kernel runs. A server or a
    container has no screen. Some libraries then raise an error; others end the whole process.

    How it is recognised: The process aborted or left, and its last words were those of a window system: Qt's "Could not
    load the Qt platform plugin", VTK's "bad X server connection", GTK's "cannot open display". With less certainty: it
    crashed in a library that draws, with no DISPLAY set, or after complaints of the graphics driver.

    What to do: Show pictures in the notebook: `plt.imshow(image)` in place of `cv2.imshow`. For Qt set
    `QT_QPA_PLATFORM=offscreen` before the import, for PyVista `pv.OFF_SCREEN = True`. Install `opencv-python-headless`,
    or start a virtual screen with Xvfb.

    Example: `cv2.imshow("x", image)` on a server.
    """

    id, title, family = "no-display", "No screen to open a window on", Family.NATIVE_CRASH
    last_words = (
        r"(?:Could not load|could not find) the Qt platform plugin",
        r"(?:[Cc]ould not connect to display|cannot connect to X server|bad X server connection)",
        r"(?:cannot open|[Cc]an't open|[Uu]nable to open|failed to open) display",
        r"Unable to access the X Display|The DISPLAY environment variable is missing|Cannot create GLX context",
        r"^XIO:\s+fatal IO error .* on X server",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or plugin_of_another_qt(death.text):
            return None
        is_said, draws = death.said(self.id) is not None, _was_drawing(death)
        certainty = (
            by_words(death, Certainty.PROVEN, Certainty.LIKELY if draws else Certainty.WEAK)
            if is_said
            else _by_circumstances(death)
        )
        if certainty is None:
            return None
        if lacks_library := is_said and _lacks_library(death):
            certainty = Certainty.LIKELY
        frame, display = death.innermost, death.environment.known.display
        is_known = frame is not None and frame.module in _DRAWS and frame is not death.background
        who = f"The library {frame.module}" if frame is not None and is_known else "A library"
        lack = f"the screen {quote(display)} did not answer" if display else "this kernel has no screen"
        if lacks_library:
            lack = (
                "Qt could not load what draws on it: perhaps a library of the system is missing, often libxcb-cursor0"
            )
        return self.finding(
            death,
            certainty,
            f"{who} wanted to open a window {death.where()}, and {lack}.",
            _screen(death, None if is_said else _complaint(death)),
            summary="Ended: no screen to draw on",
        )

    def fires_on(self) -> Recordings:
        """Qt, VTK, GTK with an exit, and crashes in a library that draws."""
        cell = "cv2.imshow('x', image)"
        none = [SystemState(-5, "start", display="")]
        qt = (
            "qt.qpa.xcb: could not connect to display \n"
            'qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "/env/cv2/qt/plugins" even though it was '
            "found.\n"
            "This application failed to start because no Qt platform plugin could be initialized.\n\n"
        )
        crash = crash_in(cell, message="Aborted")
        yield recording(cell, signal="SIGABRT", crash=crash, output=qt, system_states=none)
        missing = 'qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "" even though it was found.\n'
        screen = [SystemState(-5, "start", display=":0")]
        yield recording(cell, signal="SIGABRT", crash=crash, output=missing, system_states=screen)
        vtk = "ERR| vtkXOpenGLRenderWindow (0x5581): bad X server connection. DISPLAY=. Aborting.\n"
        yield recording("plotter.show()", signal="SIGABRT", output=vtk, server="watched")
        yield recording("window.show()", exit_code=1, output="Gtk-WARNING **: cannot open display: \n")
        crash = crash_in("p.show()", (f"{_PACKAGES}/vtkmodules/util/misc.py", 9, "render"))
        yield recording("p.show()", signal="SIGSEGV", crash=crash, system_states=none)
        trouble = "libGL error: failed to load driver: swrast\n"
        yield recording("p.show()", signal="SIGSEGV", crash=crash, output=trouble)

    def silent_on(self) -> Recordings:
        """A crash in a library that draws: with a screen, or while it computes; no screen, but a crash elsewhere."""
        crash = crash_in("p.show()", (f"{_PACKAGES}/vtkmodules/util/misc.py", 9, "render"))
        screen = [SystemState(-5, "start", display=":0")]
        yield recording("p.show()", signal="SIGSEGV", crash=crash, system_states=screen)
        other = crash_report("Segmentation fault", (f"{_PACKAGES}/lxml/etree.py", 5, "parse"))
        none = [SystemState(-5, "start", display="")]
        yield recording("etree.parse(f)", signal="SIGSEGV", crash=other, system_states=none)
        yield recording("import os\nos._exit(1)", exit_code=1, system_states=none)
        # A library that draws, at work on something else.
        for file, function in (("cv2/dnn/__init__.py", "forward"), ("open3d/io/__init__.py", "read_point_cloud")):
            crash = crash_in("f()", (f"{_PACKAGES}/{file}", 5, function))
            yield recording("f()", signal="SIGSEGV", crash=crash, system_states=none)
        # A program that the cell ran said so.
        said = "xclip: Can't open display: (null)\n"
        yield recording("!xclip a\netree.parse(f)", signal="SIGSEGV", crash=other, system_states=none, output=said)
        said += "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!xclip a\nstep()", signal="SIGABRT", system_states=none, output=said)


def _lacks_library(death: Death) -> bool:
    """Whether Qt complains of its plugin alone, though a screen is set: one that does not answer, Qt names as well."""
    return bool(death.environment.known.display) and _UNREACHABLE.search(newest_text(death.recording)) is None


def _by_circumstances(death: Death) -> Certainty | None:
    """Return how likely it is from where it crashed, without words."""
    if death.signal not in ("SIGSEGV", "SIGABRT") or not _was_drawing(death):
        return None
    if _complaint(death) is not None:
        return Certainty.LIKELY
    return Certainty.POSSIBLE if death.environment.known.display == "" and _looked_for_display(death) else None


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


def _complaint(death: Death) -> str | None:
    found = _GRAPHICS_TROUBLE.search(newest_text(death.recording))
    return found[0] if found else None


def _screen(death: Death, complaint: str | None) -> Iterator[Evidence]:
    display, source = death.environment.known.display, "environment of the process"
    if complaint is not None:
        yield Evidence(f"The graphics driver complained: {quote(complaint, 200)}.", complaint[:200], None, "output")
    if display:
        yield Evidence(f"DISPLAY was set to {quote(display)}.", display, None, source)
    elif _looked_for_display(death):
        yield Evidence("The kernel knew of no screen: DISPLAY and WAYLAND_DISPLAY were not set.", source=source)
