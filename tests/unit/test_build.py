"""What stands before a build: what is missing is said in one sentence, and an old panel is built anew."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def programs(tmp_path):
    """A PATH with a Python and a node that say to be of some version."""

    def make(python, node):
        version, _, lacks = python.partition(" without ")
        refuses = f'case "$*" in *"import {lacks}"*) exit 1;; esac\n' if lacks else ""
        found = {"python3": f"{refuses}echo {version}\nexit {int(python == '3.8.18')}", "node": f"echo {node}"}
        for name, script in found.items():
            if script != "echo None":
                (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
                (tmp_path / name).chmod(0o755)
        (tmp_path / "sed").symlink_to("/usr/bin/sed")
        return {"PATH": str(tmp_path)}

    return make


@pytest.mark.parametrize(
    ("python", "node", "said"),
    [
        ("3.8.18", "v22.1.0", ["Python 3.1", "`python3` is 3.8.18", "make demo PYTHON="]),
        ("3.12.1 without ensurepip", "v22.1.0", ["cannot make an environment", "sudo apt install python3-venv"]),
        ("3.12.1", None, ["Node 20", "`node` is not there", "nodejs.org"]),
        ("3.12.1", "v16.20.2", ["Node 20", "`node` is v16.20.2", "nodejs.org"]),
        ("3.12.1", "v22.1.0", []),
    ],
)
def test_what_is_missing_is_one_sentence_with_the_cure(programs, python, node, said):
    env = programs(python, node)
    command = [ROOT / "prerequisites.sh", "python3"]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)

    assert run.returncode == bool(said)
    assert len(run.stderr.splitlines()) == bool(said)
    assert all(part in run.stderr for part in said), run.stderr


def test_where_nothing_can_be_fetched_the_last_line_says_what_a_proxy_needs(tmp_path):
    for name in ("Makefile", "package.json", "yarn.lock", "prerequisites.sh", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "jlpm").write_text(
        "#!/bin/sh\necho 'RequestError: self-signed certificate in certificate chain'; exit 1\n"
    )
    (tools / "jlpm").chmod(0o755)
    command = ["make", f"BIN={tools}", "--old-file=prerequisites", "node_modules/.installed"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run.returncode == 2
    assert "NODE_EXTRA_CA_CERTS and SSL_CERT_FILE, as docs/guide/troubleshooting.md says" in run.stderr
    assert not (tmp_path / "node_modules" / ".installed").exists()


def test_a_panel_older_than_one_of_its_sources_is_not_up_to_date(tmp_path, monkeypatch):
    hook = panel_hook(monkeypatch)
    panel, source = tmp_path / hook.PANEL, tmp_path / "src" / "index.ts"
    assert not hook.is_up_to_date(tmp_path)

    for path in (panel, source):
        path.parent.mkdir(parents=True)
        path.touch()
        os.utime(path, (1000, 1000))
    assert hook.is_up_to_date(tmp_path), "all of one time, as in a source distribution"

    os.utime(source, (1001, 1001))
    assert not hook.is_up_to_date(tmp_path)


def panel_hook(monkeypatch):
    """Import hatch_build.py; hatchling itself is only there during a build."""
    hatchling = type(sys)("hatchling.builders.hooks.plugin.interface")
    hatchling.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, hatchling.__name__, hatchling)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
