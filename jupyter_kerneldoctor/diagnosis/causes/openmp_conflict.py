"""`openmp-conflict`: two copies of an OpenMP runtime in one process."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.events import SystemState

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

_LLVM_RUNTIME = re.compile(r"lib(?:iomp5|omp)(?:md)?(?:-[0-9a-f]+)?\.(?:so|dylib)[\d.]*")
"""The runtimes of LLVM and Intel, which are one code base. GNU's libgomp beside one is no conflict by itself."""

_IN_ONE_OF_TWO = 0.75


class OpenmpConflict(Cause):
    """Two packages bring a copy each of the same OpenMP runtime, and the second copy refuses to run beside the first.

    What it means
    -------------
    OpenMP is what NumPy with MKL, PyTorch, scikit-learn, LightGBM and others use for their threads. Intel's and
    LLVM's runtime (libiomp5, libomp) may be in a process only once. With packages from different sources, such as
    conda and pip, or two environments mixed, each brings its own.

    How it is recognised
    --------------------
    The process aborted, and the runtime said "OMP: Error #15: Initializing ..., but found ... already initialized"
    (LLVM OpenMP, runtime/src/kmp_runtime.cpp). With less certainty: it crashed inside of such a runtime while two
    copies of it were loaded.

    What to do
    ----------
    Install all of these packages from one source, in a fresh environment: all from conda-forge, or all from pip. With
    conda, `conda install nomkl` removes one of the two. `KMP_DUPLICATE_LIB_OK=TRUE` silences the check; Intel calls
    that unsafe, as results can be wrong.

    Example
    -------
    PyTorch from pip beside a NumPy from conda that uses MKL.
    """

    id = "openmp-conflict"
    title = "Two copies of the OpenMP library"
    family = Family.NATIVE_CRASH
    last_words = (r"OMP: Error #15: Initializing (?P<second>\S+), but found (?P<first>\S+) already initialized",)

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        words, crashed_in_one = death.said(self.id), _crashed_in_one_of_two(death)
        if not death.is_unasked_end or (words is None and not crashed_in_one):
            return None
        otherwise = _IN_ONE_OF_TWO if crashed_in_one else DOUBTED
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, otherwise if words is None else by_words(death, 0.97, otherwise)),
            f"Two copies of the same OpenMP library{_names(death)} met in this kernel {death.where()}, and only one "
            "may run.",
            evidence=(
                *evidence.exit_status(death),
                *(() if words is None else (words.evidence,)),
                *_copies(death),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(exclusions.not_memory(death), exclusions.not_asked_for(death)),
            line=death.line,
            summary="Aborted: two OpenMP libraries" if death.signal == "SIGABRT" else "Crashed: two OpenMP libraries",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """The runtime's words, and a crash in a runtime that is there twice."""
        said = "OMP: Error #15: Initializing libiomp5.so, but found libomp.so.5 already initialized.\nOMP: Hint ...\n"
        cell = "import torch\nfaiss.IndexFlatL2(8)"
        report = crash_report("Aborted", (cell_file(cell), 2, "<module>"))
        both = ("/opt/conda/lib/libiomp5.so", "/venv/lib/python3.11/site-packages/faiss.libs/libomp.so.5")
        twice = [SystemState(-1, "changed", libraries=both)]
        yield recording(cell, signal="SIGABRT", crash=report, output=said, system_states=twice)
        yield recording(cell, signal="SIGABRT", output=said, server="watched")
        stack = '\nC stack trace (most recent call first):\n  Binary file "/opt/lib/libomp.so.5", at f+0x1 [0x7f]\n'
        crash = crash_report("Segmentation fault", (cell_file(cell), 2, "<module>")) + stack
        yield recording(cell, signal="SIGSEGV", crash=crash, system_states=twice)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Two copies that get along, a crash in the only one, and the words of another program."""
        both = [SystemState(-1, "changed", libraries=("/a/libiomp5.so", "/b/libomp.so.5"))]
        yield recording("f()", signal="SIGSEGV", crash=crash_report("Segmentation fault"), system_states=both)
        stack = '\nC stack trace (most recent call first):\n  Binary file "/opt/lib/libomp.so.5", at f+0x1 [0x7f]\n'
        one = [SystemState(-1, "changed", libraries=("/opt/lib/libomp.so.5", "/b/libgomp.so.1"))]
        crash = crash_report("Segmentation fault", ("m.py", 1, "f")) + stack
        yield recording("f()", signal="SIGSEGV", crash=crash, system_states=one)
        # The runtime that says so aborts: it was that of a program which the cell ran.
        said = "OMP: Error #15: Initializing libiomp5.so, but found libomp.so.5 already initialized.\n"
        crash = crash_report("Segmentation fault", (cell_file("!./solve\nf()"), 2, "<module>"))
        yield recording("!./solve\nf()", signal="SIGSEGV", crash=crash, output=said)


def runtimes(death: Death) -> tuple[str, ...]:
    """Return the copies of LLVM's or Intel's runtime that were loaded."""
    return tuple(
        path for path in death.environment.known.libraries if _LLVM_RUNTIME.fullmatch(PurePosixPath(path).name)
    )


def _crashed_in_one_of_two(death: Death) -> bool:
    if death.signal not in ("SIGSEGV", "SIGBUS", "SIGABRT") or death.traceback is None:
        return False
    library = death.traceback.library
    return library is not None and bool(_LLVM_RUNTIME.fullmatch(library)) and len(runtimes(death)) > 1


def _names(death: Death) -> str:
    words = death.said("openmp-conflict")
    if words is None or not {"first", "second"} <= words.details.keys():
        return ""
    first, second = words.details["first"], words.details["second"]
    return f" ({quote(first)})" if first == second else f" ({quote(first)} and {quote(second)})"


def _copies(death: Death) -> Iterator[Evidence]:
    for path in runtimes(death):
        yield Evidence(f"This copy of the OpenMP runtime was loaded: {quote(path, 200)}.", path, None, "/proc/PID/maps")
