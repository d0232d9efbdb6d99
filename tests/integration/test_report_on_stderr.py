"""`KERNELDOCTOR_REPORT=stderr`: who runs a notebook without a page reads there why its kernel died."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from support.handwritten import write_recording
from support.requires import linux

from jupyter_kerneldoctor.cli import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = linux


def test_the_report_follows_what_the_client_says(tmp_path: Path) -> None:
    cells = ["%load_ext kerneldoctor", "import os\nos._exit(3)"]
    code = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    spec = {"name": "python3", "display_name": "Python 3"}
    notebook = {
        "cells": [{**code, "id": f"c{i}", "source": source} for i, source in enumerate(cells)],
        "metadata": {"kernelspec": spec},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "dies.ipynb").write_text(json.dumps(notebook))
    own = {"KERNELDOCTOR_DATA_DIR": str(tmp_path / "data"), "IPYTHONDIR": str(tmp_path / "ipython")}
    command = [sys.executable, "-c", "from nbclient.cli import main; main()", "dies.ipynb"]

    # It is read to its end: the recorder has the client's stderr, and closes it when it has reported.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # ipykernel asks
    environment = {**kept, **own, "KERNELDOCTOR_REPORT": "stderr"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "DeadKernelError" in done.stderr
    assert done.stderr.count("os._exit(3)`") >= 1, done.stderr
    assert "WHAT TO CHANGE" in done.stderr


def test_an_orderly_end_is_not_reported(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    orderly, death = write_recording(1, signal=None), write_recording(2)

    assert main(["report", orderly, "--if-died"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["report", death, "--if-died"]) == 0
    assert "SIGSEGV" in capsys.readouterr().out


def test_it_begins_on_a_line_of_its_own(tmp_path: Path, monkeypatch, capsys) -> None:
    """The progress bar of papermill leaves its line open."""
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    death = write_recording(2)

    assert main(["report", death, "--if-died"]) == 0
    assert capsys.readouterr().out.startswith("\nNative code crashed")
    assert main(["report", death]) == 0
    assert capsys.readouterr().out.startswith("Native code crashed")
