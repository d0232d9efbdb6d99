"""IPython in a terminal: no Jupyter, the same recording."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_kerneldoctor.diagnosis.postmortem import PostMortem


def type_into_ipython(tmp_path: Path, text: str) -> PostMortem:
    """Type into a fresh IPython, and diagnose what was recorded."""
    subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner"],
        input=f"%load_ext kerneldoctor\n{text}",
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, "KERNELDOCTOR_DATA_DIR": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")},
    )
    store = Store(tmp_path)
    (recording_id,) = store.ids()
    return diagnose(store.open(recording_id))


@pytest.mark.parametrize("leave", ["exit\n", "quit()\n", ""])
def test_leaving_is_an_ordinary_end(tmp_path: Path, leave: str) -> None:
    answer = type_into_ipython(tmp_path, f"x = 1\n{leave}")

    assert (answer.cause.id, answer.died) == ("ordinary-end", False)


def test_a_crash_is_a_death_with_its_cell(tmp_path: Path) -> None:
    answer = type_into_ipython(tmp_path, "import ctypes\nctypes.string_at(0)\n")

    assert (answer.cause.id, answer.died) == ("segfault", True)
    assert answer.cell is not None
    assert (answer.cell.execution_count, answer.cell.line) == (3, 1)


def test_an_exit_that_nobody_saw_coming_is_a_death(tmp_path: Path) -> None:
    answer = type_into_ipython(tmp_path, "import os\nos._exit(3)\n")

    assert (answer.cause.id, answer.died) == ("exit-call", True)


ANOTHER_KERNEL = """
from IPython.core.interactiveshell import InteractiveShell

class Kernel:
    def get_parent(self):
        return {}

shell = InteractiveShell.instance()
shell.kernel = Kernel()
shell.run_line_magic("load_ext", "kerneldoctor")
shell.run_cell("import os; os.kill(os.getpid(), 9)", store_history=True)
"""


def test_a_kernel_of_another_make_is_recorded(tmp_path: Path) -> None:
    # One with other methods, such as xeus-python.
    data = {"KERNELDOCTOR_DATA_DIR": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")}
    subprocess.run([sys.executable, "-c", ANOTHER_KERNEL], check=False, timeout=60, env={**os.environ, **data})

    store = Store(tmp_path)
    (recording_id,) = store.ids()
    recording = store.open(recording_id)
    assert recording.end.signal == "SIGKILL"
    assert recording.running_cell.source == "import os; os.kill(os.getpid(), 9)"
