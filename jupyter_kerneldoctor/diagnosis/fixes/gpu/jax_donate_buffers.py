from ...fix import OUT_OF_MEMORY, Advice, Case


class JaxDonateBuffers(Advice):
    """Let JAX write the new state into the old one's memory.

    What it does: A step of training takes the parameters and the optimizer's state, and gives new ones. While it runs
    both are in memory. A donated argument's memory is used for the result.

    When it is offered: Memory ran out where `jax.jit` compiles a function without `donate_argnums`.

    What it costs: The donated arrays can no longer be used after the call.
    """

    id, title = "jax-donate-buffers", "Let JAX use the old state's memory: donate_argnums"
    causes, general = OUT_OF_MEMORY, True
    functions = ("jax.jit",)
    unless = ("donate_arg",)
    why = (
        "{call} keeps what goes in and what comes out in memory at once. Where the state goes in and comes "
        "out again, donate it."
    )
    snippet = "step = jax.jit(step, donate_argnums=(0, 1))  # parameters and optimizer state"

    FIRES = [Case("import jax", "step = jax.jit(update)\nfor x in xs: state = step(state, x)")]
    SILENT = [Case("import jax", "step = jax.jit(update, donate_argnums=0)\nstep(state)")]
