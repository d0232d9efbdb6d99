import shlex

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ...fix import Advice, Case, Death, quote
from ...pasted_commands import shell_word
from ...units import duration

_HOUR = SystemState(0, "end", rlimits={"CPU": Rlimit(3600, 7200)}, cpu_s=3600.0)

_OTHERS = "Restart before long work, run it as a batch job, or let `ulimit -t` be raised."
_BATCH = (
    "!sbatch --time=24:00:00 --wrap {wrapped}\n"
    "# to raise the limit: `ulimit -t unlimited` in the shell that starts Jupyter"
)
_RAISE = "Raise the limit that the notebook sets itself, or time only the work: RLIMIT_CPU"
_OWN = "A check of the clock in the loop ends the work, and not the kernel."
_RAISED = (
    "import resource, time\n\n_, hard = resource.getrlimit(resource.RLIMIT_CPU)\n"
    "resource.setrlimit(resource.RLIMIT_CPU, (3600, hard))  # seconds of processor time, all cells together\n\n"
    "end = time.monotonic() + 60  # or: a limit for one piece of work\n"
    "for item in items:\n    if time.monotonic() > end:\n        raise TimeoutError('one minute is over')"
)


class CpuLimit(Advice):
    """Run long work as a job, or raise the limit on processor time.

    What it does: Login nodes and shared servers limit the processor time of each process (`ulimit -t`). The kernel is
    one process, so the times of all its cells add up. A batch job has limits of its own; a restart begins to count
    anew.

    When it is offered: The kernel used up its processor time.

    What it costs: A job waits in a queue, and its notebook runs without anybody who looks on.
    """

    id, title, causes = "cpu-limit", "Run it as a batch job, or raise `ulimit -t`", ("cpu-time-limit",)
    headline, snippet = "{title_}", "{code_}"
    why = "The limit of {allowed} counts for all cells since the kernel started. {advice}"

    FIRES = [
        Case("fit()", system_states=[_HOUR], says=("1 h", "ulimit -t")),
        Case(
            "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (4, 60))",
            "fit()",
            says=("cell [1], line 2", "RLIMIT_CPU, (3600, hard)"),
        ),
    ]
    SILENT = [Case("fit()", cause="killed-externally", system_states=[_HOUR])]

    def facts(self, death: Death) -> dict[str, str]:
        """Say how much is allowed, and who set the limit."""
        known = death.environment.known.rlimits.get("CPU", Rlimit())
        limit = known.hard if death.signal == "SIGKILL" else known.soft
        allowed = "processor time" if limit is None else f"{duration(limit)} of processor time"
        for call in death.code.calls("resource.setrlimit"):
            if call.node.args and "RLIMIT_CPU" in call.scope.segment(call.node.args[0]):
                where = death.code.place_of(call.node, call.scope)
                advice = f"{quote(call.text)} in {where} set that limit, for the whole kernel. " + _OWN
                return {"allowed": allowed, "title_": _RAISE, "advice": advice, "code_": _RAISED}
        name = (death.recording.kernel.notebook or "notebook.ipynb").rpartition("/")[2]
        run = f"jupyter nbconvert --to notebook --execute {shell_word(name) or 'notebook.ipynb'}"
        code = _BATCH.format(wrapped=shlex.quote(run))
        return {"allowed": allowed, "title_": self.title, "advice": _OTHERS, "code_": code}
