from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Frame

from ..analysis.incident_site import that_it_was_raised
from ..analysis.last_words import plugin_of_another_qt, quoted
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote
from ..conflicts import by_words
from ..examples import crash_in, crash_report, recording

_INSTALLED_TWICE = ("numpy", "importlib", "IPython")
"""Modules that every failed import runs through; they say nothing of which package is the wrong one."""

_COREF = "/env/lib/python3.11/site-packages/neuralcoref/__init__.py"


class BinaryIncompatibility(Cause):
    """Two compiled packages were built for different versions of each other, or of a library both use.

    What it means: Compiled code knows the layout of what it works with: of NumPy's arrays, of a C++ library, of the C
    library. A package that was built for NumPy 1 cannot run with NumPy 2. One that was built on a newer system asks for
    functions that an older one lacks. Two packages may each bring another version of the same library. Some packages
    say so and stop, others crash.

    How it is recognised: By the last words before an abort or an exit: "Intel MKL FATAL ERROR" (leaves with exit code
    2), "symbol lookup error" (ld.so(8), 127), "HDF5 library version mismatched error", "compiled against version ... of
    the Protocol Buffer runtime", "Cannot mix incompatible Qt library". Or an import failed with "compiled using NumPy
    1.x", "module compiled against ABI version", "GLIBCXX_... not found" or "undefined symbol", which the kernel
    survives. A later crash in the package whose import had failed is likely to be this, too.

    What to do: Reinstall the packages that are named, from one source, best into a fresh environment; with conda, all
    from one channel. For NumPy: update the package that is too old, or pin `numpy<2`. After installing, restart the
    kernel.

    Example: `pyarrow` 15.0.1, built for NumPy 1, in an environment with NumPy 2.
    """

    id, title, family = "binary-incompatibility", "Packages that do not fit together", Family.NATIVE_CRASH
    incidents = frozenset({"binary-mismatch"})
    last_words = (
        r"Intel (?:one)?MKL FATAL ERROR: ",
        r"INTEL MKL ERROR: .*undefined symbol",
        r"(?:symbol lookup|relocation) error: ",
        r"HDF5 library version mismatched error",
        r"was compiled against version \S+ of the Protocol Buffer runtime",
        r"File already exists in database: ",
        r"Option '.*' registered more than once|registered CommandLine options",
        r"Cannot mix incompatible Qt library",
    )
    warnings = (
        r"version `[A-Z]+_[\w.]+' not found",
        r"module (?:was |that was )?compiled (?:against|using) (?:API|ABI|NumPy) ",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        words, before = death.said(self.id), _failed_before(death)
        if death.is_unasked_end and (said := plugin_of_another_qt(death.text)) is not None:
            told = f"A window was to open {death.where()}, with the Qt of another package: OpenCV brings its own."
            return self.finding(death, Certainty.STRONG, told, (quoted(said, "Before it ended, the process wrote"),))
        if not death.is_unasked_end or (words is None and before is None):
            return None
        otherwise = Certainty.WEAK if before is None else Certainty.LIKELY
        return self.finding(
            death,
            otherwise if words is None else by_words(death, Certainty.PROVEN, otherwise),
            f"Compiled packages that do not fit together ended the kernel {death.where()}.",
            _complaint(before),
            summary="Ended: packages do not fit together",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Name the package whose import failed."""
        module = _module(incident)
        package = "A compiled package" if module is None else f"The compiled package {module}"
        return self.finding(
            death,
            Certainty.PROVEN,
            f"{package} does not fit the other packages of this environment. It could not be used {death.where()}.",
            (that_it_was_raised(incident), *_complaint(incident)),
            summary="Packages do not fit together",
        )

    def fires_on(self) -> Recordings:
        """MKL, the dynamic linker, HDF5, protobuf, and a crash in a package that had complained before."""
        mkl = "Intel MKL FATAL ERROR: Cannot load libmkl_avx2.so or libmkl_def.so.\n"
        yield recording("import numpy as np\nnp.dot(a, b)", exit_code=2, output=mkl)
        linker = "python: symbol lookup error: /env/lib/libA.so: undefined symbol: _ZN3foo3barEv\n"
        yield recording("solver.solve()", exit_code=127, output=linker, server="watched")
        cell = "import h5py"
        hdf = "Warning! ***HDF5 library version mismatched error***\nHeaders are 1.10.6, library is 1.12.1\nBye...\n"
        yield recording(cell, signal="SIGABRT", output=hdf, crash=crash_in(cell, message="Aborted"))
        protobuf = (
            "[libprotobuf FATAL google/protobuf/stubs/common.cc:83] This program was compiled against version 3.9.2 of "
            "the Protocol Buffer runtime library, which is not compatible with the installed version (3.19.6).\n"
            "terminate called after throwing an instance of 'google::protobuf::FatalException'\n"
        )
        yield recording("import onnx", signal="SIGABRT", output=protobuf)
        failed = Incident("binary-mismatch", -30, "ImportError", frames=(Frame(_COREF, 14, "<module>"),))
        crash = crash_in("f()", (_COREF, 88, "coref"))
        yield recording("import neuralcoref", "f()", signal="SIGSEGV", incidents=[failed], crash=crash)

    def silent_on(self) -> Recordings:
        """A crash in another package than the one that complained, the exit codes without words, a program's words."""
        failed = Incident("binary-mismatch", -30, "ImportError", frames=(Frame(_COREF, 14, "<module>"),))
        other = ("/env/lib/python3.11/site-packages/lxml/etree.py", 5, "parse")
        yield recording("f()", signal="SIGSEGV", incidents=[failed], crash=crash_report("Segmentation fault", other))
        yield recording("solver.solve()", exit_code=2)
        yield recording("import os\nos._exit(2)", exit_code=2)
        other_qt = 'qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "/env/cv2/qt/plugins" even'
        no_screen = f"qt.qpa.xcb: could not connect to display\n{other_qt} though it was found.\n"
        yield recording("app = QApplication([])", signal="SIGABRT", output=no_screen)
        said = "./tool: symbol lookup error: /lib/libA.so: undefined symbol: foo\n"
        yield recording("!./tool\nf()", signal="SIGSEGV", crash=crash_report("Segmentation fault", other), output=said)
        said += "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!./tool\nsolver.step()", signal="SIGABRT", output=said)


def _failed_before(death: Death) -> Incident | None:
    """The import that failed, of the package that it crashed in."""
    if death.traceback is None:
        return None
    crashed_in = {frame.module for frame in death.traceback.current.frames} - {None}
    complaints = [one for one in death.recording.incidents if one.kind == "binary-mismatch"]
    return next((one for one in reversed(complaints) if _module(one) in crashed_in), None)


def _module(incident: Incident) -> str | None:
    """Return the package that complained: the outermost of the libraries that the exception came through."""
    libraries = (frame.module for frame in reversed(incident.frames) if "-packages" in frame.file)
    return next((name for name in libraries if name is not None and name not in _INSTALLED_TWICE), None)


def _complaint(incident: Incident | None) -> Iterator[Evidence]:
    if incident is None:
        return
    said, module = incident.signature, _module(incident)
    if said is not None:
        yield Evidence(f"The library said: {quote(said, 200)}.", said[:200], None, "the exception")
    if module is not None:
        told = f"The package {module} could not be used: it was built for another version."
        yield Evidence(told, module, None, "the exception")
