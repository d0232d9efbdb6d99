"""A copy of the notebook's directory, so that a trial changes no file there."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..diagnosis.units import size
from .plan import CannotTryError

_MOST_BYTES = 1 << 30
_MOST_FILES = 20_000
_DEEPEST = 100
NAME = "kerneldoctor-try-"
"""How the directory of a trial begins, which may lie in the one that is copied."""

_LEFT_OUT = shutil.ignore_patterns(".git", ".ipynb_checkpoints", "__pycache__", "node_modules", f"{NAME}*")
_HERE = "`--here` runs the cells in it, so that they may change its files."


@dataclass
class Content:
    """What a copy of a directory holds."""

    bytes: int = 0
    files: int = 0
    """Directories and links are counted, too."""
    links: dict[str, str] = field(default_factory=dict)
    """Links to something in the directory, by their paths in it, with the path in it that they lead to."""
    outside: list[str] = field(default_factory=list)
    """Links out of the directory, which are left out."""

    def add_links(self, root: str, parent: str, names: list[str]) -> None:
        """Add what of this is a link, but for those to what is not there: a cell would make it."""
        for path in (f"{parent}/{name}" for name in names):
            if os.path.islink(path) and os.path.exists(path):  # noqa: PTH110, PTH114 - many of them
                link, leads_to = os.path.relpath(path, root), os.path.realpath(path)
                if Path(leads_to).is_relative_to(root):
                    self.links[link] = os.path.relpath(leads_to, root)
                else:
                    self.outside.append(link)


def copy(source: Path, target: Path) -> Path:
    """Copy a directory, without what no cell reads, and return the copy. Raises CannotTryError.

    A link out of the directory is left out: the cells would write through it. One that stays in it leads into the copy.
    """
    content = survey(source)
    free = shutil.disk_usage(target.parent).free
    if content.bytes > free / 2:
        raise CannotTryError(
            f"A copy of {source} needs {size(content.bytes)}; {size(free)} is free on the disk.", _HERE
        )
    try:
        shutil.copytree(source, target, symlinks=True, ignore=_ignored, copy_function=_copy_file)
        for link, leads_to in content.links.items():
            (target / link).symlink_to(target / leads_to)
    except shutil.Error as error:
        first = error.args[0][0]  # (source, target, what went wrong) of each file
        raise CannotTryError(f"{first[0]} could not be copied: {first[2]}.", _HERE) from None
    except OSError as error:
        raise _not_copied(error, source) from None
    return target


def survey(directory: Path) -> Content:
    """Return what a copy holds. Raises CannotTryError where that is too much, or cannot be read."""

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # else it is gone by now
            raise _not_copied(error, directory) from None

    content, root = Content(), os.path.realpath(directory)
    for parent, directories, names in os.walk(root, onerror=failed):
        inside = os.path.relpath(parent, root)
        both = [*directories, *names]
        content.add_links(root, parent, sorted({*both} - _LEFT_OUT(parent, both)))
        left_out = _ignored(parent, both)
        content.files += len(both)
        directories[:] = [name for name in directories if name not in left_out]
        for name in names:
            with suppress(FileNotFoundError):
                content.bytes += 0 if name in left_out else os.lstat(f"{parent}/{name}").st_size
        if content.bytes > _MOST_BYTES or content.files > _MOST_FILES or inside.count(os.sep) >= _DEEPEST:
            raise CannotTryError(f"{directory} is too large to be copied.", _HERE)
    return content


def _not_copied(error: OSError, directory: Path) -> CannotTryError:
    what, why = error.filename or directory, error.strerror or error
    return CannotTryError(f"{what} could not be copied: {why}.", _HERE)


def _copy_file(source: str, target: str) -> None:
    with suppress(FileNotFoundError):  # it is gone by now
        shutil.copy2(source, target)


def _ignored(parent: str, names: list[str]) -> set[str]:
    """Return what is left out: version control, caches, virtual environments, links, and what is no file."""
    special = {name for name in names if not _is_copied(f"{parent}/{name}")}
    return set(_LEFT_OUT(parent, names)) | special


def _is_copied(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
        return stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and not os.access(f"{path}/pyvenv.cfg", os.F_OK))
    except OSError:
        return False
