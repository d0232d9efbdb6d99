"""What GitHub and the devcontainer run is there: targets of the Makefile, other workflows, jobs, every Python."""

import json
import re
from itertools import product
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")}
MAKEFILE = (ROOT / "Makefile").read_text().replace("$(VENV)", ".venv")
TARGETS = re.findall(r"^([\w./-]+):(?!=)", MAKEFILE, re.MULTILINE)
JOBS = [pytest.param(job, jobs["jobs"], id=f"{file}-{name}") for file, jobs in WORKFLOWS.items()
        for name, job in jobs["jobs"].items()]  # fmt: skip


def commands(job):
    """What a job runs, once for each member of its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for values in product(*matrix.values()):
        for step in job.get("steps", ()):
            command = step.get("run", "")
            for name, value in zip(matrix, values, strict=True):
                command = command.replace("${{ matrix." + name + " }}", value)
            yield command


@pytest.mark.parametrize(("job", "jobs"), JOBS)
def test_what_a_job_names_is_there(job, jobs):
    made = [name for command in commands(job) for name in re.findall(r"^make ([\w./-]+)", command, re.MULTILINE)]
    assert set(made) <= set(TARGETS)
    assert not [command for command in commands(job) if "matrix." in command]
    needed = job.get("needs", [])
    assert set([needed] if isinstance(needed, str) else needed) <= set(jobs)
    for used in [job.get("uses"), *(step.get("uses") for step in job.get("steps", ()))]:
        assert used is None or "@" in used or (ROOT / used).is_file()


def test_every_python_that_the_package_names_is_tested():
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    jobs = WORKFLOWS["tests.yml"]["jobs"]
    first = [
        step["with"]["python-version"] for step in jobs["part"]["steps"] if "python-version" in step.get("with", {})
    ]
    assert sorted([*first, *jobs["pythons"]["strategy"]["matrix"]["python"]]) == sorted(named)


def test_all_parts_of_make_test_run_there():
    (parts,) = re.findall(r"^PARTS := (.+)", MAKEFILE, re.MULTILINE)
    assert set(parts.split()) <= set(WORKFLOWS["tests.yml"]["jobs"]["part"]["strategy"]["matrix"]["part"])


def test_the_devcontainer_is_made_from_what_is_there():
    directory = ROOT / ".devcontainer"
    container = json.loads((directory / "devcontainer.json").read_text())
    assert (directory / container["build"]["dockerfile"]).is_file()
    assert container["postCreateCommand"].removeprefix("make ") in TARGETS


def test_an_issue_asks_for_an_export():
    forms = [yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*[!g].yml")]
    assert len(forms) == 2
    for form in forms:
        fields = [part["id"] for part in form["body"] if part["type"] != "markdown"]
        assert len(set(fields)) == len(fields)
        assert "jupyter kerneldoctor export" in str(form["body"])
