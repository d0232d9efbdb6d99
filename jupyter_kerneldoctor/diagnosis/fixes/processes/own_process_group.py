"""`own-process-group`: a child that is killed with its group, and not with the kernel."""

from ...edits import set_argument
from ...fix import Case, Death, Fix, Proposal, Proposals

_STOPS = """\
import os, signal, subprocess
class Server:
    def __init__(self):
        self.process = subprocess.Popen(["server"])
    def stop(self):
        os.killpg(os.getpgid(self.process.pid), signal.SIGKILL)"""

_SCRIPT = "import subprocess\nsubprocess.run('sleep 1; kill 0', shell=True"
_STARTERS = (
    "subprocess.Popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
)
_SCRIPTS = ("%%bash", "%%sh", "%%script", "%%!")
_APART = ("start_new_session", "process_group", "preexec_fn")


class OwnProcessGroup(Fix):
    """Start a child process in a group of its own.

    What it does: Passes `start_new_session=True` to what starts the child. The child and what it starts are then a
    group of their own, which `os.killpg` ends without the kernel.

    When it is offered: The kernel was ended by `os.killpg` on the group of a child process, or by `kill 0` in a shell's
    script, and no child was started in a group of its own.

    What it costs: An interrupt of the kernel no longer reaches the child: end it yourself, as the code does.
    """

    id, causes = "own-process-group", ("self-kill",)
    title = "Start the child in a group of its own: start_new_session=True"

    FIRES = [
        Case(
            _STOPS,
            "servers = [Server()]",
            "for one in servers:\n    one.stop()",
            becomes={1: _STOPS.replace('["server"]', '["server"], start_new_session=True')},
        ),
        Case("%%bash\nwork &\nsleep 2\nkill 0", signal="SIGTERM", says=("kill $(jobs -p)",)),
        Case(_SCRIPT + ")", signal="SIGTERM", becomes=_SCRIPT + ", start_new_session=True)"),
    ]
    SILENT = [Case("import os\nos.kill(os.getpid(), 9)")]

    def propose(self, death: Death) -> Proposals:
        if not death.aims_at("group"):
            return
        if death.cell is not None and death.cell.source.lstrip().startswith(_SCRIPTS):
            why = "A script of a cell runs in the process group of the kernel, and `kill 0` ends all that is in it."
            yield Proposal((), why, title="End only the script's own jobs: kill $(jobs -p)")
            return
        is_script = not any(death.code.calls("os.killpg"))
        places = {one.place for one in death.calls}
        for call in death.code.calls(*(_STARTERS if is_script else ("subprocess.Popen",))):
            if is_script and (call.cell, call.node.lineno) not in places:
                continue
            if any(call.argument(name) is not None for name in _APART):
                continue
            yield Proposal(
                set_argument(call, "start_new_session", "True"),
                why="A child is in the process group of the kernel, unless it gets one of its own. "
                f"`{'kill 0' if is_script else 'os.killpg'}` ends the whole group, the kernel with it.",
            )
