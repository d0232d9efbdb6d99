"""What the user of a kernel notices: the time of cells and of their output, and how exact the peak is."""

from __future__ import annotations

import ast
import queue
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from figures import Figure, standard_error
from sidecar_side import cpu_s
from support.kernels import LiveKernel

from jupyter_kerneldoctor.commands.activation import FILE, LINES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GIB = 1 << 30

# A notebook's work: objects of Python and arrays that come and go.
WORK = "[sorted(str(n) for n in range(40_000)) for _ in range(4)]; sum(len(bytearray(5_000_000)) for _ in range(20))"

# The least that can tell another process of a cell before its first bytecode runs, and of its end.
MESSAGES = """
import socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.setblocking(False)
reader = f"import socket\\nlink = socket.socket(fileno={theirs.fileno()})\\nwhile link.recv(4096): pass"
process = subprocess.Popen([sys.executable, "-c", reader], pass_fds=[theirs.fileno()])
theirs.close()
for event in ("pre_run_cell", "post_run_cell"):
    get_ipython().events.register(event, lambda _: ours.send(b"x", socket.MSG_NOSIGNAL))
"""

# Cells that the kernel runs by itself, with the hooks and without in turn, so that both see the same machine: what the
# hooks cost alone, without a client, its request and its reply. Each is taken for a cell of its own, not for a part of
# the one that runs them.
LOOP = """
import statistics, time
from jupyter_kerneldoctor.kernel import _doctor
from jupyter_kerneldoctor.kernel.memory import Stretch
shell, hooks = get_ipython(), _doctor.hooks
hooks._is_nested = lambda: False
def median_us(cells=50):
    times = []
    for _ in range(cells):
        hooks._running.clear()
        Stretch._under_way.clear()  # that of the cell which runs this loop
        begin = time.thread_time()
        shell.run_cell("pass")
        times.append(time.thread_time() - begin)
    return statistics.median(times) * 1e6
found = []
for _ in range(ROUNDS):
    hooked = median_us()
    hooks.remove()
    found.append((hooked, median_us()))
    hooks.install()
found
"""

LOAD = "import time; _t = time.perf_counter()\n%load_ext kerneldoctor\n(time.perf_counter() - _t) * 1000"

# Each line is the time at which it was written.
OUTPUT = """
import os, time
for _ in range(LINES):
    os.write(1, b'%d\\n' % time.time_ns())
    time.sleep(0.03)
"""


def cell_overhead(work: Path, rounds: int) -> Iterator[Figure]:
    """What recording adds to a cell as a client meets it: a plain kernel and a recorded one get requests in turn."""
    plain, watched = (LiveKernel(work / f"cells-{name}", work) for name in ("plain", "watched"))
    try:
        watched.load()
        sidecar = watched.sidecar_pid()
        time.sleep(3)
        yield hooks_alone(work, rounds)
        yield from _added("a cell that does nothing", in_turn(plain, watched, "pass", sidecar, rounds), 1.02)
        yield from _least(plain, work, rounds)
        yield from _added("a cell of 0.2 s of work", in_turn(plain, watched, WORK, sidecar, rounds // 3), 1.01)
        for number in range(200):
            watched.run(f"x = {number}")
        recorded, measured = in_turn(watched, watched, "pass", None, rounds, others="%%memwatch\npass")
        name = "%%memwatch on a cell that does nothing, after 200 others"
        yield median_added(name, walls(recorded), walls(measured), "ms", 0.5)
        recorded, printed = in_turn(watched, watched, "pass", None, rounds, others=f"print({'x' * 120!r})")
        yield median_added(
            "a cell that prints a line, against one that does nothing", walls(recorded), walls(printed), "ms"
        )
    finally:
        plain.close()
        watched.close()


def hooks_alone(work: Path, rounds: int) -> Figure:
    """What the hooks take of a cell that does nothing, both messages to the sidecar included."""
    kernel = LiveKernel(work / "loop", work)
    try:
        kernel.load()
        found = ast.literal_eval(kernel.run(LOOP.replace("ROUNDS", str(rounds))).result)
    finally:
        kernel.close()
    hooked, plain = zip(*found, strict=True)
    added = [one - other for one, other in found]
    name = "the hooks of a cell that does nothing, in a loop of the kernel's own: processor time"
    ratio = statistics.median(hooked) / statistics.median(plain)
    return Figure(name, statistics.median(added), "us", 50, error=standard_error(added), ratio=ratio)


def _least(plain: LiveKernel, work: Path, rounds: int) -> Iterator[Figure]:
    """What two messages of a cell cost that say nothing: nobody who records from outside can do with less."""
    bare = LiveKernel(work / "bare", work)
    try:
        bare.run(MESSAGES)
        found = in_turn(plain, bare, "pass", int(bare.run("process.pid").result), rounds)
        name = "two empty messages for each cell, and nothing else"
        yield median_added(f"{name}: until all output is there", *map(walls, found), "ms")
        yield median_added(f"{name}: processor time", *([one.kernel_s for one in part] for part in found), "ms")
        receiver = statistics.median(one.sidecar_s for one in found[1]) * 1000
        yield Figure(f"{name}: processor time of a Python that receives them", receiver, "ms")
    finally:
        bare.close()


def walls(requests: list[_Request]) -> list[float]:
    """How long each took until all output was there."""
    return [one.wall_s for one in requests]


def kernel_start(work: Path, rounds: int) -> Iterator[Figure]:
    """What `jupyter kerneldoctor enable` adds to the start of a kernel: plain ones and enabled ones start in turn."""
    enabled = work / "enabled" / "ipython" / "profile_default" / FILE
    enabled.parent.mkdir(parents=True)
    enabled.write_text(LINES, encoding="utf-8")
    (work / "plain").mkdir()
    wall: dict[str, list[float]] = {"plain": [], "enabled": []}
    processor: dict[str, list[float]] = {"plain": [], "enabled": []}
    loads, bare = [], []
    for number in range(rounds + 2):
        for name in ("plain", "enabled") if number % 2 else ("enabled", "plain"):
            begin = time.perf_counter()
            kernel = LiveKernel(work / f"data-{name}-{number}", work / name)
            took, used = time.perf_counter() - begin, cpu_s(kernel.pid)
            if name == "plain":
                loads.append(float(kernel.run(LOAD).result))
                bare.append(_bare_start_ms())
            kernel.close()
            if number >= 2:  # the first ones make the profile
                wall[name].append(took)
                processor[name].append(used)
    load, ratio = (
        statistics.median(loads),
        statistics.median(one / other for one, other in zip(loads, bare, strict=True)),
    )
    name = "%load_ext kerneldoctor; x: to the start of a bare Python"
    yield Figure(name, load, "ms", error=standard_error(loads), ratio=ratio, ratio_goal=2.5)
    for what, found in (("until it answers", wall), ("its processor time", processor)):
        yield median_added(f"start of a kernel with `enable`: {what}", found["plain"], found["enabled"], "ms", 10)


class _Request(NamedTuple):
    """One request: until the reply and all output are there; processor time of the kernel, and of its sidecar."""

    wall_s: float
    kernel_s: float
    sidecar_s: float


def in_turn(
    plain: LiveKernel, other: LiveKernel, source: str, sidecar: int | None, rounds: int, *, others: str | None = None
) -> tuple[list[_Request], list[_Request]]:
    """Run a cell in two kernels in turn, in the other one as `others` where that is given."""
    found: tuple[list[_Request], list[_Request]] = ([], [])
    order = [(0, plain, source, None), (1, other, others or source, sidecar)]
    for number in range(rounds + 3):
        for place, kernel, cell, recorder in order if number % 2 else order[::-1]:
            request = _request(kernel, cell, recorder)
            if number >= 3:  # the first ones warm up
                found[place].append(request)
    return found


def _request(kernel: LiveKernel, source: str, sidecar: int | None) -> _Request:
    own, recorder = cpu_s(kernel.pid), 0.0 if sidecar is None else cpu_s(sidecar)
    begin = time.perf_counter()
    kernel.run(source)
    wall = time.perf_counter() - begin
    time.sleep(0.1)  # what is done after the reply counts as well
    return _Request(wall, cpu_s(kernel.pid) - own, 0.0 if sidecar is None else cpu_s(sidecar) - recorder)


def _added(name: str, found: tuple[list[_Request], list[_Request]], goal: float) -> Iterator[Figure]:
    plain, watched = found
    for what, place in (("until all output is there", 0), ("processor time of the kernel", 1)):
        yield median_added(
            f"{name}: {what}", [one[place] for one in plain], [one[place] for one in watched], "ms", goal
        )
    sidecar = statistics.median(one.sidecar_s for one in watched) * 1000
    share = sidecar / 1000 / statistics.median(one.kernel_s for one in plain)
    yield Figure(f"{name}: the sidecar's, x: 1 + its share of the plain kernel's", sidecar, "ms", ratio=1 + share)


def median_added(name: str, plain: list[float], other: list[float], unit: str, goal: float | None = None) -> Figure:
    """What is added, with a goal for the ratio from 1 to 2, else in milliseconds."""
    added = [(more - less) * 1000 for more, less in zip(other, plain, strict=True)]
    value, base = statistics.median(added), statistics.median(plain) * 1000
    goals = {"ratio_goal": goal} if goal is not None and 1 <= goal < 2 else {"goal": goal}
    return Figure(name, value, unit, error=standard_error(added), ratio=1 + value / base, **goals)


def _bare_start_ms() -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    return (time.perf_counter() - begin) * 1000


def output_latency(work: Path, lines: int) -> Iterator[Figure]:
    """Milliseconds that recording adds until what native code writes is in the notebook and in the server's log."""
    plain, watched = (LiveKernel(work / f"output-{name}", work) for name in ("plain", "watched"))
    try:
        watched.load()
        before, after = _latencies_ms(plain, lines), _latencies_ms(watched, lines)
        for place in ("notebook", "log"):
            name = f"until what native code writes is in the {place}"
            yield Figure(f"{name}: without KernelDoctor", before[place], "ms")
            yield Figure(f"{name}: added (difference of medians)", after[place] - before[place], "ms", 100)
    finally:
        plain.close()
        watched.close()


def _latencies_ms(kernel: LiveKernel, lines: int) -> dict[str, float]:
    """The median time from a line's writing to its arrival, in each place."""
    log = (kernel.data_root.parent / f"{kernel.kernel_id}.log").open("rb")
    asked = kernel.client.execute(OUTPUT.replace("LINES", str(lines)))
    took: dict[str, list[float]] = {"notebook": [], "log": []}
    is_over = False
    while not is_over or len(took["log"]) < lines:
        try:
            message = kernel.client.get_iopub_msg(timeout=0.001)
        except queue.Empty:
            message = {"msg_type": ""}
        now = time.time_ns()
        if message["msg_type"] == "stream":
            took["notebook"] += [(now - int(line)) / 1e6 for line in message["content"]["text"].split()]
        elif message["msg_type"] == "status" and message["parent_header"].get("msg_id") == asked:
            is_over = message["content"]["execution_state"] == "idle"
        took["log"] += [(time.time_ns() - int(line)) / 1e6 for line in log.read().split() if line.isdigit()]
    log.close()
    return {place: statistics.median(times) for place, times in took.items()}


def peak_error(work: Path) -> Iterator[Figure]:
    """How far the recorded peak is from 1 GiB that one call allocates, fills and frees."""
    kernel = LiveKernel(work / "data", work)
    try:
        kernel.load()
        kernel.run(f"len(b'x' * {GIB})")
        done = kernel.wait_recorded(lambda found: found.cells[-1].finished and "b'x'" in found.cells[-1].source)
        cell = done.cells[-1]
        error = abs(cell.peak_bytes - cell.rss_before_bytes - GIB) / GIB * 100
        yield Figure("peak of 1 GiB made and freed with the GIL held: error", error, "%", 1)
    finally:
        kernel.close()
