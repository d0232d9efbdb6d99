"""The tutorials work: what each of them says is done in a copy of the tree, and changes only the files it names."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.requires import linux

from jupyter_kerneldoctor.kernel.signatures import SIGNATURES
from jupyter_kerneldoctor.recording.journal import read_events
from jupyter_kerneldoctor.recording.reader import read

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
COPIED = (
    *("pyproject.toml", "docs/causes.md", "docs/fixes.md"),
    *("docs/recording.md", "docs/recorded_fields.py"),
    *("tests/unit/diagnosis/test_causes.py", "tests/unit/fixes/test_cases.py"),
    *("tests/unit/sidecar/test_system_state_event.py", "tests/support/requires.py", "tests/support/sidecars.py"),
)


@pytest.fixture
def tree(tmp_path):
    """A copy of what the tutorials need: the package, the pages that are written, the tests."""
    leave_out = shutil.ignore_patterns("__pycache__", "labextension")
    shutil.copytree(ROOT / "jupyter_kerneldoctor", tmp_path / "jupyter_kerneldoctor", ignore=leave_out)
    for name in COPIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs/fixes", tmp_path / "docs/fixes")
    return tmp_path


def contents(tree):
    files = (
        path for path in tree.rglob("*") if path.is_file() and not {"__pycache__", ".pytest_cache"} & {*path.parts}
    )
    return {str(path.relative_to(tree)): path.read_bytes() for path in files}


def tutorial(kind):
    return (ROOT / "docs" / "tutorials" / f"first-{kind}.md").read_text(encoding="utf-8")


def run(tree, command, options=""):
    program, *arguments = command.split()
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTEST_ADDOPTS": f"-p no:cacheprovider -p no:xdist {options}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["cause", "fix"])
def test_a_first_one(tree, kind):
    text = tutorial(kind)
    path, source = re.search(r"Create `(\S+\.py)`.*?```python\n(.*?)```", text, re.DOTALL).groups()
    page = f"docs/{kind.removesuffix('e')}es.md"
    own = [f"docs/fixes/{Path(path).stem.replace('_', '-')}.md"] if kind == "fix" else []
    before = contents(tree)
    assert path not in before  # it is the reader's first, not one that there is
    (tree / path).write_text(source, encoding="utf-8")

    outputs = [run(tree, command) for command in re.findall(r"```sh\n(.*?)\n```", text)]

    after = contents(tree)
    assert len(source.splitlines()) <= 80
    assert {name for name in after if after[name] != before.get(name)} == {path, page, *own}
    assert " passed" in outputs[0]
    assert Path(path).stem.replace("_", "-").encode() in after[page]


@linux
def test_a_first_meter(tree, tmp_path_factory):
    text = tutorial("meter")
    path = re.search(r"Create `(\S+\.py)`", text)[1]
    source = re.search(r"```python\n(\"\"\".*?)```", text, re.DOTALL)[1]
    before = contents(tree)
    (tree / path).write_text(source, encoding="utf-8")
    changed = apply_changes(tree, text)
    recorded = tmp_path_factory.mktemp("recorded") / "base"

    outputs = [run(tree, command, f"--basetemp={recorded}") for command in re.findall(r"```sh\n(.*?)\n```", text)]

    after = contents(tree)
    (journal,) = recorded.rglob("journal.jsonl")
    states = [event for event in read_events(journal) if event["event"] == "surroundings"]
    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert {name for name in after if after[name] != before.get(name)} == {path, *changed, "docs/recording.md"}
    assert "| `oom_score_adj` | int or None |" in after["docs/recording.md"].decode()
    assert " passed" in outputs[0]
    assert states[0]["oom_score_adj"] == own, "a process has that of its parent"
    assert read(journal.parent).system_states[0].threads == 1, "readers that do not know the new field read the others"


def apply_changes(tree, text):
    """Make each change that the page shows in the file it names before; return the files."""
    changed = set()
    for place in re.finditer(r"```diff\n(.*?)```", text, re.DOTALL):
        name = re.findall(r"Change\s+`(\S+\.py)`", text[: place.start()])[-1]
        lines = place[1].splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
        file = tree / name
        whole = file.read_text(encoding="utf-8")
        assert whole.count(old) == 1, f"{name} has changed: {old}"
        file.write_text(whole.replace(old, new), encoding="utf-8")
        changed.add(name)
    return changed


def test_the_error_of_the_first_cause_is_recorded_in_these_words():
    (said,) = re.findall(r'_SAID = "(.*)"', tutorial("cause"))
    assert said in {one.words for one in SIGNATURES}
