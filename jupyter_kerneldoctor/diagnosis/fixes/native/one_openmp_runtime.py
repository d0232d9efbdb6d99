import re
from pathlib import PurePosixPath

from jupyter_kerneldoctor.recording.events import SystemState

from ...fix import Advice, Case, Death, quote
from ...units import enumeration

_SAID = "OMP: Error #15: Initializing libiomp5.so, but found libomp.so.5 already initialized.\n"
_RUNTIME = re.compile(r"lib(i?omp\d*|gomp)\b")
_TWO = SystemState(-1, "changed", libraries=("/opt/conda/lib/libiomp5.so", "/v/site-packages/faiss.libs/libomp.so.5"))


class OneOpenmpRuntime(Advice):
    """Install the packages that bring OpenMP from one source, so that there is one copy of it.

    What it does: Conda's packages share one OpenMP library, pip's packages bring a copy each. Mixed, two copies meet in
    one process. Install NumPy, PyTorch, scikit-learn and the like in a fresh environment, all by conda or all by pip.

    When it is offered: The process ended because two copies of the OpenMP library were loaded.

    What it costs: A new environment. `KMP_DUPLICATE_LIB_OK=TRUE` makes the process go on, but results may be wrong:
    only to go on until the environment is right.
    """

    id, title, causes = "one-openmp-runtime", "Keep one copy of OpenMP: all from one channel", ("openmp-conflict",)
    why = (
        "{copies} Remove the duplicate: install the packages that use OpenMP from one channel, in a fresh environment."
    )
    snippet = (
        "# a fresh environment, everything from one channel:\n"
        "!conda create -n one -c conda-forge --override-channels python={python} ipykernel numpy scikit-learn pytorch\n"
        "# only until then, results may be wrong: KMP_DUPLICATE_LIB_OK=TRUE in the environment of the kernel"
    )

    FIRES = [
        Case("import faiss", output=_SAID, system_states=[_TWO], says=("faiss.libs", "conda")),
        Case("import torch", says=("Two copies of OpenMP",)),
    ]
    SILENT = [Case("import faiss", cause="abort", output="no more")]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the copies, and the packages that brought them."""
        paths = [one for one in death.environment.known.libraries if _RUNTIME.match(PurePosixPath(one).name)]
        told = enumeration([quote(one, 90) for one in paths]) if len(paths) > 1 else ""
        version = re.match(r"\d+\.\d+", death.recording.kernel.python or "")
        copies = f"Two copies of OpenMP were loaded: {told}." if told else "Two copies of OpenMP were loaded."
        return {"copies": copies, "python": version[0] if version else "3.11"}
