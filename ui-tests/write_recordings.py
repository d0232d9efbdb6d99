"""Writes recordings into a directory for the tests: many crashes, and the day of the benchmarks."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "tests")]

from recorded_days import write_day  # noqa: E402

from jupyter_kerneldoctor.recording.journal import JsonLines  # noqa: E402
from jupyter_kerneldoctor.recording.layout import JOURNAL  # noqa: E402

directory, crashes = Path(sys.argv[1]), int(sys.argv[2])
for number in range(crashes):
    recording = directory / f"20261101T{number // 60:02}{number % 60:02}00Z-4711-ab12cd"
    recording.mkdir(mode=0o700, parents=True)
    clock = {"mono_s": 100.0, "wall_s": 1.79e9 + 60 * number}
    journal = JsonLines(recording / JOURNAL)
    start = {"event": "start", "format": 1, "process": [4711, 1, "boot"], "notebook": f"/work/notes-{number % 9}.ipynb"}
    journal.write({**start, **clock})
    journal.write({"event": "cell_start", "seq": 1, "execution_count": 1, "source": "model.fit(x, y)", **clock})
    journal.write({"event": "end", "kind": "signal", "signal": "SIGSEGV", "source": "pidfd", **clock})
    journal.close()
os.umask(0o077)
write_day(directory / "20261101T081730Z-4242-abcdef", every_s=2)
