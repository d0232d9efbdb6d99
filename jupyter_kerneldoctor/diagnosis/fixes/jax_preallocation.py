"""The fix `jax-preallocation`."""

from ..case import Case
from ..death import Death
from ..fix import Advice


class JaxPreallocation(Advice):
    """Let JAX take the card's memory as it needs it.

    What it does
    ------------
    JAX takes three quarters of a card at its first use. Without preallocation it takes what it needs.

    When it is offered
    ------------------
    A graphics card was full where JAX was in use.

    What it costs
    -------------
    A restart, slower allocations and more fragmentation.
    """

    id, title = "jax-preallocation", "Let JAX take only what it needs: XLA_PYTHON_CLIENT_PREALLOCATE"
    causes, general = ("gpu-oom",), True
    why = (
        "JAX takes three quarters of a card at its first use, so other programs on the card find it full, and"
        " so does a second kernel. Set this before JAX is imported, and restart."
    )
    snippet = (
        "import os\n"
        'os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"\n'
        '# or a part of the card: os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = ".5"'
    )

    FIRES = [Case("import jax\nx = jax.numpy.ones(9)", cause="gpu-oom", says=("PREALLOCATE",))]
    SILENT = [
        Case("import torch", cause="gpu-oom"),
        Case("import os\nos.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'\nimport jax", cause="gpu-oom"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Say it where JAX is in use, and not told so already."""
        is_told = any(True for _ in death.code.with_text("XLA_PYTHON_CLIENT"))
        return {} if death.code.imports("jax") and not is_told else None
