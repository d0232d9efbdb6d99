from ...fix import Advice, Case, Death, Family, size
from ...texts.allocation_site import filled_by_others

_LARGE = 0.25  # of the limit


class ShutDownOtherKernels(Advice):
    """Shut down other kernels and programs that share the memory.

    What it does: Lists what runs, largest first. Each open notebook has a kernel of its own that keeps its variables
    until it is shut down; closing the tab does not end it.

    When it is offered: Memory ran out, and processes other than this kernel held a good part of it.

    What it costs: The variables of those kernels.
    """

    id, title, causes = "shut-down-other-kernels", "Shut down other kernels that share the memory", (Family.MEMORY,)
    why = (
        "Other processes held {others} of {limit} when memory ran out; this kernel held {own}. Shut down "
        "kernels that you "
        "do not need: in the sidebar, Running Terminals and Kernels."
    )
    snippet = "!ps -eo pid,rss,args --sort=-rss | head -12  # what holds most, in KiB\n!jupyter kerneldoctor list"

    FIRES = [
        Case(
            "x = 1",
            before_mib=50,
            memory=[50 << 20] * 20,
            cause="oom-host",
            groups=[],
            ram_bytes=4 << 30,
            available_bytes=20 << 20,
            says=("3.9 GiB of 4.0 GiB", "50 MiB"),
        )
    ]
    SILENT = [Case("x = load()")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Say who held how much."""
        others = _others(death)
        held = death.memory.held_bytes or 0
        return None if not others else {"others": size(others), "own": size(held)}

    def saves(self, death: Death) -> int | None:
        """Count what the others held."""
        return _others(death) or None


def _others(death: Death) -> int:
    """Return what others held at the last measurement, where that is a good part; 0 where it is not, or not known."""
    memory, limit, last = death.memory, death.memory.limit_bytes, death.memory.last
    held = memory.held_bytes
    if limit is None or last is None or held is None:
        return 0
    if filled_by_others(death) is not None:
        return max(0, limit - held)
    if memory.has_group_limit or last.available_bytes is None:
        return 0
    others = limit - last.available_bytes - held
    return others if others >= _LARGE * limit else 0
