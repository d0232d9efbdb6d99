"""Torture: kernels and their recorders are interrupted, stopped and killed at random, and nothing may come of it.

    PYTHONPATH=tests python -m torture --rounds 100 [--seed 1] [--write docs/reliability.md]

Each round starts a kernel, runs random cells in it, and disturbs it, its recorder, its server, or the directory of its
recording. A round fails when the kernel notices, when the recording cannot be read, when the cell that was started last
is not known though the recorder lived, when an answer that is called proven is wrong, or when a process or a file is
left behind.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from . import containers, rounds, surroundings, under_server
from .invariants import Outcome


def play(seed: int) -> Outcome:
    """Play one round: of fifteen, one is under a server and one in a container that is started again."""
    if seed % 15 == 7:
        return under_server.play(seed)
    if seed % 15 == 11 and containers.IS_PERMITTED:
        return containers.play(seed)
    return rounds.play(seed)


def figures(outcomes: list[Outcome]) -> str:
    """The figures as tables."""
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    kinds = Counter(reason.partition(":")[0] for outcome in wrong for reason in outcome.wrong)
    lines = [
        f"{len(outcomes)} rounds, {sum(outcome.cells for outcome in outcomes)} cells.",
        "",
        "| | rounds |",
        "| --- | --- |",
        f"| nothing wrong | {len(outcomes) - len(wrong)} |",
        *(f"| {kind} | {count} |" for kind, count in sorted(kinds.items())),
    ]
    for title, name in (("where", "place"), ("disturbed by", "disturbance"), ("ended by", "end")):
        counted = Counter(getattr(outcome, name) for outcome in outcomes)
        lines += ["", f"| {title} | rounds |", "| --- | --- |"]
        lines += [f"| {value or 'nothing'} | {count} |" for value, count in sorted(counted.items())]
    return "\n".join(lines)


def main() -> int:
    """Play rounds; return 1 if anything was wrong with one."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a file that gets each outcome as a line of JSON, and is added to")
    parser.add_argument("--sum", type=Path, help="play nothing, and print the figures of such a file")
    options = parser.parse_args()
    if options.sum is not None:
        lines = options.sum.read_text().splitlines()
        print(figures([Outcome(*json.loads(line)) for line in lines]))
        return 0
    for what in [*surroundings.missing(), *([] if containers.IS_PERMITTED else ["a container: unshare needs root"])]:
        print(f"left out, {what}")
    begun = time.monotonic()
    outcomes = []
    with ProcessPoolExecutor(options.workers) as pool:
        for outcome in pool.map(play, range(options.seed, options.seed + options.rounds)):
            outcomes.append(outcome)
            if outcome.wrong:
                print(outcome, flush=True)
            if options.write is not None:
                with options.write.open("a") as file:
                    print(json.dumps(outcome), file=file)
    print(figures(outcomes))
    print(f"\n{time.monotonic() - begun:.0f} s")
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
