from ...fix import Advice, Case


class CudaLaunchBlocking(Advice):
    """Find the operation that the card failed at: CUDA_LAUNCH_BLOCKING=1.

    What it does: A card works behind the program: an illegal access shows up at a later line than the one that made it.
    With `CUDA_LAUNCH_BLOCKING=1` each operation is waited for, and the traceback names the right one. An index beyond
    the table of an embedding, or a label beyond the classes, are what it often is; on the CPU such an index raises an
    IndexError.

    When it is offered: The card reported an illegal access or a failed assertion.

    What it costs: All work on the card is slower while it is set. The kernel has to be restarted: its use of the card
    is broken.
    """

    id, title, causes = "cuda-launch-blocking", "Find the line that the card failed at", ("gpu-illegal-access",)
    why = (
        "The card failed {where}, or some operations before it: they run behind the program. Restart the kernel, since "
        "its use of the card is broken, and run it once with CUDA_LAUNCH_BLOCKING=1. Check indices and labels first."
    )
    snippet = (
        "# in the first cell after a restart:\nimport os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n\n"
        "# labels of a classification lie within 0 .. classes - 1, indices of an embedding below its size:\n"
        "print(labels.min(), labels.max())"
    )

    FIRES = [Case("loss.backward()", says=("CUDA_LAUNCH_BLOCKING", "Restart"))]
    SILENT = [Case("loss.backward()", cause="gpu-oom")]
