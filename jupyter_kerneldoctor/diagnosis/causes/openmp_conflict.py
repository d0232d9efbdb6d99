import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from jupyter_kerneldoctor.recording.events import SystemState
from jupyter_kerneldoctor.recording.model import Cell

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..conflicts import by_words
from ..examples import crash_in, crash_report, recording
from ..units import cell_name, sentence

_LLVM_RUNTIME = re.compile(r"lib(?:iomp5|omp)(?:md)?(?:-[0-9a-f]+)?\.(?:so|dylib)[\d.]*")
"""The runtimes of LLVM and Intel, which are one code base. GNU's libgomp beside one is no conflict by itself."""


_GOES_ON = re.compile(r"KMP_DUPLICATE_LIB_OK['\"\]]*\s*(?:=|,)\s*['\"]?(?i:true|1|yes)")
"""Has Intel's and LLVM's runtime go on where it would stop with error 15."""


class OpenmpConflict(Cause):
    """Two packages bring a copy each of the same OpenMP runtime, and only one copy may run.

    What it means: NumPy with MKL, PyTorch, scikit-learn, LightGBM and others use OpenMP for their threads. Intel's and
    LLVM's runtime (libiomp5, libomp) may be in a process only once. Packages from different sources, such as conda and
    pip, or from two environments that were mixed, each bring their own.

    How it is recognised: The process aborted, and the runtime said "OMP: Error #15: Initializing ..., but found ...
    already initialized" (LLVM OpenMP, runtime/src/kmp_runtime.cpp). With less certainty: it crashed inside such a
    runtime while two copies of it were loaded.

    What to do: Install all of these packages from one source, in a fresh environment: all from conda-forge, or all from
    pip. With conda, `conda install nomkl` removes one of the two. `KMP_DUPLICATE_LIB_OK=TRUE` silences the check; Intel
    calls that unsafe, as results can be wrong.

    Example: PyTorch from pip beside a NumPy from conda that uses MKL.
    """

    id, title, family = "openmp-conflict", "Two copies of the OpenMP library", Family.NATIVE_CRASH
    last_words = (r"OMP: Error #15: Initializing (?P<second>\S+), but found (?P<first>\S+) already initialized",)

    def judge(self, death: Death) -> CauseFinding | None:
        words, copies = death.said(self.id), _runtimes(death)
        crashed_in_one = len(copies) > 1 and (_crashed_in_a_runtime(death) or _told_to_go_on(death) is not None)
        if not death.is_unasked_end or (words is None and not crashed_in_one):
            return None
        otherwise = Certainty.LIKELY if crashed_in_one else Certainty.WEAK
        named = words.details if words is not None else {}
        names = " and ".join(dict.fromkeys(quote(named[one]) for one in ("first", "second") if one in named))
        return self.finding(
            death,
            otherwise if words is None else by_words(death, Certainty.PROVEN, otherwise),
            f"Two copies of OpenMP{names and f' ({names})'} were used {death.where()}, and only one may run.",
            (*_goes_on(death), *map(_loaded, copies)),
            summary="Aborted: two OpenMP libraries" if death.signal == "SIGABRT" else "Crashed: two OpenMP libraries",
        )

    def fires_on(self) -> Recordings:
        """The runtime's words, and a crash in a runtime that is there twice."""
        said = "OMP: Error #15: Initializing libiomp5.so, but found libomp.so.5 already initialized.\nOMP: Hint ...\n"
        cell = "import torch\nfaiss.IndexFlatL2(8)"
        report = crash_in(cell, line=2, message="Aborted")
        both = ("/opt/conda/lib/libiomp5.so", "/venv/lib/python3.11/site-packages/faiss.libs/libomp.so.5")
        twice = [SystemState(-1, "changed", libraries=both)]
        yield recording(cell, signal="SIGABRT", crash=report, output=said, system_states=twice)
        yield recording(cell, signal="SIGABRT", output=said, server="watched")
        stack = '\nC stack trace (most recent call first):\n  Binary file "/opt/lib/libomp.so.5", at f+0x1 [0x7f]\n'
        yield recording(cell, signal="SIGSEGV", crash=crash_in(cell, line=2) + stack, system_states=twice)

        allowed = "import os\nos.environ['KMP_DUPLICATE_LIB_OK'] = 'TRUE'"
        yield recording(allowed, cell, signal="SIGSEGV", crash=crash_in(cell, line=2), system_states=twice)

    def silent_on(self) -> Recordings:
        """Two copies that get along, a crash in the only one, and the words of another program."""
        both = [SystemState(-1, "changed", libraries=("/a/libiomp5.so", "/b/libomp.so.5"))]
        yield recording("f()", signal="SIGSEGV", crash=crash_report("Segmentation fault"), system_states=both)
        stack = '\nC stack trace (most recent call first):\n  Binary file "/opt/lib/libomp.so.5", at f+0x1 [0x7f]\n'
        one = [SystemState(-1, "changed", libraries=("/opt/lib/libomp.so.5", "/b/libgomp.so.1"))]
        crash = crash_report("Segmentation fault", ("m.py", 1, "f")) + stack
        yield recording("f()", signal="SIGSEGV", crash=crash, system_states=one)
        # The runtime that says so aborts: it was that of a program which the cell ran.
        said = "OMP: Error #15: Initializing libiomp5.so, but found libomp.so.5 already initialized.\n"
        crash = crash_in("!./solve\nf()", line=2)
        yield recording("!./solve\nf()", signal="SIGSEGV", crash=crash, output=said)


def _runtimes(death: Death) -> tuple[str, ...]:
    """Return the copies of LLVM's or Intel's runtime that were loaded."""
    loaded = death.environment.known.libraries
    return tuple(path for path in loaded if _LLVM_RUNTIME.fullmatch(PurePosixPath(path).name))


def _told_to_go_on(death: Death) -> Cell | None:
    """Return the cell that had the runtime go on in spite of its other copy, if the kernel crashed since."""
    if death.signal not in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE"):
        return None
    return next((cell for cell in death.recording.cells if _GOES_ON.search(cell.source)), None)


def _goes_on(death: Death) -> Iterator[Evidence]:
    if (cell := _told_to_go_on(death)) is not None:
        told = (
            f"{sentence(cell_name(cell.execution_count))} sets `KMP_DUPLICATE_LIB_OK`. Intel warns that the process may"
        )
        yield Evidence(f"{told} crash then, or compute wrong results.", source="the cells")


def _loaded(path: str) -> Evidence:
    return Evidence(f"This copy of the OpenMP library was loaded: {quote(path, 200)}.", path, None, "/proc/PID/maps")


def _crashed_in_a_runtime(death: Death) -> bool:
    if death.signal not in ("SIGSEGV", "SIGBUS", "SIGABRT") or death.traceback is None:
        return False
    return _LLVM_RUNTIME.fullmatch(death.traceback.library or "") is not None
