import posixpath
from typing import Any

from jupyter_kerneldoctor.recording.model import ServerView

from ...analysis.start_failure import start_failure
from ...fix import Advice, Case, Death, quote
from ...pasted_commands import shell_word

_SAID = """Traceback (most recent call last):
  File "/usr/lib/python3.11/asyncio/base.py", line 18, in <module>
    import random
  File "/home/ann/course/random.py", line 1, in <module>
    import numpy
AttributeError: partially initialized module 'random' has no attribute 'Random'
"""
_SHADOWED: dict[str, Any] = {
    "cause": "startup-failure",
    "exit_code": 1,
    "server": ServerView(never_ready=True, returncode=1, start_command=("python",), stderr=_SAID),
}


class RenameShadowingFile(Advice):
    """Rename the file that is taken for a module of Python's.

    What it does: A file beside the notebook, or in a directory of PYTHONPATH, comes before Python's own modules of the
    same name. The command gives it another name and removes what Python compiled of it.

    When it is offered: The kernel did not start, and the traceback goes through a file of yours that has the name of a
    module it needs.

    What it costs: Your own imports of it need the new name.
    """

    id, title, causes = "rename-shadowing-file", "Rename the file that hides Python's module", ("startup-failure",)
    headline = "Rename {file}: it hides Python's module of that name"
    why = (
        "{path} has the name of a module that the kernel needs, and is imported in its place. Rename it, or take its "
        "directory out of PYTHONPATH."
    )
    snippet = "# in a terminal:\nmv {old} {new}\nrm -rf {cache}"

    FIRES = [Case(**_SHADOWED, says=("`/home/ann/course/random.py`", "mv /home/ann/course/random.py", "my_random.py"))]
    SILENT = [Case("import random", cause="segfault")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Take the path that the failure is about."""
        failure = start_failure(death.recording.server)
        if failure.detail is None or "is taken for" not in failure.reason:
            return None
        directory, name = posixpath.split(failure.detail)
        paths = (failure.detail, posixpath.join(directory, f"my_{name}"), posixpath.join(directory, "__pycache__"))
        old, new, cache = (shell_word(one) for one in paths)
        if old is None or new is None or cache is None:
            return None
        return {"file": quote(name), "path": quote(failure.detail, 120), "old": old, "new": new, "cache": cache}
