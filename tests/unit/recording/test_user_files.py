"""Whose code a file of a stack is."""

from __future__ import annotations

import json
import site

import pytest

from jupyter_kerneldoctor.recording import user_files
from jupyter_kerneldoctor.recording.user_files import is_cell_file, is_user_file


@pytest.mark.parametrize("file", ["/tmp/ipykernel_12/34.py", "<ipython-input-3-abc>", "<timed exec>"])
def test_cells_are_the_users(file: str) -> None:
    assert is_cell_file(file)
    assert is_user_file(file)


@pytest.mark.parametrize(
    "file", ["/home/u/project/net.py", "helpers.py", "/home/u/python3/nb.py", "C:\\Users\\u\\nb\\data.py"]
)
def test_files_that_are_not_installed_are_the_users(file: str) -> None:
    assert not is_cell_file(file)
    assert is_user_file(file)


@pytest.mark.parametrize(
    "file",
    [
        json.__file__,
        f"{site.getsitepackages()[0]}/torch/nn/modules/module.py",
        "/usr/lib/python3/dist-packages/numpy/core.py",
        "/opt/conda/lib/python3.11/site-packages/pandas/io.py",
        "/usr/lib/python311.zip/json/decoder.py",
        "/usr/lib/python3.14t/json/decoder.py",
        "C:\\Python\\Lib\\site-packages\\numpy\\core.py",
        "<frozen importlib._bootstrap>",
        "<string>",
        "<__array_function__ internals>",
        user_files.__file__,
    ],
)
def test_libraries_and_what_is_made_while_running_are_not(file: str) -> None:
    assert not is_user_file(file)
