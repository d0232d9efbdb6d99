"""What is known of the program that started a kernel, by its command line."""

import subprocess

import pytest
from support.requires import linux

from jupyter_kerneldoctor.kernel.kernel_info import notebook, started_by

pytestmark = linux


@pytest.mark.parametrize(
    ("words", "program", "found"),
    [
        (["papermill", "-p", "n", "3", "in.ipynb", "out.ipynb"], "papermill", "in.ipynb"),
        (["-m", "papermill", "in.ipynb", "out.ipynb"], "papermill", "in.ipynb"),
        (["jupyter-execute", "in.ipynb"], "jupyter-execute", "in.ipynb"),
        (["jupyter-nbconvert", "--execute", "--output", "out.ipynb", "in.ipynb"], "jupyter-nbconvert", "in.ipynb"),
        (["jupyter-nbconvert", "--execute", "in.ipynb", "out.ipynb"], "jupyter-nbconvert", None),
        (["jupyter-execute", "gone.ipynb"], "jupyter-execute", None),
        (["jupyter-lab", "in.ipynb"], "jupyter-lab", None),
        (["run_all.py"], "run_all.py", None),
        (["-m", "ipykernel_launcher", "-f", "x.json"], "another kernel", None),
    ],
)
def test_the_program_and_the_notebook_it_executes(tmp_path, monkeypatch, words, program, found):
    """A shell stands for Python: it, too, runs the file that it is given, here one that waits."""
    for name in ("in.ipynb", "out.ipynb"):
        (tmp_path / name).write_text("{}")
    (tmp_path / next(word for word in words if not word.startswith("-"))).write_text("echo; read _")
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    parent = subprocess.Popen(["python3.14t", *words], executable="/bin/sh", cwd=tmp_path, **pipes)
    try:
        assert parent.stdout.readline()  # before, it may have no command line yet
        monkeypatch.setenv("JPY_PARENT_PID", str(parent.pid))
        assert started_by() == program
        assert notebook() == (found and str(tmp_path / found))
    finally:
        parent.communicate()


def test_nothing_is_known_of_no_parent(monkeypatch):
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    assert started_by() is None
