"""A running cell that does nothing: which thread or process waits for which.

It is no deadlock as long as another thread or process can end the wait.
"""

import ast
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from jupyter_kerneldoctor.recording.events import ChildState, Frame, Stuck, ThreadStack
from jupyter_kerneldoctor.recording.model import Recording

from ..code.cellfiles import user_line
from ..code.cellsource import lines_of, parse
from ..code.executed_nodes import executed_nodes
from ..units import quote, statement
from .frame_names import FrameNames
from .self_deadlock import holder
from .thread_waits import ThreadWait
from .user_frames import user_frames

_OUTERMOST = 4
"""Of a thread: `threading` takes three, the next is the function that it was started with."""


@dataclass(frozen=True)
class BlockedChild:
    """A child process that waits for one of its own locks."""

    state: ChildState
    waiting: ThreadWait


@dataclass(frozen=True)
class StuckCell:
    """A cell that did nothing when its threads and children were last recorded."""

    recording: Recording
    frames: FrameNames
    """Names the frames of its stacks."""
    stuck: Stuck

    @property
    def lasted_s(self) -> float:
        """For how long the cell had done nothing when it was last measured."""
        measured = [sample.mono_s for sample in self.recording.samples[-1:]]
        return max(*measured, self.stuck.mono_s, self.stuck.since_mono_s) - self.stuck.since_mono_s

    @property
    def lock_file_is_held(self) -> bool:
        """Whether somebody else may hold the lock file that it waits for: one was open each time when it was looked."""
        looks = [one for one in self.recording.stuck if one.since_mono_s == self.stuck.since_mono_s and not one.over]
        return all(one.lock_files for one in (*looks, self.stuck))

    @cached_property
    def main(self) -> ThreadWait:
        """The thread that runs the cells."""
        thread = self._main_thread
        if thread is None:
            return ThreadWait(())
        return self._wait_of(thread)

    def _wait_of(self, thread: ThreadStack) -> ThreadWait:
        code = self._code(thread.frames)
        return ThreadWait(thread.frames, thread.state, thread.waits_in, code, thread.has_limit, thread.wakers)

    @property
    def _main_thread(self) -> ThreadStack | None:
        return next((one for one in self.stuck.threads if one.main), next(iter(self.stuck.threads), None))

    @cached_property
    def place(self) -> Frame | None:
        """The innermost frame whose code is a cell's."""
        return self._own(self.main.frames)

    @cached_property
    def holder(self) -> str | None:
        """Who holds the lock that it waits for, where that is the waiting thread itself."""
        own = user_frames(self.main.frames, self.frames, None)
        running = self.recording.running_cell
        before = [cell for cell in reversed(self.recording.cells) if cell is not running]
        return holder(own, () if self.others else before)

    @cached_property
    def line(self) -> int | None:
        """The line of the running cell that waits."""
        cell = self.recording.running_cell
        if cell is None:
            return None
        found = next((line for frame in self.main.frames if (line := user_line(cell, frame)) is not None), None)
        return _awaited_line(cell.source) if found is None and self.main.kind == "event" else found

    @cached_property
    def others(self) -> tuple[ThreadWait, ...]:
        """The user's other threads, without those of Jupyter, of a pool, and idle workers."""
        mine = self._main_thread
        found = []
        for thread in self.stuck.threads:
            waiting = self._wait_of(thread)
            idle = not thread.frames or waiting.is_idle_worker or waiting.serves_the_kernel or waiting.runs_a_pool
            if thread is not mine and not idle:
                found.append(waiting)
        return tuple(found)

    @cached_property
    def native_threads_at_work(self) -> bool:
        """Whether a native thread waits for the network or a disk: the cell may wait for that thread."""
        return any(
            not thread.frames
            and not (thread.name or "").startswith(("ZMQ", "zmq"))
            and ThreadWait((), thread.state, thread.waits_in).ends_by_itself
            for thread in self.stuck.threads
            if not thread.main
        )

    @cached_property
    def blocked_forks(self) -> tuple[BlockedChild, ...]:
        """Forks of the kernel that wait for a lock whose owner does not exist in the forked process."""
        return tuple(one for one in self._blocked if one.state.forked and not one.waiting.synchronises_processes)

    @cached_property
    def blocked_by_each_other(self) -> tuple[BlockedChild, ...]:
        """Children that wait for another process, in multiprocessing's queues, pipes and locks."""
        return tuple(child for child in self._blocked if child.waiting.synchronises_processes)

    @property
    def waits_for_what_nobody_reads(self) -> bool:
        """Whether the kernel waits for the end of processes that wait until their queue is read.

        A process does not end before its queues are empty (multiprocessing, "Joining processes that use queues").
        """
        feeding = [child.waiting.feeds_a_queue for child in self.blocked_by_each_other]
        return self.main.kind == "child" and bool(feeding) and all(feeding)

    @property
    def all_were_seen_to_wait(self) -> bool:
        """Whether the kernel waits for processes whose stacks show that each of them waits without a timeout."""
        blocked = self.blocked_by_each_other
        alive = [child for child in self.stuck.children if child.state != "Z"]
        seen = all(child.waiting.frames and not child.waiting.may_have_a_timeout for child in blocked)
        return self.main.waits_for_processes and seen and len(blocked) == len(alive)

    @property
    def children_have_ended(self) -> bool:
        """Whether every child process has ended."""
        return len(self._gone) == len(self.stuck.children)

    @cached_property
    def children_at_work(self) -> tuple[ChildState, ...]:
        """Children that are at work, wait for something that ends by itself, or are other programs."""
        idle = (*(child.state for child in self._blocked), *self._idle, *self._gone)
        return tuple(child for child in self.stuck.children if child not in idle)

    @cached_property
    def waiting(self) -> tuple[BlockedChild, ...]:
        """What each child process waits for."""
        return tuple(
            BlockedChild(child, ThreadWait(child.stack, child.state, child.waits_in, self._code(child.stack)))
            for child in self.stuck.children
        )

    @cached_property
    def _blocked(self) -> tuple[BlockedChild, ...]:
        return tuple(
            child
            for child in self.waiting
            if child.waiting.kind == "lock"
            and (child.state.forked is not False or child.waiting.frames)  # threads of another program may all be well
            and not child.waiting.is_idle_worker
            and not child.waiting.has_a_timeout
        )

    @property
    def _idle(self) -> tuple[ChildState, ...]:
        return tuple(child.state for child in self.waiting if self.is_idle(child))

    @property
    def has_idle_workers(self) -> bool:
        """Whether there are workers, and all of them wait for a task."""
        return bool(self._idle) and not self.children_at_work

    def is_idle(self, child: BlockedChild) -> bool:
        """Return whether a child waits for its next task.

        Workers that were spawned show no stack, but one of them reads the pipe of tasks, and the others wait for it.
        """
        if child.waiting.is_idle_worker:
            return True
        waits, is_anew = child.waiting.kind in ("pipe", "lock"), not child.state.forked
        return waits and is_anew and not child.waiting.frames and self.main.works_with_processes

    @property
    def _gone(self) -> tuple[ChildState, ...]:
        return tuple(child for child in self.stuck.children if child.state == "Z")

    @property
    def nobody_can_end_it(self) -> bool:
        """Whether every other thread and child waits for a lock as well, or for a task."""
        return not self.children_at_work and not self.native_threads_at_work and not self._thread_at_work

    @cached_property
    def _thread_at_work(self) -> bool:
        return any(
            one.ends_by_itself
            or (one.kind in ("pipe", "child", "unknown") and not one.needs_its_own_process)
            or one.has_a_timeout
            or one.may_have_a_timeout
            for one in self.others
        )

    @cached_property
    def held_up_by_pipes(self) -> tuple[BlockedChild, ...]:
        """The children that wait for a pipe, if no other child or thread is at work.

        Then only the kernel and these children could read or write at the other end.
        """
        alive = [child for child in self.waiting if child.state.state != "Z" and not self.is_idle(child)]
        blocked = tuple(child for child in alive if child.waiting.kind == "pipe")
        others = any(child.waiting.kind not in ("pipe", "child") for child in alive)
        return () if others or self.native_threads_at_work or self._thread_at_work else blocked

    @property
    def all_send(self) -> bool:
        """Whether the kernel and each of its children wait until the other one reads what they send."""
        alive = [child.waiting for child in self.waiting if child.state.state != "Z" and not self.is_idle(child)]
        return bool(alive) and all(one.sends_to_a_process for one in (self.main, *alive)) and not self._thread_at_work

    @property
    def lost_its_results(self) -> bool:
        """Whether the thread of a pool has ended that takes the results in: one of them could not be unpickled.

        A pool has three threads, and this one ends at an error of its own (multiprocessing/pool.py, _handle_results).
        """
        there = Counter(one.function for thread in self.stuck.threads for one in thread.frames[-_OUTERMOST:])
        others = min(there["_handle_workers"], there["_handle_tasks"])
        return self.main.waits_for_a_pool and others > there["_handle_results"] and not self.children_at_work

    @property
    def does(self) -> str:
        """What the kernel does: "waits for a lock on a file"."""
        return "waits for its workers" if self.main.waits_for_a_pool else self.main.doing

    def at(self) -> str:
        """Return " on `q.get()`", or ", in `save` (cell [2], line 6: `with lock`)" if the line is of another cell."""
        code, place, cell = statement(self.main.code), self.place, self.recording.running_cell
        if place is None and cell is not None and self.line is not None:
            return f" on {quote(statement(cell.source.split(chr(10))[self.line - 1]))}"
        if not code or place is None:
            return ""
        owner = self.frames.cell_of(place)
        if owner is self.recording.running_cell:
            return f" on {quote(code)}"
        return f", in {quote(place.function)} ({self.frames.place(place)}: {quote(code)})"

    def innermost(self) -> str:
        """Return the innermost function, with its place."""
        return self.frames.name(self.main.frames[0]) if self.main.frames else "a library"

    def name_of(self, child: BlockedChild) -> str | None:
        """Return where a child waits: "`work` (cell [1], line 6)"."""
        frame = self._own(child.waiting.frames) or (child.waiting.frames[0] if child.waiting.frames else None)
        return None if frame is None else self.frames.name(frame)

    def within(self, frames: tuple[Frame, ...]) -> str:
        """Return " in `wait` (threading.py, line 320), called in `work` (cell [1], line 6)"."""
        if not frames:
            return ""
        own = self._own(frames)
        if own is None or own is frames[0]:
            return f" in {self.frames.name(frames[0])}"
        return f" in {self.frames.name(frames[0])}, called in {self.frames.name(own)}"

    def _own(self, frames: tuple[Frame, ...]) -> Frame | None:
        return next((frame for frame in frames if self.frames.cell_of(frame) is not None), None)

    def _code(self, frames: tuple[Frame, ...]) -> str:
        """Return the line of a cell that waits, or an empty text."""
        own = self._own(frames)
        cell = None if own is None else self.frames.cell_of(own)
        if own is None or cell is None or (line := user_line(cell, own)) is None:
            return ""
        return lines_of(cell.source)[line - 1]


def _awaited_line(source: str) -> int | None:
    """Return the line of a cell at whose top level it awaits, if there is only one: its loop shows no frame of it."""
    tree = parse(source)
    nodes = () if tree is None else executed_nodes(tree)
    lines = {node.lineno for node in nodes if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)}
    return lines.pop() if len(lines) == 1 else None
