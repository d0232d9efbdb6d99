import ast
import re
from contextlib import suppress

from ...code.calls import last_name
from ...code.trees import after_future
from ...edits import Changes, EditRefusedError, import_as, insert_before, replace, replace_magic
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote

_WINDOWS = re.compile(r"%matplotlib\s+(qt\w*|tk|gtk\w*|wx|osx)")
_BACKENDS = re.compile(r"(qt|tk|gtk|wx|macosx)\w*", re.IGNORECASE)
_WAITS = ("cv2.waitKey", "cv2.destroyAllWindows", "cv2.namedWindow", "cv2.destroyWindow", "cv2.waitKeyEx")
_QT = ("PyQt5", "PyQt6", "PySide2", "PySide6", "pyqtgraph", "napari", "qtpy")
_QT_SAID = re.compile(r"qt\.qpa|Qt platform plugin")
_QT_OFF = 'os.environ["QT_QPA_PLATFORM"] = "offscreen"'
_FOR_A_USER = frozenset({"exec", "exec_", "selectROI", "selectROIs", "setMouseCallback", "waitKey", "mainloop"})
_GRAB = f"""import os
{_QT_OFF}  # in the first cell, after a restart
window.show()
app.processEvents()
window.grab().save("window.png")  # in place of app.exec(), which waits for a user
x, y, width, height = 10, 10, 200, 100  # in place of cv2.selectROI"""
_INLINE = "'module://matplotlib_inline.backend_inline'"


class HeadlessBackend(Fix):
    """Draw into the notebook, not into a window.

    What it does: A kernel on a server has no screen. `plt.imshow` shows a picture below the cell where `cv2.imshow`
    opens a window; `%matplotlib inline` does so for plots; `QT_QPA_PLATFORM=offscreen` lets Qt work without any screen.
    For VTK and all else there is a snippet with a virtual screen.

    When it is offered: The kernel ended because a library found no screen to open a window on.

    What it costs: Windows that wait for keys or a mouse do not work: nobody could have seen them.
    """

    id, title, causes = "headless-backend", "Draw without a screen", ("no-display",)

    FIRES = [
        Case(
            "import cv2",
            "cv2.imshow('x', cv2.imread('a.jpg'))\ncv2.waitKey(0)",
            becomes="from IPython.display import Image\nfrom IPython.display import display\n"
            "display(Image(cv2.imencode(\".png\", cv2.imread('a.jpg'))[1].tobytes()))\npass",
        ),
        Case(
            "import cv2\nfrom PIL import Image",
            "cv2.imshow('x', cv2.imread('a.jpg'))",
            becomes="import matplotlib.pyplot as plt\nplt.imshow(cv2.imread('a.jpg')[..., ::-1])",
        ),
        Case(
            "import cv2\nimport matplotlib.pyplot as plt",
            "img = cv2.imread('é.jpg')\ncv2.imshow('x', img)\ncv2.waitKey(0)",
            becomes="img = cv2.imread('é.jpg')\n"
            'plt.imshow(img[..., ::-1] if img.ndim == 3 else img, cmap="gray")\nplt.show()',
            says=("plt.imshow",),
        ),
        Case("x = 1\n%matplotlib qt5  \nimport matplotlib.pyplot as plt", "plt.plot([1])", becomes={"qt5": "inline"}),
        Case(
            "from PyQt5.QtWidgets import QApplication",
            "app = QApplication([])",
            becomes='import os\nos.environ["QT_QPA_PLATFORM"] = "offscreen"\napp = QApplication([])',
        ),
        Case(
            "from PyQt5.QtWidgets import QApplication",
            "from __future__ import annotations\napp = QApplication([])",
            becomes="from __future__ import annotations\nimport os\n"
            'os.environ["QT_QPA_PLATFORM"] = "offscreen"\napp = QApplication([])',
        ),
        Case(
            "from PyQt5.QtWidgets import QApplication",
            "app = QApplication([])\napp.exec_()",  # without a screen it would wait for ever
            says=("leave out what waits", ".grab().save"),
        ),
        Case(
            "import matplotlib.pyplot as plt\nplt.switch_backend('Qt5Agg')",
            "plt.show()",
            becomes={"'Qt5Agg'": "'module://matplotlib_inline.backend_inline'"},
        ),
        Case("import pyvista as pv", "pv.Plotter().show()", says=("Xvfb", "vtk", "OFF_SCREEN")),
    ]
    SILENT = [Case("import cv2\ncv2.imshow('x', y)", cause="segfault")]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        if shown := list(code.running.calls("cv2.imshow")):
            yield _of_opencv(shown, death)
            return
        magics = [
            change
            for at in code.with_words("matplotlib")
            for change in replace_magic(code, at, _WINDOWS, "%matplotlib inline")
        ]
        chosen = [
            change
            for call in code.calls("matplotlib.use", "matplotlib.pyplot.switch_backend")
            for change in _inline(call)
        ]
        if edits := (*magics, *chosen):
            why = "The plots were to open windows, and this kernel has no screen. The edit shows them below the cell."
            yield Proposal(edits, why, title="Show the plots below the cell: %matplotlib inline")
            return
        is_qt = _QT_SAID.search(death.text) or any(code.imports(one) for one in _QT)
        module = code.running_module
        first = None if module is None else after_future(module.body)
        if is_qt and any(last_name(call.func) in _FOR_A_USER for scope in code.running for call in scope.calls):
            why = (
                "Qt looked for a screen, and this kernel has none. Without one it can draw, but nobody can click: the "
            )
            why += "call that waits for a user would wait for ever. Save what the window shows, and give numbers."
            yield Proposal(
                why=why, title="Let Qt draw into a picture, and leave out what waits for a user", snippet=_GRAB
            )
            return
        if is_qt and module is not None and first is not None and not code.has_words("QT_QPA_PLATFORM"):
            name, imported = import_as(module, code, "os", "os")
            edits = imported + insert_before(module, first, f"{name}{_QT_OFF[2:]}")
            why = "Qt looked for a screen, and this kernel has none. With `offscreen` it draws into memory. Set it "
            why += "before the first window is made, or install `opencv-python-headless` if it came with OpenCV."
            yield Proposal(edits, why, title="Let Qt work without a screen: QT_QPA_PLATFORM=offscreen")
            return
        yield Proposal(
            why="This kernel has no screen. VTK from version 9.4 on draws without one; for all else start a virtual "
            "screen, Xvfb, before the first window is made (or install a build with OSMesa or EGL, `vtk-osmesa`).",
            snippet='%pip install --upgrade "vtk>=9.4"\n'
            "# PyVista: pv.OFF_SCREEN = True, VTK: window.SetOffScreenRendering(1)\n\n"
            "# or a virtual screen, in the first cell, with xvfb installed on the machine:\n"
            "import os, subprocess\nsubprocess.Popen(['Xvfb', ':99'])\nos.environ['DISPLAY'] = ':99'",
            title="Draw without a screen: a newer VTK, or Xvfb",
        )

    def is_cured(self, before: Death, after: Death) -> bool:
        """Whether nothing is left to edit in this way: there is always advice."""
        titles = {one.title for one in self.propose(before)}
        return not any(one.edits and one.title in titles for one in self.propose(after))


def _of_opencv(shown: list[Call], death: Death) -> Proposal:
    """Return `plt.imshow` for each `cv2.imshow`, where a window's calls are statements by themselves."""
    why = f"{quote(shown[0].text)} opens a window, and this kernel has no screen. `plt.imshow` shows the picture below "
    why += "the cell. Without the windows, `opencv-python-headless` is the package to install."
    title = "Show the picture in the notebook: plt.imshow"
    waits = list(death.code.running.calls(*_WAITS))
    pictures = [call.argument("mat", 1) for call in shown]
    if not all(_is_statement(one) for one in (*shown, *waits)) or None in pictures:
        snippet = (
            "import matplotlib.pyplot as plt\nplt.imshow(frame[..., ::-1])  # OpenCV keeps colours as BGR\nplt.show()"
        )
        return Proposal(why=why, snippet=snippet, title=title)
    if not death.code.imports("matplotlib"):  # it may not be there
        with suppress(EditRefusedError):  # where `Image` is that of another library
            shows = _displayed(shown, waits, death)
            return Proposal(shows, why.replace("`plt.imshow`", "`display`"), title="Show the picture in the notebook")
    edits: Changes = ()
    for call in shown:
        name, imported = import_as(call.scope, death.code, "matplotlib.pyplot", "plt")
        edits += (*imported, *replace(call.scope, call.node, f"{name}.imshow({_picture(call, death)})"))
    for call in waits:
        text = f"{name}.show()" if call.name.startswith("cv2.waitKey") else "pass"
        edits += replace(call.scope, call.node, text)
    return Proposal(tuple(dict.fromkeys(edits)), why, title=title)


def _displayed(shown: list[Call], waits: list[Call], death: Death) -> Changes:
    """Return the edit that shows pictures with what every kernel has: IPython, and OpenCV's own encoder."""
    edits: Changes = ()
    for call in shown:
        image, imported = import_as(call.scope, death.code, "IPython.display.Image", "Image")
        own = call.scope.segment(call.node.func).rpartition(".")[0]
        encode = f"{own}.imencode" if own else "cv2.imencode"
        given = call.argument("mat", 1) or call.node
        picture = call.scope.segment(given)
        if isinstance(given, ast.Name):  # `imshow` shows fractions from 0 to 1
            picture = f'{picture} if {picture}.dtype == "uint8" else {picture} * 255'
        shows, more = import_as(call.scope, death.code, "IPython.display.display", "display")
        encoded = f'{shows}({image}({encode}(".png", {picture})[1].tobytes()))'
        edits += (*imported, *more, *replace(call.scope, call.node, encoded))
    for call in waits:
        edits += replace(call.scope, call.node, "pass")
    return tuple(dict.fromkeys(edits))


def _picture(call: Call, death: Death) -> str:
    """Return what to show: OpenCV keeps colours as blue, green, red; a picture without colours is shown in grey."""
    given = call.argument("mat", 1) or call.node
    text, value = call.scope.segment(given), death.values.of(given, call.scope)
    dimensions = len(value.shape) if value is not None else 0
    if isinstance(given, ast.Call) and last_name(given.func) == "imread" and len([*given.args, *given.keywords]) == 1:
        return f"{text}[..., ::-1]"  # without a flag it has colours
    if dimensions == 2 or not (dimensions or isinstance(given, ast.Name)):
        return f'{text}, cmap="gray"'
    return f"{text}[..., ::-1]" if dimensions else f'{text}[..., ::-1] if {text}.ndim == 3 else {text}, cmap="gray"'


def _is_statement(call: Call) -> bool:
    return isinstance(call.statement, ast.Expr) and call.statement.value is call.node


def _inline(call: Call) -> Changes:
    match call.argument("backend", 0):
        case ast.Constant(value=str(name)) as given if _BACKENDS.fullmatch(name):
            return replace(call.scope, given, _INLINE)
    return ()
