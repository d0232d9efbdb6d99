"""Threads for work that waits for a disk, apart from those that the server needs for everything else.

A file system that stops answering holds such a thread for ever. It must take none of the server's own threads with it,
and must not keep the server from ending: the threads of `concurrent.futures` are waited for when Python exits.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Tasks:
    """Work on the event loop of which nobody waits for the end: what it raises goes to `failed`."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        """Begin the work; return a task that raises nothing."""
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._running.add(task)  # the loop holds tasks only weakly
        task.add_done_callback(self._running.discard)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Exception as error:
            self._failed(error)


class ThreadPool:
    """A few daemon threads, started when they are needed."""

    def __init__(self, most_threads: int = 4) -> None:
        self._most_threads = most_threads
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._unfinished = 0

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread, and return what it returns or raise what it raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def tell(settle: Callable[[Any], None], outcome: Any) -> None:
            if not future.done():  # who asked may have given up
                settle(outcome)

        def call() -> None:
            told: tuple[Any, ...]
            try:
                told = tell, future.set_result, work(*arguments)
            except BaseException as error:
                told = tell, future.set_exception, error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(*told)

        self._submit(call)
        return await future

    def _submit(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._unfinished += 1
            needs_thread = self._unfinished > self._threads and self._threads < self._most_threads
            self._threads += needs_thread
        self._work.put(call)
        if needs_thread:
            threading.Thread(target=self._serve, name="kerneldoctor", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._work.get()()
            with self._lock:
                self._unfinished -= 1
