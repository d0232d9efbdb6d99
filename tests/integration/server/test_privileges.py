"""What a kernel's own code names is never run with the server's privileges."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from support import requires

pytestmark = requires.root

NOBODY = 65534

BECOMES_A_HOSTILE_PYTHON = """\
import os
os.setgroups([])
os.setresgid({nobody}, {nobody}, {nobody})
os.setresuid({nobody}, {nobody}, {nobody})
os.execv({program!r}, ["python3"])
"""


@pytest.fixture
def hostile_python():
    """A program of another user's, called python3, and the file in which it notes who runs it."""
    if shutil.which("cc") is None:
        pytest.skip("cannot run here: no C compiler")
    source = Path(__file__).resolve().parent.parent.parent / "support" / "hostile.c"
    with tempfile.TemporaryDirectory() as directory:  # not below pytest's, which is root's alone
        program, log = Path(directory, "python3"), Path(directory, "log")
        subprocess.run(["cc", f'-DLOG="{log}"', "-o", program, source], check=True)
        for path in (directory, program):
            os.chown(path, NOBODY, NOBODY)
        yield program, log


async def test_a_kernel_that_gave_its_privileges_away_is_not_run_with_ours(notebook, hostile_python):
    program, log = hostile_python
    kernel = await notebook()

    await kernel.send(BECOMES_A_HOSTILE_PYTHON.format(nobody=NOBODY, program=str(program)))
    await kernel.recorded(lambda recording: recording.no_stacks)
    await asyncio.sleep(0.5)

    assert log.read_text().split() == [str(NOBODY)]
