"""The recordings of a case, kept so that other rules can judge them: NAME/0, NAME/1, ..., one for each report."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.reader import observe, read

if TYPE_CHECKING:
    from pathlib import Path

_SEEN = ("alive", "recorder_alive", "rebooted", "silent_s")
"""What was to be seen of the processes when the report was made: no recording holds it."""


@dataclass(frozen=True)
class Recordings:
    """Those of one case, in a directory of their own."""

    directory: Path

    def clear(self) -> None:
        """Remove those of an earlier run."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def add(self, store: Path, name: str) -> None:
        """Keep a recording as it is now; `store` is the directory that recordings are written below."""
        source = next(path for path in store.rglob(name) if path.is_dir())
        path, place = source.relative_to(store), self.directory / str(len(self._places()))
        seen = observe(read(source))
        shutil.copytree(source, place / "data" / path, symlinks=True)
        told = {"path": str(path), "observed": {key: getattr(seen, key) for key in _SEEN}}
        (place / "meta.json").write_text(json.dumps(told), "utf-8")

    def reports(self) -> list[dict[str, Any]]:
        """Judge each of them by the present rules."""
        reports = []
        for place in self._places():
            told = json.loads((place / "meta.json").read_text("utf-8"))
            recording = read(place / "data" / told["path"])
            reports.append(diagnose(replace(observe(recording), **told["observed"])).to_json())
        return reports

    def _places(self) -> list[Path]:
        return sorted((path.parent for path in self.directory.glob("*/meta.json")), key=lambda one: int(one.name))
