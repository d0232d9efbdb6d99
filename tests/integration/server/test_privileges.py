"""What a kernel's own code names is never run with the server's privileges."""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from support import requires

pytestmark = requires.root

NOBODY = 65534


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


async def test_a_program_that_a_kernel_has_put_in_its_place_is_not_run_with_ours(
    jp_fetch, kernelspec, recorded, hostile_python
):
    """It gives its privileges away first: then the recorder would be the one with more of them."""
    program, log = hostile_python
    drops = ["setpriv", "--clear-groups", f"--regid={NOBODY}", f"--reuid={NOBODY}", program]
    await jp_fetch("api", "kernels", method="POST", body=json.dumps({"name": kernelspec("hostile", drops)}))

    # The recorder looks once, 2 s after the start, and says so when it is done with whatever it has run.
    await recorded(lambda recording: recording.no_stacks)

    assert await written(log) == [str(NOBODY)]


async def written(log):
    """Return the words of a file, once there are any: on a busy machine the program may come after the recorder."""
    for _ in range(1200):
        if log.exists() and (words := log.read_text().split()):
            return words
        await asyncio.sleep(0.05)
    raise AssertionError(log)
