import ast
import re

from ...code.origins import all_origins
from ...examples.stuck import frame
from ...fix import Death, Fix, Proposal, Proposals, quote, stuck
from ...pasted_commands import shell_word

_BUILDS = ("torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline")
_BY_EXISTENCE = re.compile(r"baton|(?:^|/)lockfile/|_soft")
"""Files of libraries that wait until a file is gone. Most others lock an open file, which Linux unlocks by itself."""
_BATON = frame("torch/utils/file_baton.py", "wait", library=True)


class DeleteStaleLock(Fix):
    """Delete the lock file of a process that is gone.

    What it does: Some libraries lock by a file that exists while they work, and delete it when they are done. Where a
    process was killed in between, the file stays, and the next one waits for ever.

    When it is offered: The kernel waits for such a file, and no process is known to hold it.

    What it costs: Two processes may do the same work at once, if the other one is still there: see that first.
    """

    id, title, causes = "delete-stale-lock", "Delete the lock file that a process left behind", ("hang",)

    FIRES = [
        stuck(
            "from torch.utils.cpp_extension import load_inline",
            "m = load_inline('m', code, build_directory='out')",
            inner=[_BATON],
            waits_in=None,
            says=("rm out/lock",),
        )
    ]
    SILENT = [stuck("q.get()", waits_in=None)]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or not any(_BY_EXISTENCE.search(one.short_file) for one in still.main.frames):
            return
        what = quote(still.main.code.strip()) if still.main.code else "The cell"
        call = next(death.code.running.calls(*_BUILDS), None)
        given = None if call is None else call.argument("build_directory")
        known = (
            [] if call is None or given is None else [one.node for one in all_origins(given, call.scope, death.code)]
        )
        place = next((one.value for one in known if isinstance(one, ast.Constant) and isinstance(one.value, str)), None)
        if call is None:
            find = "!find . ~/.cache -name '*lock*' -mmin +1  # the file may be one of these\n!rm PATH"
        else:
            own = shell_word(f"{place}/lock") or "PATH"
            find = f"!rm {own if place else '~/.cache/torch_extensions/*/*/lock'}"
        yield Proposal(
            why=f"{what} waits until a lock file is gone, and no process that made it is to be seen.",
            snippet=f"!ps -ef  # first: is another process at the same work?\n{find}",
        )
