from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from jupyter_kerneldoctor.recording.model import Recording, ServerView

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings
from ..examples import CELL_S, STARTED_WALL_S, Group, recording
from ..postmortem import iso
from ..units import duration

_SOON_S = 30.0
"""A kernel that ends this soon after its server ended because of that; its own look at its parent is once a second."""

_JUST_BEFORE_S = 8.0
"""The sidecar of an idle kernel looks every 5 s whether the parent runs; the kernel itself once a second."""

_FOLLOWS = {
    "SIGTERM": Certainty.STRONG,
    "SIGHUP": Certainty.STRONG,
    "SIGINT": Certainty.LIKELY,
    "SIGKILL": Certainty.LIKELY,
}
"""What the programs that end a server send to its kernels as well: a service manager, a terminal that closes."""


class ServerGone(Cause):
    """The Jupyter server, or another program that had started the kernel, ended; the kernel then left by itself.

    What it means: Nothing was wrong with the notebook. A kernel looks once a second whether the program that started it
    still runs, and leaves when it does not, as nobody could reach it any more. Servers end with a closed terminal, a
    lost SSH connection, a log-out, an update, or because memory ran out and Linux killed them.

    How it is recognised: The process left with exit code 1, and it said "Parent appears to have exited, shutting down"
    (ipykernel's parent poller), or the program that had started it was gone just before, or the server had noted its
    own end. It is less certain where it left with exit code 1 while no cell was running, or long after that program was
    gone. What ends a server may end its kernels by a signal as well; such a signal long after has another reason.

    What to do: Start the server so that it survives: in tmux or screen, with `nohup`, as a service. If it was killed,
    look for the reason in its log and in the system's (`journalctl`). Long computations do not need a server: `jupyter
    nbconvert --execute`, papermill.

    Example: An SSH connection with `jupyter lab` in the foreground breaks.
    """

    id, title, family = "server-gone", "The Jupyter server ended", Family.OUTSIDE
    last_words = (r"Parent appears to have exited, shutting down",)

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.told_to_exit or death.server_watched:
            return None  # a server that saw the end was there
        certainty = _certainty(death)
        if certainty is None:
            return None
        surely = "because" if certainty >= Certainty.STRONG else "most likely because"
        if certainty < Certainty.POSSIBLE:
            surely = "perhaps because"
        return self.finding(
            death,
            certainty,
            f"The kernel left {death.when()}, {surely} what had started it was gone.",
            (*_said(death), *_server(death)),
            line=None,
            summary="Left: its server was gone",
        )

    def fires_on(self) -> Recordings:
        """The kernel's own words, the server's note, a service that was stopped, and exit code 1 out of the blue."""
        words = "[IPKernelApp] WARNING | Parent appears to have exited, shutting down.\n"
        yield recording("train()", exit_code=1, output=words)
        yield recording("x = 1", exit_code=1, output=words, idle=True)
        yield recording("train()", exit_code=1, parent_gone=True)
        yield recording("train()", signal="SIGHUP", parent_gone=True)
        yield _parent_seen(recording("train()", signal="SIGKILL", parent_gone=True), 3.0)
        yield _parent_seen(recording("train()\nos._exit(1)", exit_code=1, parent_gone=True), 1.5)
        yield _parent_seen(recording("train()", exit_code=1, parent_gone=True), 20.0)  # a busy machine, native code
        gone = ServerView(ended_wall_s=STARTED_WALL_S + 2 * CELL_S - 1)
        yield recording("train()", exit_code=1, server=gone)
        yield recording("train()", signal="SIGTERM", server=gone)
        yield recording("x = 1", exit_code=1, idle=True)

    def silent_on(self) -> Recordings:
        """The cell's own exit, a server that lived on, one that was gone long before, one that ended long after."""
        yield recording("import os\nos._exit(1)", exit_code=1)
        yield recording("x = 1", exit_code=1, idle=True, server="watched")
        yield recording("solver.run()", exit_code=1, parent_gone=False)
        long_ago = recording("train()", signal="SIGKILL", parent_gone=True, groups=[Group(1 << 30)])
        yield _parent_seen(long_ago, 3600.0)
        yield long_ago  # a recording of before that was looked at
        yield recording("import os\ntrain()\nos._exit(1)", exit_code=1, parent_gone=True)
        later = ServerView(ended_wall_s=STARTED_WALL_S + 500 * CELL_S)
        yield recording("train()", signal="SIGTERM", server=later)


def _parent_seen(recorded: Recording, before_s: float) -> Recording:
    assert recorded.end is not None
    return replace(recorded, end=replace(recorded.end, parent_seen_mono_s=recorded.end.mono_s - before_s))


def _certainty(death: Death) -> Certainty | None:
    end, went = death.recording.end, _parent_went(death)
    gone = None if end is None else end.parent_gone
    if death.status.exit_code == 1:
        leaves = any(call.kind == "exit" for call in death.calls)
        if death.said("server-gone") is not None or _server_ended_before(death) or went == "just before":
            return Certainty.PROVEN
        if gone:  # a kernel may see that late: native code that keeps the interpreter to itself keeps it from looking
            return Certainty.POSSIBLE if leaves or _gone_s(death) > _SOON_S else Certainty.STRONG
        if gone is False or leaves:
            return None
        return Certainty.POSSIBLE if death.cell is None else Certainty.WEAK
    follows = _FOLLOWS.get(death.status.signal or "")
    if _server_ended_before(death) or went == "just before":
        return follows
    # A recording may not tell when the parent went.
    return follows.lowered(2) if follows is not None and gone and went is None else None


def _parent_went(death: Death) -> Literal["just before", "long before"] | None:
    """Return when the parent was gone, seen from the end; None where it was not, or that was not recorded."""
    end = death.recording.end
    if end is None or not end.parent_gone or end.parent_seen_mono_s is None:
        return None
    return "just before" if _gone_s(death) <= _JUST_BEFORE_S else "long before"


def _gone_s(death: Death) -> float:
    """Return how long the parent may have been gone; 0 where that was not recorded."""
    end = death.recording.end
    return 0.0 if end is None or end.parent_seen_mono_s is None else end.mono_s - end.parent_seen_mono_s


def _server_ended_before(death: Death) -> bool:
    ended, end = death.recording.server.ended_wall_s, death.recording.end
    return ended is not None and end is not None and -1 <= end.wall_s - ended <= _SOON_S


def _said(death: Death) -> Iterator[Evidence]:
    words = death.said("server-gone")
    if words is not None:
        yield words.evidence
    elif death.status.exit_code == 1:
        text = "A kernel leaves with exit code 1 when the program that started it is gone."
        yield Evidence(text, source="ipykernel's parent poller")


def _server(death: Death) -> Iterator[Evidence]:
    end, ended = death.recording.end, death.recording.server.ended_wall_s
    if end is not None and end.parent_gone:
        seen = end.parent_seen_mono_s
        ran = "" if seen is None else f"; {duration(end.mono_s - seen)} before, it still ran"
        text = f"The program that had started the kernel no longer ran when the kernel ended{ran}."
        yield Evidence(text, source="process list")
    if ended is not None:
        at = iso(ended) or ""
        text = f"The Jupyter server noted its own end at {at[:10]} {at[11:19]} UTC."
        yield Evidence(text, at, None, "the server's own note")
