"""Reads the stacks of busy kernels ten thousand times, and holds every frame against the code that ran.

`--quick` reads a tenth of that, `--dumps N` as many as you like. The exit status is 1 when a kernel crashed, a stack
was wrong, or fewer could be read than a load demands.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests"), str(ROOT)]

from support.kernels import LiveKernel  # noqa: E402

from jupyter_kerneldoctor.recording.journal import read_events  # noqa: E402
from jupyter_kerneldoctor.recording.user_files import is_cell_file  # noqa: E402
from jupyter_kerneldoctor.sidecar.stacks.discovery_process import DiscoveryProcess  # noqa: E402
from jupyter_kerneldoctor.sidecar.stacks.layout import Runtime  # noqa: E402
from jupyter_kerneldoctor.sidecar.stacks.memory import UnreadableError  # noqa: E402
from jupyter_kerneldoctor.sidecar.stacks.snapshot import Stacks  # noqa: E402

DUMPS = 10_000


class Load(NamedTuple):
    """What a kernel is busy with: the cell, and which function may call which."""

    name: str
    source: str
    calls: dict[str, set[str]]
    threads: bool = False
    readable: float = 0.95
    """The least share of the stacks, from 0 to 1."""


FUNCTIONS = Load(
    "functions, generators, lambdas, recursion, garbage collection",
    """import gc, os
def leaf(n):
    return [i * i for i in range(n)]
def numbers(n):
    for i in range(n):
        yield len(leaf(i))
def recurse(depth):
    if depth == 0:
        return sum(numbers(20))
    return recurse(depth - 1)
def by_key():
    return sorted(range(30), key=lambda i: -len(leaf(i)))
class Node:
    def __init__(self):
        self.me = self
    def __del__(self):
        leaf(3)
def rubbish():
    for _ in range(50):
        Node()
    gc.collect()
while not os.path.exists('stop'):
    recurse(40)
    by_key()
    rubbish()
""",
    {
        "<module>": {"recurse", "by_key", "rubbish"},
        "recurse": {"recurse", "numbers"},
        "numbers": {"leaf"},
        "by_key": {"<lambda>"},
        "<lambda>": {"leaf"},
        "leaf": {"<listcomp>"},
        "rubbish": {"__init__", "__del__"},
        "__del__": {"leaf"},
    },
)

# `__del__` may run wherever garbage is collected; the finalised objects are made in `rubbish` alone.
_ANYWHERE = {"__del__"}

DEEP = Load(
    "recursion of 5,000 levels",
    """import os, sys
sys.setrecursionlimit(20_000)
def down(n):
    return sum(range(2_000)) if n == 0 else down(n - 1) + len([n] * 100)
while not os.path.exists('stop'):
    down(5_000)
""",
    {"<module>": {"down"}, "down": {"down"}},
    # Several frames come or go in a microsecond: faster than they can be read. Some moments are better than others.
    readable=0.1,
)

MADE = Load(
    "code that is made, run once and freed",
    """import os
number = 0
def run(number):
    names = {}
    source = f'def made_{number}(n):\\n    return sum(range(n))\\nmade_{number}(200)'
    exec(compile(source, f'<made {number}>', 'exec'), names)
while not os.path.exists('stop'):
    number += 1
    run(number)
""",
    {"<module>": {"run"}, "run": {"<module>"}},
)

THREADS = Load(
    "threads that start and end",
    """import os, threading
def count(n):
    total = 0
    for i in range(n):
        total += step(i)
    return total
def step(i):
    return i % 7
def first():
    count(2_000)
def second():
    [count(200) for _ in range(10)]
while not os.path.exists('stop'):
    pool = [threading.Thread(target=target) for target in (first, second, first)]
    for thread in pool:
        thread.start()
    count(500)
    for thread in pool:
        thread.join()
""",
    {"<module>": {"count", "<listcomp>"}, "count": {"step"}, "first": {"count"}, "second": {"count", "<listcomp>"},
     "<listcomp>": {"count"}},
    threads=True,
)  # fmt: skip

LOADS = (FUNCTIONS, DEEP, MADE, THREADS)


class Result(NamedTuple):
    load: Load
    dumps: int
    stacks: int
    readable: int
    wrong: list[str]
    alive: bool
    cpu_us: float

    @property
    def share(self) -> float:
        """Of the stacks, how many could be read."""
        return self.readable / max(1, self.stacks)

    def __str__(self) -> str:
        state = "kernel alive" if self.alive else "KERNEL DEAD"
        return (
            f"{self.load.name:<62} {self.dumps:>6} dumps {self.stacks:>6} stacks {self.share * 100:>6.2f} % readable "
            f"{len(self.wrong):>3} wrong {self.cpu_us:>6.0f} us each  {state}"
        )


def stress(load: Load, dumps: int, work: Path) -> Result:
    """Keep one kernel busy and read it."""
    kernel = LiveKernel(work / "data", work)
    try:
        kernel.load()
        kernel.sidecar_pid()
        kernel.client.execute(load.source)
        time.sleep(0.3)
        stacks = open_stacks(kernel)
        found, spent, readable = [], [], 0
        for _ in range(dumps):
            begin = time.process_time()
            read = _dump(stacks, load)
            spent.append(time.process_time() - begin)
            readable += sum(bool(frames) for frames in read)
            found += read
        wrong = [problem for frames in found if (problem := wrong_with(frames, load))]
        (work / "stop").touch()
        alive = kernel.process.poll() is None and kernel.run("6 * 7").result == "42"
        return Result(load, dumps, len(found), readable, wrong, alive, statistics.mean(spent) * 1e6)
    finally:
        kernel.close()


def open_stacks(kernel: LiveKernel) -> Stacks:
    """Learn the layout, and take from the recording where to look."""
    discovery = DiscoveryProcess(kernel.pid)
    while not discovery.is_done:
        time.sleep(0.01)
        discovery.poll()
    assert discovery.layout is not None, discovery.problem
    (journal,) = kernel.data_root.glob("recordings/*/journal.jsonl")
    start = next(event for event in read_events(journal) if event["event"] == "start")
    return Stacks(kernel.pid, discovery.layout, Runtime(*start["runtime"]))


def _dump(stacks: Stacks, load: Load) -> list[list[dict[str, object]]]:
    """The main thread's stack, and where a glance finds it to be a moment later.

    Of a load with threads also those of all threads that Python knows and that have begun.
    """
    try:
        main = stacks.main()
    except UnreadableError:
        main = []
    glances = [frames for frames in (stacks.glance() for _ in range(3)) if frames]
    others = stacks.threads()[1:] if load.threads else []
    return [main, *glances, *(thread["frames"] for thread in others if thread["frames"])]


def wrong_with(frames: list[dict[str, object]], load: Load) -> str | None:
    """What cannot be true of a stack; None for one that can."""
    for frame in frames:
        if not _exists(str(frame["file"]), frame["line"], str(frame["function"]), load.source):
            return f"no such place: {frame}"
    own = [frame for frame in frames if is_cell_file(str(frame["file"]))]
    names = [str(frame["function"]) for frame in own]
    for inner, outer in pairwise(names):
        if inner not in load.calls.get(outer, set()) | _ANYWHERE:
            return f"{outer} never calls {inner}: {names[:8]}"
    made = {
        number for frame in frames for number in re.findall(r"made[ _](\d+)", f"{frame['file']} {frame['function']}")
    }
    return f"pieces of several functions: {made}" if len(made) > 1 else None


def _exists(file: str, line: object, function: str, cell: str) -> bool:
    """Whether a function of that name stands around that line."""
    if file.startswith("<made "):
        return function == "<module>" or function.startswith("made_")
    if file.startswith("<frozen"):
        return True
    if line is None:  # code that the compiler put in, of no line
        return True
    spans = _spans(cell if is_cell_file(file) else Path(file).read_text(encoding="utf-8"))
    return any(first <= line <= last for first, last in spans.get(function, ()))


@cache
def _spans(source: str) -> dict[str, list[tuple[int, int]]]:
    kinds = {ast.Lambda: "<lambda>", ast.ListComp: "<listcomp>", ast.GeneratorExp: "<genexpr>",
             ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}  # fmt: skip
    spans: dict[str, list[tuple[int, int]]] = {"<module>": [(0, source.count("\n") + 1)]}
    for node in ast.walk(ast.parse(source)):
        name = kinds.get(type(node)) or getattr(node, "name", None)
        if name is not None and hasattr(node, "lineno"):
            decorators = [one.lineno for one in getattr(node, "decorator_list", [])]
            spans.setdefault(name, []).append((min([node.lineno, *decorators]), node.end_lineno))
    return spans


def main() -> int:
    """Run all loads and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the dumps")
    parser.add_argument("--dumps", type=int, default=DUMPS, help="over all loads together")
    options = parser.parse_args()
    dumps = options.dumps // (10 if options.quick else 1) // len(LOADS)
    print(f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    results = []
    for load in LOADS:
        with tempfile.TemporaryDirectory(prefix="kerneldoctor-stacks-") as directory:
            results.append(stress(load, dumps, Path(directory)))
        print(results[-1], flush=True)
        for problem, times in Counter(results[-1].wrong).most_common(5):
            print(f"    {times} times: {problem}")
    dead = sum(not result.alive for result in results)
    wrong = sum(len(result.wrong) for result in results)
    readable = sum(result.readable for result in results) / sum(result.stacks for result in results)
    print(f"\n{sum(result.dumps for result in results)} dumps, {dead} crashes, "
          f"{wrong} wrong, {readable * 100:.2f} % readable")  # fmt: skip
    return int(bool(dead or wrong or any(result.share < result.load.readable for result in results)))


if __name__ == "__main__":
    sys.exit(main())
