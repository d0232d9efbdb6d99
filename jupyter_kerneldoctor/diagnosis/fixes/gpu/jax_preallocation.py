from ...fix import Advice, Case


class JaxPreallocation(Advice):
    """Let JAX take the card's memory as it needs it.

    What it does: JAX takes three quarters of a card at its first use. Without preallocation it takes what it needs.

    When it is offered: A graphics card was full where JAX was in use.

    What it costs: A restart, slower allocations and more fragmentation.
    """

    id, title = "jax-preallocation", "Let JAX take only what it needs: XLA_PYTHON_CLIENT_PREALLOCATE"
    causes, general = ("gpu-oom",), True
    library, unless = "jax", ("XLA_PYTHON_CLIENT",)
    why = (
        "JAX takes three quarters of a card at its first use, so other programs on the card find it full, and"
        " so does a second kernel. Set this before JAX is imported, and restart."
    )
    snippet = (
        'import os\nos.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"\n'
        '# or a part of the card: os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = ".5"'
    )

    FIRES = [Case("import jax\nx = jax.numpy.ones(9)", says=("PREALLOCATE",))]
    SILENT = [Case("import os\nos.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'\nimport jax")]
