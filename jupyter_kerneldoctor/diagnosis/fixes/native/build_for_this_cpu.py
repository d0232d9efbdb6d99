import re

from jupyter_kerneldoctor.recording.events import SystemState

from ...facts import packages
from ...fix import Advice, Case, Death
from ...pasted_commands import distribution
from ...units import enumeration

_NEWER = {"avx": "AVX", "avx2": "AVX2", "fma": "FMA", "avx512f": "AVX-512"}
_WITHOUT_SOURCE = frozenset({"tensorflow", "tensorflow-cpu", "jaxlib"})
_COMPATIBLE = {"polars": '%pip install --force-reinstall "polars[rtcompat]"  # before version 1.34: polars-lts-cpu'}
_CACHES = re.compile(r"\bcache\s*=\s*True")


class BuildForThisCpu(Advice):
    """Install a build for the processor at hand, or remove one that another machine left behind.

    What it does: Compiled packages may use instructions that not every processor has, as AVX. On one that lacks them
    the process ends at the first of these instructions. Conda-forge and some packages have builds without; numba's
    cache may hold code that another machine compiled.

    When it is offered: The process was ended by an illegal instruction.

    What it costs: Builds for older processors are slower.
    """

    id, title, causes = "build-for-this-cpu", "Install a build that this CPU can run", ("illegal-instruction",)
    unless_offered = frozenset({"compile-for-this-cpu", "check-machine-code"})
    why = (
        "An instruction ran {where} that this CPU does not know.{lacks} Install a build made for it (conda-forge, "
        "an older wheel, or from source). In a virtual machine, let it use all of the host's CPU features."
    )
    snippet = "{command}"

    FIRES = [
        Case(
            "import tensorflow as tf",
            signal="SIGILL",
            system_states=[SystemState(-1, "start", cpu_flags=("sse4_1",))],
            says=("AVX", "conda-forge tensorflow"),
        ),
        Case("import polars as pl\npl.read_csv('a.csv')", says=("rtcompat",)),
        Case("import numpy", says=("--no-binary numpy",)),
        Case(
            "from numba import njit\n@njit(cache=True)\ndef f(x): return x",
            "f(1)",
            says=("__pycache__", "another machine"),
        ),
    ]
    SILENT = [Case("import tensorflow", cause="segfault")]

    def facts(self, death: Death) -> dict[str, str]:
        """Say what this processor lacks, and remove a cache or build the package again."""
        flags = death.environment.known.cpu_flags
        missing = [name for flag, name in _NEWER.items() if flags and flag not in flags]
        lacks = f" It lacks {enumeration(missing)}." if missing else ""
        if any(_CACHES.search(death.code.source(at)) for at in death.code.with_words("cache")):
            lacks += " Functions with `cache=True` may come from another machine: remove that cache."
            command = "!find . -path '*__pycache__*' -name '*.nb[ic]' -delete  # numba compiles anew"
        else:
            name = distribution(next(iter(packages(death)), None))
            build = f"%pip install --force-reinstall --no-binary {name} {name}  # built here, for this CPU"
            if name in _WITHOUT_SOURCE:
                build = f"%conda install -c conda-forge {name.partition('-')[0]}  # on PyPI there is no source to build"
            command = "" if name is None else _COMPATIBLE.get(name, build)
        return {"lacks": lacks, "command": command}
