import re

from ...analysis.last_words import plugin_of_another_qt
from ...facts import packages
from ...fix import Advice, Case, Death
from ...pasted_commands import distribution

_NUMPY = re.compile(
    r"numpy\.(core|_core|dtype|ndarray|ufunc)|NumPy 1\.x|numpy C-API|version of numpy|_ARRAY_API", re.IGNORECASE
)
_MKL = re.compile(r"\bmkl\b|libmkl", re.IGNORECASE)
_ONE_CHANNEL = "In a conda environment reinstall all of them from one channel."
_HEADLESS = "Take OpenCV without a Qt of its own: opencv-python-headless"
_TWO_QTS = (
    "OpenCV brings a Qt of its own, and says in `QT_QPA_PLATFORM_PLUGIN_PATH` that plugins are to be taken from there: "
    "those do not fit the other Qt. `opencv-python-headless` has none; `cv2.imshow` is missing there."
)
_ONE_QT = """%pip uninstall -y opencv-python opencv-contrib-python
%pip install opencv-python-headless
# or keep both: after `import cv2`, before the first window
# import os; os.environ.pop("QT_QPA_PLATFORM_PLUGIN_PATH", None)"""
_QT = 'qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "/env/cv2/qt/plugins" even though it was found.\n'
_SAID = "RuntimeError: module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000\n"


class ReinstallFromOneChannel(Advice):
    """Reinstall compiled packages so that they fit together.

    What it does: A compiled package fits only the versions of NumPy, MKL or the C++ library that it was built for. The
    command installs it anew for this kernel's Python, with versions that fit. With conda take all of them from one
    channel.

    When it is offered: Compiled packages that do not fit together ended the kernel, or could not be imported.

    What it costs: Other packages may change their versions. Restart the kernel afterwards.
    """

    id, title = "reinstall-from-one-channel", "Reinstall the packages that do not fit together, from one channel"
    causes = ("binary-incompatibility",)
    headline = "{title}"
    why = "{what} Restart the kernel afterwards."
    snippet = "{command}"

    FIRES = [
        Case(
            "import numpy\nimport pyfftw",
            output=_SAID,
            says=("upgrade the package", "'numpy<2'", "--upgrade pyfftw"),
        ),
        Case("f()", output="INTEL MKL FATAL ERROR: x\n", says=("mkl", "nomkl")),
        Case("import lxml", says=("force-reinstall lxml",)),
        Case(
            "import cv2",
            "from PyQt5.QtWidgets import QApplication\napp = QApplication([])",
            signal="SIGABRT",
            output=_QT,
            says=("opencv-python-headless", "QT_QPA_PLATFORM_PLUGIN_PATH"),
        ),
        Case("import ours", says=("Install ours again",)),
    ]
    SILENT = [Case("import numpy", cause="segfault", output=_SAID)]

    def facts(self, death: Death) -> dict[str, str]:
        """Tell NumPy's two versions and MKL apart by what was said."""
        return {"title": self.title, **self._facts(death)}

    def _facts(self, death: Death) -> dict[str, str]:
        said, names = f"{death.text} {_raised(death)}", packages(death)
        if plugin_of_another_qt(death.text) is not None:
            return {"title": _HEADLESS, "what": _TWO_QTS, "command": _ONE_QT}
        if _MKL.search(said):
            return {
                "what": f"Parts of Intel's MKL come from different versions, or one of them is missing. {_ONE_CHANNEL}",
                "command": "!conda install -c conda-forge --override-channels --force-reinstall numpy mkl\n"
                "# or do without MKL: !conda install -c conda-forge nomkl numpy",
            }
        if _NUMPY.search(said):
            other = distribution(next((name for name in names if name != "numpy"), None))
            what = "The package was built for another version of NumPy: upgrade the package, or take the older NumPy."
            what = f"{what} {_ONE_CHANNEL}"
            newer = "# upgrade the package" if other is None else f"%pip install --upgrade {other}"
            return {"what": what, "command": f"{newer}\n# or: %pip install 'numpy<2'"}
        first = next(iter(names), "the package")
        what = f"A compiled package was built for other versions than those that are installed here. {_ONE_CHANNEL}"
        if (again := distribution(first)) is None:
            return {"what": f"{what} Install {first} again, in a version for these.", "command": ""}
        return {"what": what, "command": f"%pip install --upgrade --force-reinstall {again}"}


def _raised(death: Death) -> str:
    one = death.incident
    return "" if one is None else f"{one.signature or ''} {' '.join(frame.file for frame in one.frames)}"
