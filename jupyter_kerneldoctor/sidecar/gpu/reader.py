"""Asks NVML in threads, which write samples themselves and pass events on in `news`.

ctypes releases the interpreter lock during a call, so a call that hangs in the driver holds up only its own thread.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from .driver import module_version
from .nvml import Nvml, NvmlUnusableError

if TYPE_CHECKING:
    from .nvml import Card, PendingCall, XidSource
    from .samples import GpuSampleWriter

BUSY_S = 1.0
IDLE_S = 10.0

_XID_WAIT_S = 30.0

News = tuple[str, dict[str, Any]]
"""An event for the journal: its name and fields."""


class GpuReader:
    """Reads all cards once a second while a cell runs, else every ten seconds."""

    def __init__(self, kernel_pid: int, samples: GpuSampleWriter) -> None:
        self._kernel_pid = kernel_pid
        self._samples = samples
        self._nvml = Nvml()
        self._busy = self._stopped = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.news: deque[News] = deque()

    def start(self) -> None:
        """Begin. Raises RuntimeError when no thread can be started."""
        # At exit a thread may still be inside the driver's library, whose destructors must not run then.
        atexit.register(os._exit, 0)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether more may come; False when there is no card, or none can be read."""
        return self._thread.is_alive()

    @property
    def pending_call(self) -> PendingCall | None:
        """The call that is under way, if any."""
        return self._nvml.pending_call

    def set_busy(self, *, busy: bool) -> None:
        """Say whether a cell runs."""
        self._busy = busy
        if busy:
            self._wake.set()

    def stop(self) -> None:
        """Read no more: the kernel has ended."""
        self._stopped = True
        self._wake.set()

    def _run(self) -> None:
        try:
            self._read()
        except NvmlUnusableError as error:
            self._report({"version": module_version(), "error": str(error)}, [])
        except Exception as error:
            self._report({"version": module_version(), "error": f"{type(error).__name__}: {error}"}, [])

    def _read(self) -> None:
        self._nvml.open()
        driver, cards = self._nvml.driver(), self._nvml.cards()
        self._report({**driver, "error": self._nvml.error}, cards)
        source = self._nvml.xid_source(cards)
        if source is not None:
            threading.Thread(target=self._wait_for_xids, args=(source,), daemon=True).start()
        reported = self._nvml.error
        while cards and not self._stopped:
            taken = time.monotonic()
            self._nvml.error = None
            self._sample(cards)
            if self._nvml.error != reported:
                reported = self._nvml.error
                self._report({**driver, "error": reported}, cards)
            self._pause(taken)

    def _sample(self, cards: list[Card]) -> None:
        for card in cards:
            row = self._nvml.sample(card, self._kernel_pid)
            if row is not None:
                self._samples.write(row)

    def _pause(self, taken_mono_s: float) -> None:
        """Wait until the next reading: a cell that starts ends a long wait, but at least a second passes."""
        if not self._busy:
            self._wake.wait(IDLE_S)
        self._wake.clear()
        time.sleep(max(0.0, taken_mono_s + BUSY_S - time.monotonic()))

    def _wait_for_xids(self, source: XidSource) -> None:
        while not self._stopped:
            try:
                xid = source.wait(_XID_WAIT_S)
            except Exception:  # a lost card answers every wait with an error, which the samples record
                time.sleep(_XID_WAIT_S)
                continue
            if xid is not None:
                self.news.append(("xid", xid))

    def _report(self, driver: dict[str, Any], cards: list[Card]) -> None:
        known = {name: value for name, value in driver.items() if value is not None}
        self.news.append(("gpus", {"driver": known, "devices": [card.facts for card in cards]}))
