"""What KernelDoctor costs, measured with real kernels in one run; `--quick` for fewer rounds.

Each figure stands beside its goal; the exit status is 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from kill_to_answer import death_to_answer  # noqa: E402
from live_view import live_view  # noqa: E402
from look import look_cost  # noqa: E402
from recorded_days import day_on_disk, diagnosing  # noqa: E402
from sidecar_side import growing_cell, many_idle, sidecar_cost  # noqa: E402
from trial import trial_cost  # noqa: E402
from user_side import cell_overhead, output_latency, peak_error  # noqa: E402


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a minute less, and less exact")
    quick = parser.parse_args().quick
    print(f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="kerneldoctor-benchmark-") as directory:
        work = Path(directory)
        for figures in (
            cell_overhead(work, 10 if quick else 60),
            output_latency(work, 100 if quick else 500),
            look_cost(work, 50 if quick else 500),
            sidecar_cost(work, 8 if quick else 30),
            growing_cell(work, 8 if quick else 30),
            many_idle(work, 5 if quick else 20, 10 if quick else 30),
            live_view(work, 5 if quick else 20),
            day_on_disk(work, 40 if quick else 200),
            peak_error(work),
            death_to_answer(work, 6 if quick else 51),
            diagnosing(work),
            trial_cost(work, 2 if quick else 5),
        ):
            for figure in figures:
                print(figure, flush=True)
                missed += figure.goal is not None and figure.value > figure.goal
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
