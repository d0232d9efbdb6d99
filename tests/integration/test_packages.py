"""What is built and given to users: it has the panel inside and installs without node."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and from it the wheel, where no node can be found."""
    out = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source") / "project"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", ".venv", "node_modules", "ui-tests", "*.jsonl"))
    (source / "jupyter_kerneldoctor" / "labextension" / "package.json").touch()  # however old it is here
    environment = {**os.environ, "PATH": "/nonexistent"}
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(out), str(source)],
        check=True,
        capture_output=True,
        env=environment,
    )
    return out


def test_the_wheel_has_the_panel_and_the_server_configuration(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()

    assert "kerneldoctor.py" in names
    assert any("share/jupyter/labextensions/jupyter-kerneldoctor/static/remoteEntry" in name for name in names)
    assert any(name.endswith("labextensions/jupyter-kerneldoctor/install.json") for name in names)
    assert any(name.endswith("etc/jupyter/jupyter_server_config.d/jupyter_kerneldoctor.json") for name in names)
    assert any(name.endswith("jupyter_kerneldoctor/server/death.yaml") for name in names)


def test_the_sdist_has_the_panel(packages: Path) -> None:
    (sdist,) = packages.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()

    assert any("labextension/static/remoteEntry" in name for name in names)
    assert not any("/node_modules" in name or "/shared/" in name for name in names)
