from ...fix import Advice, Case, Death, Family

_PART = 0.9


class CapProcessMemory(Advice):
    """Get a MemoryError in place of a dead kernel.

    What it does: Linux kills a process that goes beyond its container's limit, without a word to it. Below a limit of
    its own the process is refused the memory that it asks for: Python raises `MemoryError`, and the variables are still
    there.

    When it is offered: The machine or container ran out of memory, and the kernel was killed.

    What it costs: Nothing is saved: the cell fails, but the kernel lives. Some libraries end the process when memory is
    refused.
    """

    id, title = "cap-process-memory", "Get a MemoryError in place of a dead kernel: limit its own memory"
    causes, general = (Family.MEMORY,), True
    share = 1 / 5  # so that it comes last: it saves the kernel, not the cell
    why = (
        "The kernel was killed at {limit}. With a limit of its own just below that (RLIMIT_DATA), the next cell "
        "that takes too much gets a `MemoryError`, and the kernel lives."
    )
    snippet = "import resource\nresource.setrlimit(resource.RLIMIT_DATA, ({bytes}, resource.RLIM_INFINITY))"

    FIRES = [Case("x = [0] * 10**9", says=("MemoryError",))]
    SILENT = [Case("x = [0] * 10**9", cause="segfault")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Return nine tenths of the limit, where the kernel was killed at one."""
        limit = death.memory.limit_bytes
        shape = death.memory_shape
        in_files = shape is not None and shape.is_in_files
        is_killed = death.signal == "SIGKILL" and bool(limit) and not in_files and death.memory.refusal is None
        return {"bytes": str(int((limit or 0) * _PART))} if is_killed else None
