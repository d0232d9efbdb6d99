"""What KernelDoctor costs, measured with real kernels and real requests in one run; `--quick` for fewer rounds.

What is added to a user's work is measured with a plain kernel and a recorded one in turn, and told as a ratio first.
Times are also told as they would be on the machine for which the goals were set (`there`), by a piece of work that is
timed beside them. Each figure stands beside the load of its moment and its goal; the exit status is 1 when one is
missed by more than twice its error.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from death_event import death_to_event  # noqa: E402
from kill_to_answer import death_to_answer  # noqa: E402
from lists import lists  # noqa: E402
from live_view import live_view  # noqa: E402
from look import look_cost  # noqa: E402
from peers import peers  # noqa: E402
from recorded_days import day_on_disk, diagnosing  # noqa: E402
from shared_watcher import many_unloaded  # noqa: E402
from sidecar_side import growing_cell, many_idle, sidecar_cost  # noqa: E402
from trial import trial_cost  # noqa: E402
from user_side import cell_overhead, kernel_start, output_latency, peak_error  # noqa: E402

if TYPE_CHECKING:
    from figures import Figure


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a minute less, and less exact")
    parser.add_argument("--peers", action="store_true", help="also with the tools that users would take instead (pip)")
    parser.add_argument("--write", type=Path, help="a Markdown file whose first table to replace")
    options = parser.parse_args()
    quick = options.quick
    # As an installation does: a test environment may keep Python from writing what it has compiled.
    compileall.compile_dir(ROOT / "jupyter_kerneldoctor", quiet=2)
    shown = []
    print(f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="kerneldoctor-benchmark-") as directory:
        work = Path(directory)
        for figures in (
            cell_overhead(work, 40 if quick else 100),
            peers(work, 10 if quick else 40) if options.peers else (),
            kernel_start(work, 5 if quick else 20),
            output_latency(work, 100 if quick else 500),
            look_cost(work, 50 if quick else 500),
            sidecar_cost(work, 8 if quick else 30),
            growing_cell(work, 40, 2 if quick else 4),
            many_idle(work, 5 if quick else 20, 10 if quick else 30),
            many_unloaded(work, 30, 10 if quick else 30),
            live_view(work, 5 if quick else 20),
            day_on_disk(work, 40 if quick else 200),
            peak_error(work),
            death_to_answer(work, 6 if quick else 31),
            death_to_event(work, 3 if quick else 10),
            diagnosing(work),
            lists(work, ((200, 0.2), (2000, 0.3)) if quick else ((200, 0.2), (2000, 0.3), (10_000, 0.5))),
            trial_cost(work, 2 if quick else 5),
        ):
            for figure in figures:
                print(figure, flush=True)
                shown.append(figure)
                missed += figure.verdict == "MISSED"
    if options.write is not None:
        write_table(options.write, shown)
    return int(missed > 0)


def write_table(page: Path, shown: list[Figure]) -> None:
    """Put the figures that have a goal, and those beside them, into the page, with what is over its goal said so."""
    rows = []
    for figure in shown:
        if figure.verdict or figure.ratio is not None:
            doubt = "" if figure.verdict in ("", "ok") else f" ({figure.verdict.lower()})"
            rows.append(f"| {figure.name} | {figure.measured()} | {figure.load:.1f} | {figure.wanted()}{doubt} |")
    lines = page.read_text("utf-8").split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    last = next(number for number, line in enumerate(lines) if number > first and not line.startswith("|"))
    lines[first:last] = ["| what | measured | load | goal |", "| --- | --- | --- | --- |", *rows]
    page.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
