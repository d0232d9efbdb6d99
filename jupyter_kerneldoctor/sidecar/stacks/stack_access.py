"""Gets at the stacks of one kernel: has the layout of its interpreter discovered, once, and opens its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .discovery_process import DiscoveryProcess, shared_discovery
from .layout import Runtime, UnexpectedLayoutError
from .memory import UnreadableError
from .privileges import is_file
from .relocation import relocated_runtime
from .snapshot import Stacks

if TYPE_CHECKING:
    from ..observer import Watched

_DISCOVERY_DELAY_S = 0.3
"""A fork delays all other work, such as recording a kernel that dies at once."""
_START_DELAY_S = 2.0
"""By then a kernel that sends nothing should have executed its interpreter."""
_DISCOVERY_STEP_S = 0.02
_SHARED_DISCOVERY_STEP_S = 0.2
"""Where many kernels wait for one discovery."""


class StackAccess:
    """Waits until stacks are asked for, and then for a child process that discovers the layout.

    A kernel that loads the extension sends the addresses of its interpreter. For others they are relocated.
    """

    def __init__(self, watched: Watched, interpreter: object, *, is_shared: bool) -> None:
        """Want nothing yet. `interpreter` is a `privileges.File`, or None; with `is_shared` many are watched here."""
        self._watched = watched
        self._interpreter = tuple(interpreter) if is_file(interpreter) else None
        self._runtime: Runtime | None = None
        self._is_wanted = False
        self._is_shared = is_shared
        self._step_s = _SHARED_DISCOVERY_STEP_S if is_shared else _DISCOVERY_STEP_S
        self._discovery: DiscoveryProcess | None = None
        self.due_mono_s: float | None = None
        """When to call `advance`; None before stacks are asked for, and once the discovery is over."""
        self.stacks: Stacks | None = None
        """None while stacks cannot be read, or not yet."""

    def on_start(self, event: dict[str, Any], now_mono_s: float) -> None:
        """Take in a start event: the server's, and perhaps a later one of the kernel itself, which counts."""
        runtime = event.get("runtime")
        if isinstance(runtime, list):
            self._runtime = Runtime(*runtime)
        self._is_wanted = self._runtime is not None or event.get("stacks") is True
        if not self._is_wanted:
            self.close()
            if self._discovery is None:
                self.due_mono_s = None
        elif self.stacks is None and self._discovery is None:
            self.due_mono_s = now_mono_s + (_START_DELAY_S if self._runtime is None else _DISCOVERY_DELAY_S)

    def hurry(self, now_mono_s: float) -> None:
        """Begin soon, as a cell runs, where stacks are asked for."""
        if self.due_mono_s is not None and self._discovery is None:
            self.due_mono_s = min(self.due_mono_s, now_mono_s + _DISCOVERY_DELAY_S)

    def advance(self, now_mono_s: float) -> bool:
        """Begin the discovery, or see whether it is over; return True once, when the stacks have been opened."""
        if self._discovery is None:
            try:
                begin = shared_discovery if self._is_shared else DiscoveryProcess
                self._discovery = begin(self._watched.kernel.pid, self._interpreter)
            except (OSError, UnexpectedLayoutError) as error:
                self._give_up(self._why(error))
            else:
                self.due_mono_s = now_mono_s + self._step_s
            return False
        self._discovery.poll()
        if not self._discovery.is_done:
            self.due_mono_s = now_mono_s + self._step_s
            return False
        discovery, self._discovery, self.due_mono_s = self._discovery, None, None
        if not self._is_wanted:
            return False
        if discovery.layout is None or discovery.interpreter is None:
            self._give_up(discovery.problem)
            return False
        pid = self._watched.kernel.pid
        try:
            self.stacks = Stacks(pid, discovery.layout, self._runtime or relocated_runtime(pid, discovery.interpreter))
            # A first reading shows that the layout fits, and touches the memory that reading takes.
            self.stacks.main()
        except (OSError, UnexpectedLayoutError) as error:
            self._give_up(self._why(error))
        except UnreadableError:
            pass  # the stack may have changed too fast just then
        return True

    def close(self) -> None:
        """Close the kernel's memory."""
        if self.stacks is not None:
            self.stacks.close()
            self.stacks = None

    def _give_up(self, why: str) -> None:
        self.due_mono_s = None
        self._watched.note("no_stacks", why=why)

    def _why(self, error: OSError | UnexpectedLayoutError) -> str:
        if isinstance(error, PermissionError):
            # Under Yama the kernel can permit it itself (`kernel.stack_access`).
            may = "" if self._runtime is not None else "; `%load_ext kerneldoctor` in the kernel may permit it"
            return f"this process may not read the kernel's memory (ptrace is not permitted){may}"
        if isinstance(error, UnexpectedLayoutError):
            return str(error)
        return f"the kernel's memory cannot be read: {error.strerror or error}"
