import re
import sys
from typing import Any

from jupyter_kerneldoctor.recording.model import ServerView

from ...analysis.start_failure import start_failure
from ...fix import Advice, Case, Death, quote
from ...pasted_commands import distribution, shell_word

_PYTHON = "/home/ann/venvs/geo/bin/python"
_COMMAND = (_PYTHON, "-m", "ipykernel_launcher", "-f", "x.json")
_IN_A_TERMINAL = "# in a terminal:\n"
_AGAIN = "--force-reinstall "
_OWN_LIBRARY = re.compile(r"error while loading shared libraries")
_NO_MODULE = re.compile(r"No module named '?(?P<name>[\w.]+)")


def _failed(**more: Any) -> dict[str, Any]:
    view = ServerView(never_ready=True, returncode=1, start_command=_COMMAND, **more)
    return {"cause": "startup-failure", "exit_code": 1, "server": view}


class ReinstallKernelspec(Advice):
    """Install ipykernel for the Python that the kernel is to run with, or point its kernel.json to one that exists.

    What it does: Jupyter starts a kernel with the program that its kernel.json names. Where that Python has no
    ipykernel, the first command installs it, for that very Python. Where the program is gone, as after an environment
    was removed, the kernel is listed and installed anew.

    When it is offered: The kernel did not start: its Python lacks a package that it needs, or does not exist.

    What it costs: Nothing.
    """

    id, title, causes = "reinstall-kernelspec", "Install the kernel anew for its Python", ("startup-failure",)
    headline, why, snippet = "{title_}", "{why_}", "{commands}"

    FIRES = [
        Case(
            **_failed(stderr=f"{_PYTHON}: No module named ipykernel_launcher\n"),
            says=(f"# in a terminal:\n{_PYTHON} -m pip install ipykernel", "`ipykernel`"),
        ),
        Case(
            **_failed(start_error=f"[Errno 2] No such file or directory: '{_PYTHON}'"),
            says=("kernel.json", "-m ipykernel install --user", "jupyter kernelspec list"),
        ),
        Case(
            **_failed(stderr="ModuleNotFoundError: No module named 'jupyter_client'\n"),
            says=("pip install jupyter_client",),
        ),
        Case(
            **_failed(
                stderr="ImportError: cannot import name 'Bool' from 'traitlets' (/opt/site/traitlets/__init__.py)\n"
            ),
            says=("pip install --force-reinstall traitlets", f"`{_PYTHON}`"),
        ),
        Case(
            **_failed(stderr=f"{_PYTHON}: error while loading shared libraries: libpython3.11.so.1.0: cannot open\n"),
            says=(f"ldd {_PYTHON}", "LD_LIBRARY_PATH"),
        ),
    ]
    SILENT = [Case(**_failed(stderr="OSError: [Errno 28] No space left on device\n")), Case("x = 1", cause="segfault")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Tell a missing package from a missing program."""
        server = death.recording.server
        program = server.start_command[0] if server.start_command else "python"
        failure = start_failure(server)
        if "does not exist" in failure.reason:
            commands = (
                f"{_IN_A_TERMINAL}jupyter kernelspec list  # where its kernel.json is: its argv names the program\n"
                "python -m ipykernel install --user  # with the Python that exists"
            )
            why = "The file kernel.json names the program that starts the kernel. Write it for a Python that exists."
            return {"title_": "Install the kernel for a Python that exists", "why_": why, "commands": commands}
        python = shell_word(program) or "python"
        if _OWN_LIBRARY.search(server.stderr):
            commands = (
                f"{_IN_A_TERMINAL}ldd {python} | grep 'not found'\n"
                "# An environment cannot be moved: make it again, in its place (python -m venv, conda create), or, if\n"
                "# the library is elsewhere, name its directory in kernel.json: "
                '"env": {"LD_LIBRARY_PATH": "/where/it/is"}'
            )
            why = "Its Python lacks a library of its own, as after the environment was moved or copied."
            return {"title_": "Make the environment of this Python again", "why_": why, "commands": commands}
        found = None if failure.detail is None else _NO_MODULE.search(f"No module named {failure.detail}")
        if found is None or "package" not in failure.reason:
            return None
        is_there = "missing" not in failure.reason and "has no package" not in failure.reason
        name = found["name"].split(".")[0]
        if name in sys.stdlib_module_names:
            return None
        known = distribution(name)
        name = known or name
        why = f"Only what is installed for {quote(python)} counts, whatever other environments have."
        return {
            "title_": f"Install `{name}` {'again ' if is_there else ''}for the Python that the kernel runs with",
            "why_": why,
            "commands": f"{_IN_A_TERMINAL}{python} -m pip install {_AGAIN if is_there else ''}{known}" if known else "",
        }
