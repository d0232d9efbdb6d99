"""Records one kernel, from the first message to the end, or until another process goes on with it."""

from __future__ import annotations

import socket
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..recording.kernel_lock import AlreadyRecordedError, acquire
from ..recording.layout import JOURNAL
from ..recording.processes import ProcessIdentity, identity_of, is_alive
from ..recording.retention import remove
from .inbox import Inbox, Message
from .joinable_inbox import BY_SERVER, JoinableInbox
from .journal import Journal, current_traceback
from .watcher import Watcher

if TYPE_CHECKING:
    from pathlib import Path


class Continuation(NamedTuple):
    """What another process needs in order to go on with a recording."""

    start: dict[str, Any]
    """The first event, and in `continues` what is known so far."""
    sockets: list[socket.socket]
    """Of the server, of the kernel's lock, and of the kernel that has joined."""


class Recorder:
    """One recording."""

    def __init__(self, directory: Path, pidfd: int | None, wakes_fd: int | None = None) -> None:
        """Record into `directory`, and see the end by `pidfd`, if there is one.

        `wakes_fd` becomes readable when somebody may have asked for stacks in a process that watches many kernels;
        None in a process with one kernel, which is asked by a signal.
        """
        self._directory = directory
        self._pidfd = pidfd
        self._wakes_fd = wakes_fd
        self.has_ended = False
        """Whether the kernel has; else the recording was switched off, or another process has it."""

    def record(self, starter: Inbox, continuation: Continuation | None = None) -> Continuation | None:
        """Record until the kernel ends, the user switches the recording off, or a kernel joins that needs a process.

        Return what that process needs; None otherwise. With a continuation, go on with it, and let the kernel stay.
        """
        stays = continuation is not None or self._wakes_fd is None
        # The first message says whom to watch; it was in the socket before this process started.
        start = next(starter.messages(), None) if continuation is None else _message(continuation, starter)
        if start is None or start["event"] != "start" or identity_of(start.get("process")) is None:
            return None
        first, continues = dict(start), start.pop("continues", None)
        was_lost = continues is not None and not (isinstance(start, Message) and start.descriptors)
        if was_lost and not is_alive(ProcessIdentity(*start["process"])):  # what the server has seen says more
            starter.tell(b'{"event":"over"}')
            return None
        journal = Journal(
            self._directory / JOURNAL
        )  # open before the lock is: by it a kernel that joins finds the place
        try:
            inbox, problem = _lock_kernel(starter, start, continues if isinstance(continues, dict) else {})
        except AlreadyRecordedError:
            journal.close()
            if continues is None:
                remove(self._directory)
            starter.tell(b'{"event":"over"}')
            return None
        giver = starter if isinstance(inbox, JoinableInbox) and inbox.has_joined else None
        try:
            handed_over = self._watch(journal, inbox, start, problem, giver, stays=stays)
        except Exception:
            stamps = {"mono_s": time.monotonic(), "wall_s": time.time()}
            journal.write_end({"event": "fault", **stamps, "traceback": current_traceback()})
            inbox.close()
            raise
        finally:
            journal.close()
        if isinstance(inbox, JoinableInbox) and inbox.is_repeated:
            remove(self._directory)
        if handed_over and isinstance(inbox, JoinableInbox):
            inbox.tell(b'{"event":"joined"}')
            return Continuation({**first, "continues": inbox.state()}, inbox.sockets())
        inbox.tell(b'{"event":"over"}')
        inbox.close()
        return None

    def _watch(
        self,
        journal: Journal,
        inbox: Inbox | JoinableInbox,
        start: dict[str, Any],
        problem: str | None,
        giver: Inbox | None,
        *,
        stays: bool,
    ) -> bool:
        """Watch until the end; return whether the kernel has joined and another process is to go on.

        `giver` had the recording before. It waits until the journal says who has it now.
        """
        if not stays and isinstance(inbox, JoinableInbox):
            inbox.hands_over = True
        watcher = Watcher(self._directory, journal, inbox, self._pidfd, start, self._wakes_fd)
        if giver is not None:
            giver.close()
        if problem is not None:
            watcher.note("not_locked", why=problem)
        try:
            watcher.run()
        finally:
            watcher.close()
        self.has_ended = watcher.has_ended
        return watcher.is_handed_over


def _message(continuation: Continuation, starter: Inbox) -> Message:
    return Message(continuation.start, starter, [one.detach() for one in continuation.sockets])


def _lock_kernel(
    starter: Inbox, start: dict[str, Any], continues: dict[str, Any]
) -> tuple[Inbox | JoinableInbox, str | None]:
    """Lock the kernel, and let it join this sidecar; or say why that is not possible. Raises AlreadyRecordedError."""
    if sys.platform != "linux":
        return starter, None
    kernel, by_server = ProcessIdentity(*start["process"]), start.get("loaded_by") == BY_SERVER
    sent = start.descriptors if isinstance(start, Message) else []
    if continues and len(sent) == 3:  # another process had the lock, and the kernel has joined
        server, listener, joined = (socket.socket(fileno=sent.pop(0)) for _ in range(3))
        listener.setblocking(False)
        inbox = JoinableInbox(kernel, Inbox(server), listener, by_server=by_server)
        inbox.go_on(continues, Inbox(joined))
        return inbox, None
    since_mono_s = None if by_server else start.get("mono_s", 0.0)
    listener_or_none, problem = acquire(kernel, since_mono_s=since_mono_s)
    if listener_or_none is None:
        return starter, problem
    inbox = JoinableInbox(kernel, starter, listener_or_none, by_server=by_server)
    inbox.go_on(continues)
    return inbox, None
