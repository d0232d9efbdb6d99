"""A copy of the notebook's directory, so that a trial changes no file there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..diagnosis.units import size
from .plan import CannotTryError

_MOST_BYTES = 1 << 30
_MOST_FILES = 20_000
NAME = "kerneldoctor-try-"
"""How the directory of a trial begins, which may lie in the one that is copied."""

_LEFT_OUT = shutil.ignore_patterns(".git", ".ipynb_checkpoints", "__pycache__", "node_modules", f"{NAME}*")
_HERE = "`--here` runs the cells in it, so that they may change its files."


def copy(source: Path, target: Path) -> Path:
    """Copy a directory, without what no cell reads, and return the copy. Raises CannotTryError."""
    held = content_bytes(source)
    free = shutil.disk_usage(target.parent).free
    if held > free / 2:
        raise CannotTryError(f"A copy of {source} needs {size(held)}; {size(free)} is free on the disk.", _HERE)
    try:
        shutil.copytree(source, target, symlinks=True, ignore=_ignored, ignore_dangling_symlinks=True)
    except shutil.Error as error:
        first = error.args[0][0]  # (source, target, what went wrong) of each file
        raise CannotTryError(f"{first[0]} could not be copied: {first[2]}.", _HERE) from None
    except OSError as error:
        raise CannotTryError(f"{source} could not be copied: {error.strerror or error}.", _HERE) from None
    return target


def content_bytes(directory: Path) -> int:
    """Return the size of what a copy holds. Raises CannotTryError where that is too much."""
    held = files = 0
    for parent, directories, names in os.walk(directory):
        left_out = _ignored(parent, directories)
        directories[:] = [name for name in directories if name not in left_out]
        files += len(names)
        held += sum(os.lstat(os.path.join(parent, name)).st_size for name in names)  # noqa: PTH118 - many of them
        if held > _MOST_BYTES or files > _MOST_FILES:
            raise CannotTryError(f"{directory} is too large to be copied.", _HERE)
    return held


def _ignored(parent: str, names: list[str]) -> set[str]:
    """Return what is left out: version control, caches, virtual environments, and what is no file."""
    special = {name for name in names if not _is_copied(Path(parent, name))}
    return set(_LEFT_OUT(parent, names)) | special


def _is_copied(path: Path) -> bool:
    return path.is_symlink() or path.is_file() or (path.is_dir() and not (path / "pyvenv.cfg").exists())
