"""One level of a Python stack, and how it is named to a reader."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Frame:
    """One Python function that was being executed."""

    file: str
    line: int | None
    function: str

    @property
    def module(self) -> str | None:
        """The module the file belongs to as one would name it: "numpy", "ctypes"; None when it is no library's."""
        parts = self._within_library
        return parts[0].partition(".")[0] if parts else None

    @property
    def short_file(self) -> str:
        """The file as one would name it: a library's from the library on, "ctypes/__init__.py"."""
        return "/".join(self._within_library) or self.file

    @property
    def _within_library(self) -> tuple[str, ...]:
        parts = PurePosixPath(self.file.replace("\\", "/")).parts
        for place in ("site-packages", "dist-packages"):
            if place in parts[:-1]:
                return parts[parts.index(place) + 1 :]
        libraries = [number for number, part in enumerate(parts[:-1]) if re.fullmatch(r"python\d+(\.\d+)?", part)]
        return parts[libraries[-1] + 1 :] if libraries else ()
