"""Shows the output of `jupyter kerneldoctor report --json` in the notebook, for `%postmortem`.

The diagnosis runs in a process of its own, so that it imports and allocates nothing in the kernel.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.display import display

from .kernel_info import kernel_id, notebook

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_TIMEOUT_S = 30.0
_REFUSED = (
    "The report needs a process and files of its own, and this kernel gets none. Run it in a terminal: "
    "`jupyter kerneldoctor report {selection}`. Or close some files, or end some processes, and repeat `%postmortem`."
)
_NO_DEATH = "No death of this notebook's kernel is recorded. `jupyter kerneldoctor list` in a terminal shows what is."


def show(shell: InteractiveShell, recording: str | None, *, details: bool = False) -> None:
    """Show the post-mortem of a recording; without an id, of this kernel's last death, or else this notebook's."""
    try:
        _show(shell, recording, details=details)
    except OSError:  # its own words in the text would make another incident of this
        raise UsageError(_REFUSED.format(selection=shlex.join(_selection(recording)))) from None


def _show(shell: InteractiveShell, recording: str | None, *, details: bool) -> None:
    document = _report(_selection(recording))
    if recording is None and not document["died"] and not document["incidents"]:
        print(_NO_DEATH)  # noqa: T201 - this is what the user asked for
        return
    from ..render.html import render as as_html  # noqa: PLC0415 - rich only when it is used
    from ..render.terminal import render as as_text  # noqa: PLC0415

    text = as_text(document, details=details)
    if getattr(shell, "kernel", None) is None:
        print(text)  # noqa: T201 - this is what the user asked for
    else:
        display({"text/plain": text, "text/html": as_html(document)}, raw=True)


def _report(selection: list[str]) -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, "-m", "jupyter_kerneldoctor", "report", "--json", *selection],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    document = json.loads(result.stdout) if result.stdout.strip() else None
    if document is None:
        raise UsageError(result.stderr.strip() or "No post-mortem could be read.")
    return dict(document)


def _selection(recording: str | None) -> list[str]:
    if recording is not None:
        return [recording]
    selectors = {"--kernel": kernel_id(), "--notebook": notebook()}
    return [word for name, value in selectors.items() if value for word in (name, value)]
