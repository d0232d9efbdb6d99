import re

from ...fix import Case, Death, Fix, Proposal, Proposals, quote

IN_JUPYTERLAB = (
    "In JupyterLab the line below does the same once the cell has ended. Programs such as nbconvert and papermill "
    "start no new kernel."
)
_SHELL = re.compile(r"^[^!]*!.*\b(?:p?kill|killall)\b")
_KILLS = ("os.kill", "os.killpg", "signal.raise_signal", "os.abort", "signal.pthread_kill")


class RestartFromTheMenu(Fix):
    """Restart the kernel by its menu, not by a signal.

    What it does: Says how to restart a kernel in order: files are closed, code registered to run at the end runs, and
    Jupyter knows that it was wanted.

    When it is offered: The cell sent the kernel the signal that ended it, as is often done to make a new package
    visible.

    What it costs: Nothing.
    """

    id, title = "restart-from-the-menu", "Use Kernel > Restart Kernel in place of a signal"
    causes = ("self-kill", "exit-call")
    unless_offered = frozenset({"raise-not-kill"})

    FIRES = [
        Case(
            "%pip install humanize\nimport os\nos.kill(os.getpid(), 9)",
            says=("Restart Kernel", "os.kill(os.getpid(), 9)"),
        ),
        Case(
            "get_ipython().kernel.do_shutdown(True)",
            cause="exit-call",
            exit_code=0,
            says=("`get_ipython().kernel.do_shutdown(True)`", "%reset -f"),
        ),
        Case("!kill -9 $PPID", says=("`!kill -9 $PPID`",)),
    ]
    SILENT = [
        Case("import os\nos._exit(3)", cause="exit-call", exit_code=3),
        Case("import os\nos.kill(child, 9)", cause="killed-externally"),
    ]

    def propose(self, death: Death) -> Proposals:
        call = next(death.code.running.calls(*_KILLS), None)
        if death.aims_at("group", "all") or death.deferred_calls:
            return
        if "exit-call" in death.likely_causes:
            yield from (_of_a_shutdown(one.text) for one in death.calls[:1] if "do_shutdown" in one.text)
            return
        lines = [] if death.cell is None else death.cell.source.split("\n")
        shell = next((line.strip() for line in lines if _SHELL.search(line)), None)
        sent = "The signal" if call is None and shell is None else quote(shell or "" if call is None else call.text)
        yield Proposal(
            why=f"{sent} ends the kernel at once, without closing its files. The menu closes them. {IN_JUPYTERLAB}",
            snippet="get_ipython().kernel.do_shutdown(restart=True)",
        )


def _of_a_shutdown(text: str) -> Proposal:
    why = f"{quote(text)} ends the kernel once the cell has ended. Where only the variables are to go, the line below "
    why += "is enough; else the menu restarts the kernel, and the notebook shows that it was wanted."
    return Proposal(why=why, title="Use Kernel > Restart Kernel, or forget the variables only", snippet="%reset -f")
