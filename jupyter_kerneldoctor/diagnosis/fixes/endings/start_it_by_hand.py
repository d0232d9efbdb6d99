from ...fix import Advice, Case, Death
from ...pasted_commands import shell_word


class StartItByHand(Advice):
    """Start the kernel in a terminal, where it says why it cannot.

    What it does: Jupyter does not always show what a kernel writes before it is ready. In a terminal, in the notebook's
    directory, the same command shows the error.

    When it is offered: The kernel left before it answered.

    What it costs: Nothing.
    """

    id, title, general = "start-it-by-hand", "Start the kernel in a terminal to see the error", True
    causes = ("startup-failure",)
    why = (
        "The kernel left before it could answer. In a terminal, in the directory of the notebook, the command shows "
        "what it says. Often a file there or in PYTHONPATH hides a module and has to be renamed, a package is missing, "
        "or the disk has no space left for IPYTHONDIR."
    )
    unless_offered = frozenset({"reinstall-kernelspec"})
    snippet = "# in a terminal:\n{program} -m ipykernel_launcher\nls *.py; echo $PYTHONPATH; df -h ~ /tmp"

    FIRES = [Case(exit_code=1, says=("# in a terminal", "-m ipykernel_launcher", "PYTHONPATH"))]
    SILENT = [Case("x = 1", cause="segfault")]

    def facts(self, death: Death) -> dict[str, str]:
        """Take the very interpreter, where it is known."""
        command = death.recording.server.start_command
        return {"program": (shell_word(command[0]) if command else None) or "python"}
