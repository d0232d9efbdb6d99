from ...environments import enough_bytes, is_rlimit, round_gib, setting
from ...fix import Advice, Case, Death, Family, size

_ONES = "import numpy as np\nx = np.ones((40_000, 10_000))"
_AT_LEAST = "At least {size} would have been needed, with a tenth kept free."
_MORE = "How much more it needs is not known, so begin with twice."


class RaiseMemoryLimit(Advice):
    """Give the kernel more memory, with the command of the place where it runs.

    What it does: Says how Docker, Kubernetes, JupyterHub, Slurm, systemd or WSL are given more, and how much, where the
    sizes of what is made are known. A kernel that was killed shows only what it had by then.

    When it is offered: Memory ran out.

    What it costs: Memory that others may need. A leak fills any limit.
    """

    id, title, causes, general = "raise-memory-limit", "Raise the memory limit", (Family.MEMORY,), True
    unless_offered = frozenset({"append-to-the-list-you-iterate", "runaway-recursion"})  # which fill any limit
    headline, why, snippet = "{title_}", "{why_}", "{command}"

    FIRES = [
        Case(_ONES, says=("is not known", "limit of 2.0 GiB", "-m 4g", "limits: memory: 4Gi"), line=2),
        Case("import numpy as np", "x = np.ones((40_000, 10_000))", line=1, says=("3.5 GiB at least", "-m 4g")),
        Case(_ONES, ram_bytes=2 << 30, says=("a machine with more memory",), line=2),
        Case("f()", cause="oom-host", groups=[], ram_bytes=4 << 30, says=("machine", "swap")),
    ]
    SILENT = [Case(_ONES, cause="segfault")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Work out the smallest limit that would have been enough."""
        if is_rlimit(death):
            return _of_rlimit(death)
        (least, is_known), memory = enough_bytes(death), death.memory
        if least is None or (memory.limit_bytes is not None and least < memory.limit_bytes):
            return None
        place, limit = setting(death), memory.limit_bytes
        told = "The kernel ran into a limit of {}." if memory.has_group_limit else "The machine has {}."
        had = "" if limit is None else told.format(size(limit))
        name = f" The limit is set by {place.name}." if place.name else ""
        ram, needs = death.recording.kernel.ram_bytes, _AT_LEAST.format(size=size(least)) if is_known else _MORE
        if memory.has_group_limit and ram is not None and least > ram:
            return _of_a_larger_machine(f"{had} {needs}", least if is_known else None, ram)
        return {
            "title_": f"Raise the memory limit, to {size(least)} at least" if is_known else self.title,
            "why_": f"{had} {needs}{name}".lstrip(),
            "command": place.command.format(size=round_gib(least if is_known else max(least, 2 * (limit or 0)))),
        }

    def saves(self, death: Death) -> int | None:
        """Count what was missing, wherever it went."""
        is_over = death.recording.end is not None or death.incident is not None
        return death.memory.missing_bytes or (death.memory.limit_bytes if is_over else None)


def _of_a_larger_machine(had: str, least: int | None, ram: int) -> dict[str, str]:
    title = "Run it on a machine with more memory" + (f": {size(least)} at least" if least else "")
    why = f"{had} The machine has {size(ram)} in all."
    return {"title_": title, "why_": why, "command": "!free -h  # what this machine has"}


def _of_rlimit(death: Death) -> dict[str, str]:
    """Name the limit of the process, `ulimit -v` or `ulimit -d`."""
    name, flag = ("AS", "v") if death.environment.soft_limit("AS") else ("DATA", "d")
    limit = death.environment.soft_limit(name) or 0
    words = death.said("allocation-refused")
    asked = death.refused_bytes or (None if words is None else words.asked_bytes)
    ram = death.recording.kernel.ram_bytes
    if asked is not None and ram is not None and asked > ram:
        return _of_a_larger_machine(f"{size(asked)} was asked for at once.", asked, ram)
    wanted = f" {size(asked)} was asked for at once, beside what it had; what follows may need more." if asked else ""
    why = (
        f"This process may have {size(limit)} of memory (`ulimit -{flag}`, RLIMIT_{name}).{wanted} Start Jupyter in a "
        "shell with a higher limit, or none. Or ask for smaller pieces: a smaller dtype, fewer rows at a time."
    )
    command = f"{setting(death).command}\n\n# or, up to the hard limit, in the first cell:\nimport resource\n"
    command += f"resource.setrlimit(resource.RLIMIT_{name}, (-1, -1))  # works where the hard limit allows it"
    return {"title_": f"Raise `ulimit -{flag}`, the memory limit of the process", "why_": why, "command": command}
