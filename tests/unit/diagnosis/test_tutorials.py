"""The tutorials work: what each of them says is done in a copy of the tree, and changes only the files it names."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COPIED = (
    *("pyproject.toml", "docs/causes.md", "docs/fixes.md"),
    *("tests/unit/diagnosis/test_causes.py", "tests/unit/fixes/test_cases.py"),
)


@pytest.fixture
def tree(tmp_path):
    """A copy of what the tutorials need: the package, the reference, the tests of causes and fixes."""
    leave_out = shutil.ignore_patterns("__pycache__", "labextension")
    shutil.copytree(ROOT / "jupyter_kerneldoctor", tmp_path / "jupyter_kerneldoctor", ignore=leave_out)
    for name in COPIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def contents(tree):
    files = (
        path for path in tree.rglob("*") if path.is_file() and not {"__pycache__", ".pytest_cache"} & {*path.parts}
    )
    return {str(path.relative_to(tree)): path.read_bytes() for path in files}


def run(tree, command):
    program, *arguments = command.split()
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:xdist"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["cause", "fix"])
def test_a_first_one(tree, kind):
    text = (ROOT / "docs" / "tutorials" / f"first-{kind}.md").read_text(encoding="utf-8")
    path, page = re.search(r"Create `(\S+\.py)`", text)[1], f"docs/{kind.removesuffix('e')}es.md"
    source = re.search(r"```python\n(\"\"\".*?)```", text, re.DOTALL)[1]
    before = contents(tree)
    (tree / path).write_text(source, encoding="utf-8")

    outputs = [run(tree, command) for command in re.findall(r"```sh\n(.*?)\n```", text)]

    after = contents(tree)
    assert len(source.splitlines()) <= 80
    assert {name for name in after if after[name] != before.get(name)} == {path, page}
    assert " passed" in outputs[0]
    assert Path(path).stem.replace("_", "-").encode() in after[page]
