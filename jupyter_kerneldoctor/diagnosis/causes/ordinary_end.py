from collections.abc import Iterator

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings
from ..examples import GIB, Group, recording
from ..texts import evidence


class OrdinaryEnd(Cause):
    """The kernel was shut down or restarted because someone asked for it.

    What it means: Nothing went wrong. A person, the server's clean-up of idle kernels, or the program that runs the
    notebook ended the kernel in the proper way.

    How it is recognised: The Jupyter server noted a request to restart or shut down, or the kernel received one. The
    exit status does not matter then: a kernel too busy to answer is ended by SIGKILL in the end.

    What to do: Nothing.

    Example: Restart Kernel in the Kernel menu, also while a cell is running.
    """

    id, title, family = "ordinary-end", "Ended as asked", Family.ORDINARY_END

    def judge(self, death: Death) -> CauseFinding | None:
        if death.ended is not True or death.request is None:
            return None
        done = "restarted" if death.request == "restart" else "shut down"
        shown = (*_requests(death), *evidence.exit_status(death))
        return self.finding(death, Certainty.PROVEN, f"The kernel was {done}, as requested.", shown, line=None)

    def fires_on(self) -> Recordings:
        """Asked by the server or by a message, whatever the exit status says, and whatever the memory did."""
        yield recording("x = 1", exit_code=0, idle=True, server="shutdown")
        yield recording("x = 1", exit_code=0, idle=True, request="message")
        yield recording("f()", signal="SIGKILL", server="restart")
        yield recording("f()", signal="SIGTERM", server="restart")
        yield recording("f()", signal="SIGKILL", request="message")
        yield recording("f()", end="not-seen", request="message")
        yield recording("x = 1", exit_code=0, idle=True, request="terminal")
        full = Group(1 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=1 * GIB)
        yield recording("f()", signal="SIGKILL", server="restart", groups=[full])

    def silent_on(self) -> Recordings:
        """Nobody asked, it was the cell that asked, or it still runs."""
        yield recording("f()", signal="SIGKILL")
        yield recording("f()", signal="SIGKILL", server="watched")
        yield recording("exit()", exit_code=0, request="cell")
        yield recording("f()", alive=True, request="message")


def _requests(death: Death) -> Iterator[Evidence]:
    server, asked = death.recording.server, death.recording.exit_request
    if server.requested is not None:
        action = "restart" if server.requested == "restart" else "shut down"
        yield Evidence(f"The Jupyter server was asked to {action} the kernel.", source="Jupyter server")
    if asked is not None and asked.by == "terminal":
        yield Evidence("The user left the IPython session in the terminal: exit, quit or Ctrl-D.", source="journal")
    elif asked is not None and asked.by == "message":
        action = "restart" if asked.restart else "shut down"
        yield Evidence(f"The kernel received the message to {action}.", source="journal")
