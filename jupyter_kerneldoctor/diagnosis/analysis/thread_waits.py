"""What a thread or a child process waits for, judged from its Python stack and the kernel function it sleeps in.

The names of kernel functions are those of /proc/PID/wchan (proc(5)) in Linux 4 to 6; where it may not be read, the
stack alone tells.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Literal

from jupyter_kerneldoctor.recording.events import Frame

from .library_waits import LibraryKind, library_wait
from .process_frames import (
    CHILD_LIBRARIES,
    MEANS_OF_A_POOL,
    PLUMBING,
    POOL_LOOPS,
    POOLS,
    SERVES_THE_KERNEL,
    SYNCHRONISES_PROCESSES,
    THREADS,
    WORKER_LOOPS,
)

Kind = (
    Literal["sleep", "lock", "input", "pipe", "partner", "child", "disk", "file-lock", "memory", "stopped", "running",
            "unknown"] | LibraryKind
)  # fmt: skip
"""`lock`: a futex, on which locks and conditions sleep; `input`: the network, a terminal; `pipe`: data of another
process; `partner`: one that opens the other end of a named pipe; `child`: the end of a process; `memory`: the kernel
waits for memory to become free; `answer`: `input()` of the user; `event`: an event loop without anything to do;
`cluster`: tasks of Ray or Spark; `group`: the other processes of a group; `program`: a `!` line's."""

_DOING: dict[Kind, str] = {
    "sleep": "sleeps",
    "lock": "waits for a lock or for another thread",
    "input": "waits for the network, the keyboard or an event",
    "answer": "waits for your answer",
    "event": "waits for an event",
    "cluster": "waits for a result of its cluster",
    "group": "waits for the other processes of its group",
    "program": "waits for the program of a `!` line",
    "pipe": "waits for data from another process",
    "partner": "waits until somebody opens the other end of a named pipe",
    "child": "waits for another process to end",
    "disk": "waits for a disk or a network drive",
    "file-lock": "waits for a lock on a file",
    "memory": "waits for memory to become free",
    "stopped": "is stopped, by Ctrl-Z or a debugger",
    "running": "is running",
    "unknown": "waits",
}

_PATIENT = frozenset({"sleep", "input", "answer", "cluster", "group", "program", "running", "disk"})

_BY_WCHAN: tuple[tuple[Kind, str], ...] = (
    ("memory", r"mem_cgroup_(?:oom|handle_over)|throttle_direct_reclaim|shrink_|reclaim"),
    ("file-lock", r"(?:flock|posix)_lock|locks_lock|fcntl_setlk|lock_file"),
    ("sleep", r"nanosleep"),
    ("lock", r"futex"),
    ("partner", r"wait_for_partner|fifo_open"),
    ("pipe", r"pipe_"),
    ("child", r"do_wait|wait4|waitid|wait_consider"),
    ("disk", r"io_schedule|folio_wait|wait_on_page|rpc_wait|nfs|request_wait_answer|fuse|jbd2|xlog|blk_"),
    (
        "input",
        r"poll|select|epoll|sk_|sock|skb|wait_woken|unix_|inet_|tcp_|n_tty|tty_|io_cqring|signalfd|eventfd|inotify",
    ),
)

_BY_FRAME: tuple[tuple[Kind, str, str], ...] = (
    ("lock", r"threading\.py|queue\.py", r"wait|acquire|join|_wait_for_tstate_lock|__enter__|get|put"),
    ("child", r"subprocess\.py|multiprocessing/popen_\w+\.py", r"_?wait|_try_wait|poll|communicate"),
    ("pipe", r"multiprocessing/connection\.py", r".*"),
    ("input", r"(?:selectors|socket|ssl|select)\.py|asyncio/.*|zmq/.*|ipykernel/kernelbase\.py", r".*"),
)
"""The function a thread is in, where the kernel does not tell: kind, file, function."""

_BY_CODE: tuple[tuple[Kind, str], ...] = (
    ("sleep", r"\bsleep\("),
    ("input", r"\binput\(|\burlopen\(|\brequests\."),
    ("lock", r"(?i:(?:\bwith\s+[\w.]*)(?:lock|mutex|semaphore)|(?:lock|mutex|semaphore)\w{0,60}\.acquire\()"),
)
"""What the code calls it, where nothing else tells: `with` and `.get(` are as often a database's or a file's."""


@dataclass(frozen=True)
class ThreadWait:
    """A thread, or a child's main thread, and what it waits for."""

    frames: tuple[Frame, ...]
    """Innermost first."""
    state: str | None = None
    wchan: str | None = None
    code: str = ""
    """The line of the innermost function, where that is a cell's."""
    has_limit: bool | None = None
    """Whether the system call it waits in ends by itself after a time; None where that is not known."""
    wakers: tuple[str, ...] | None = None
    """Who can end the wait from outside, where that is known."""

    @cached_property
    def kind(self) -> Kind:
        """What it waits for."""
        if self._seen is not None:
            return self._seen
        return next((kind for kind, pattern in _BY_CODE if re.search(pattern, self.code)), "unknown")

    @property
    def is_guessed(self) -> bool:
        """Whether only the words of the code tell what it waits for."""
        return self._seen is None

    @cached_property
    def _seen(self) -> Kind | None:
        if self.state in ("T", "t"):
            return "stopped"
        if self.state != "R" and (found_in := library_wait(self.frames)) is not None:
            return found_in
        if self.wchan and self.wchan != "0":
            found = next((kind for kind, pattern in _BY_WCHAN if re.search(pattern, self.wchan)), None)
            if found is not None:
                return found
        if self.state == "D":
            return "disk"
        if self.state == "R":
            return "running"
        return self._by_stack()

    def _by_stack(self) -> Kind | None:
        for top in self.frames[:1]:
            for kind, file, function in _BY_FRAME:
                if re.fullmatch(file, top.short_file) and re.fullmatch(function, top.function):
                    return kind
        return None

    @property
    def is_idle_worker(self) -> bool:
        """Whether it waits for its next task: only library code is between its loop and the wait.

        A function of the loop's own file in between, or none at all, means a task without Python code.
        """
        if self.kind not in ("lock", "pipe", "input", "event", "unknown"):
            return False
        for depth, frame in enumerate(self.frames):
            if (frame.short_file, frame.function) in WORKER_LOOPS:
                inner = self.frames[:depth]
                if not inner:
                    return frame.short_file == THREADS and self.kind == "lock"  # a queue without Python code
                return all(one.short_file != frame.short_file for one in inner)
            if not PLUMBING.match(frame.short_file):
                return False
        return False

    @property
    def doing(self) -> str:
        """What it does, in a few words that follow its name: "waits for a lock on a file"."""
        return (
            "waits until somebody reads what it has written to a pipe"
            if self.writes_to_a_pipe or self.sends_to_a_process
            else _DOING[self.kind]
        )

    @property
    def writes_to_a_pipe(self) -> bool:
        """Whether it waits for a full pipe to be read (pipe(7))."""
        return self.kind == "pipe" and "write" in (self.wchan or "")

    @property
    def sends_to_a_process(self) -> bool:
        """Whether it waits until the other end of a connection of multiprocessing is read."""
        sends = bool(self.frames) and (self.frames[0].short_file, self.frames[0].function) == _SENDS
        return sends and self.kind in ("input", "pipe", "unknown")

    @property
    def serves_the_kernel(self) -> bool:
        """Whether it is a thread of Jupyter, which never releases a lock of the user's."""
        files = [frame.short_file for frame in self.frames]
        return any(map(SERVES_THE_KERNEL.match, files)) and all(
            SERVES_THE_KERNEL.match(file) or not file.startswith(("<", "/")) for file in files
        )

    @property
    def runs_a_pool(self) -> bool:
        """Whether it is a thread with which a pool of processes hands out tasks and collects results.

        Not while it runs the user's code: a generator of tasks, a callback.
        """
        loop = next((n for n, one in enumerate(self.frames) if (one.short_file, one.function) in POOL_LOOPS), None)
        return loop is not None and all(PLUMBING.match(one.short_file) for one in self.frames[:loop])

    @property
    def synchronises_processes(self) -> bool:
        """Whether it waits for another process, in multiprocessing's queues, pipes and locks."""
        beyond = [frame for frame in self.frames if frame.short_file not in ("threading.py", "queue.py")]
        return bool(beyond) and bool(SYNCHRONISES_PROCESSES.match(beyond[0].short_file))

    @property
    def feeds_a_queue(self) -> bool:
        """Whether the process is ending, and waits until its multiprocessing queue is read."""
        return any(
            (one.short_file, one.function) == ("multiprocessing/queues.py", "_finalize_join") for one in self.frames
        )

    @property
    def needs_an_event(self) -> bool:
        """Whether it is an event loop that no timer, connection or process will wake: only another thread could."""
        return self.kind == "event" and self.has_limit is False and self.wakers == ()

    @property
    def needs_its_own_process(self) -> bool:
        """Whether it reads from a connection or pipe whose other end is in its own process only, without a limit."""
        return self.kind in ("input", "pipe") and self.has_limit is False and self.wakers == ()

    @property
    def ends_by_itself(self) -> bool:
        """Whether the wait ends by itself, or through somebody outside."""
        if self.kind == "event":
            return not self.needs_an_event
        return self.kind in _PATIENT and not self.needs_its_own_process

    @property
    def waits_for_a_pool(self) -> bool:
        """Whether it waits for the results of a pool's workers."""
        beyond = next((one for one in self.frames if not MEANS_OF_A_POOL.match(one.short_file)), None)
        waits = self.kind in ("lock", "input", "pipe", "sleep", "unknown")
        return waits and beyond is not None and bool(POOLS.match(beyond.short_file))

    @property
    def waits_for_processes(self) -> bool:
        """Whether it waits in a library that works with child processes."""
        return self.kind == "child" or any(CHILD_LIBRARIES.match(frame.short_file) for frame in self.frames)

    @property
    def works_with_processes(self) -> bool:
        """Whether it waits in a library that hands tasks to processes, and not only for the end of a program."""
        return any(
            CHILD_LIBRARIES.match(frame.short_file) and frame.short_file != "subprocess.py" for frame in self.frames
        )

    @property
    def waits_for_threads(self) -> bool:
        """Whether it waits for threads of its own process to finish."""
        return any(
            (frame.short_file, frame.function) in (("threading.py", "join"), ("concurrent/futures/_base.py", "result"))
            for frame in self.frames
        )

    @property
    def is_native(self) -> bool:
        """Whether native code waits: the innermost function is a library's, and does not take locks."""
        if not self.frames:
            return True
        top = self.frames[0]
        return top.module is not None and not PLUMBING.match(top.short_file)

    @property
    def has_a_timeout(self) -> bool:
        """Whether it ends by itself after a time: the system tells, or the code sets a timeout."""
        if self.has_limit is not None:
            return self.has_limit
        if _TIMEOUT.search(self.code):
            return True
        inner = takewhile(lambda one: not (one.file.startswith("<") or "ipykernel_" in one.file), self.frames)
        only_threading = all(frame.short_file == "threading.py" for frame in inner)
        return only_threading and bool(_TIMEOUT_OF_THREADING.search(self.code))

    @property
    def may_have_a_timeout(self) -> bool:
        """Whether it waits for a lock in code that was not recorded, which may set a timeout, such as a scheduler's.

        A thread whose frames are all in `threading` is a `threading.Timer`, or was started to wait.
        """
        if self.has_limit is not None:
            return self.has_limit
        caller = next((frame for frame in self.frames if not PLUMBING.match(frame.short_file)), None)
        return self.kind == "lock" and (caller is None or bool(_INSTALLED.search(caller.file)))


_SENDS = ("multiprocessing/connection.py", "_send")
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_TIMEOUT = re.compile(r"timeout\s*=\s*(?!None)|\.(?:wait|join|result|acquire|get|poll|recv)\((?:True\s*,\s*)?-?[\d.]+")
_TIMEOUT_OF_THREADING = re.compile(r"\.(?:wait|join)\(\s*(?!None\b)\w")
"""`event.wait(limit)`, `thread.join(limit)`: these take nothing but a limit."""
