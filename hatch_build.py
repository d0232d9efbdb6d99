"""Builds the panel before the package where its sources are newer: new Python never comes with an old panel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PANEL = "jupyter_kerneldoctor/labextension/package.json"
SOURCES = ("package.json", "yarn.lock", "tsconfig.json", "src", "style", "schema")


class Panel(BuildHookInterface):
    """Called by hatchling for each wheel and source distribution, see pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the panel, or leave one that is up to date. Raises SystemExit where Node is missing, which was said."""
        root = Path(self.root)
        if is_up_to_date(root):
            return
        if subprocess.run([root / "prerequisites.sh", sys.executable], check=False).returncode != 0:
            sys.exit(1)
        for command in (["jlpm", "install"], ["jlpm", "build:prod"]):
            subprocess.run(command, cwd=root, check=True, stdout=sys.stderr)
        (root / PANEL).touch()


def is_up_to_date(root: Path) -> bool:
    """Whether there is a panel and no source is newer. The files of a source distribution are all of one time."""
    panel = root / PANEL
    found = (path for name in SOURCES for path in (root / name, *(root / name).rglob("*")) if path.is_file())
    return panel.exists() and all(
        path.stat().st_mtime <= panel.stat().st_mtime for path in found if "__tests__" not in path.parts
    )
