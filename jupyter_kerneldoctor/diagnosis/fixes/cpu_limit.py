import shlex

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ..fix import Advice, Case, Death
from ..pasted_commands import shell_word
from ..units import duration

_HOUR = SystemState(0, "end", rlimits={"CPU": Rlimit(3600, 7200)}, cpu_s=3600.0)


class CpuLimit(Advice):
    """Run long work as a job, or raise the limit on processor time.

    What it does
    ------------
    Login nodes and shared servers limit the processor time of each process (`ulimit -t`). The kernel is one process, so
    the times of all its cells add up. A batch job has limits of its own; a restart begins to count anew.

    When it is offered
    ------------------
    The kernel used up its processor time.

    What it costs
    -------------
    A job waits in a queue, and its notebook runs without anybody who looks on.
    """

    id, title, causes = "cpu-limit", "Run it as a batch job, or raise `ulimit -t`", ("cpu-time-limit",)
    why = (
        "The kernel may use {allowed} of processor time, and it was used up {where}. All cells since its start count. "
        "Restart before long work, run it as a batch job, or let `ulimit -t` be raised."
    )
    snippet = (
        "!sbatch --time=24:00:00 --wrap {wrapped}\n"
        "# to raise the limit: `ulimit -t unlimited` in the shell that starts Jupyter"
    )

    FIRES = [Case("fit()", cause="cpu-time-limit", signal="SIGXCPU", system_states=[_HOUR], says=("1 h", "ulimit -t"))]
    SILENT = [Case("fit()", cause="killed-externally", system_states=[_HOUR])]

    def facts(self, death: Death) -> dict[str, str]:
        """Say how much is allowed."""
        limit = death.environment.soft_limit("CPU")
        name = (death.recording.kernel.notebook or "notebook.ipynb").rpartition("/")[2]
        run = f"jupyter nbconvert --to notebook --execute {shell_word(name) or 'notebook.ipynb'}"
        return {"allowed": "a limited amount" if limit is None else duration(limit), "wrapped": shlex.quote(run)}
