"""Environments with another Python, made by uv, which also fetches a Python that is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_PYENV = sorted(Path("~/.pyenv/versions").expanduser().glob("*/bin"))  # its shims answer for one of them only


class NotToBeHadError(Exception):
    """There is no such Python, and none could be fetched."""


def environment(name: str, python: str, *packages: str) -> Path:
    """Make an environment below `build/`, or use the one that is there; return its directory of commands.

    Raises NotToBeHadError.
    """
    directory = ROOT / "build" / "versions" / name
    if not directory.exists():
        made = uv("venv", "--quiet", "--seed", "--python", python, str(directory))
        if made.returncode:
            raise NotToBeHadError("it is not installed, and uv could not fetch it")
    uv("pip", "install", "--quiet", "--python", str(directory / "bin" / "python"), *packages, check=True)
    return directory / "bin"


def uv(*arguments: str, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Run uv, which also finds what pyenv has installed."""
    path = os.pathsep.join([os.environ["PATH"], *map(str, _PYENV)])
    command = [str(Path(sys.executable).with_name("uv")), *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done
