"""The Python stacks of another process, read from outside while it runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import requires

from jupyter_kerneldoctor.server.sidecar_link import resolved
from jupyter_kerneldoctor.sidecar.observers.stuck import glances
from jupyter_kerneldoctor.sidecar.stacks import layout_discovery
from jupyter_kerneldoctor.sidecar.stacks.discovery_process import DiscoveryProcess
from jupyter_kerneldoctor.sidecar.stacks.layout import Runtime, UnexpectedLayoutError
from jupyter_kerneldoctor.sidecar.stacks.linetable import line_at
from jupyter_kerneldoctor.sidecar.stacks.memory import Memory, UnreadableError
from jupyter_kerneldoctor.sidecar.stacks.reader import MOST_FRAMES, RawFrame, StackReader
from jupyter_kerneldoctor.sidecar.stacks.relocation import relocated_runtime
from jupyter_kerneldoctor.sidecar.stacks.snapshot import INNERMOST, Stacks, child_states, relevant_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

    from jupyter_kerneldoctor.sidecar.stacks.layout import Layout

pytestmark = [requires.linux, requires.readable_stacks]

TELLS_WHERE = """
import os, sys, threading, time
from jupyter_kerneldoctor.kernel.stack_access import runtime
def ready():
    print(*runtime(), flush=True)
    time.sleep(600)
"""


def learn(pid: int, interpreter: tuple[str, int, int] | None = None) -> DiscoveryProcess:
    discovery = DiscoveryProcess(pid, interpreter)
    deadline = time.monotonic() + 60
    while not discovery.is_done:
        assert time.monotonic() < deadline
        time.sleep(0.005)
        discovery.poll()
    assert discovery.layout is not None, discovery.problem
    return discovery


@pytest.fixture(scope="module")
def discovery_result() -> DiscoveryProcess:
    """What a forked child of this very process finds out about its interpreter."""
    return learn(os.getpid())


@pytest.fixture(scope="module")
def layout(discovery_result: DiscoveryProcess) -> Layout:
    assert discovery_result.layout is not None
    return discovery_result.layout


class Program:
    """A Python program that runs until the test is over."""

    def __init__(self, process: subprocess.Popen[str], layout: Layout) -> None:
        assert process.stdout is not None
        self.process, self.pid = process, process.pid
        self.runtime = Runtime(*map(int, process.stdout.readline().split()))
        self.stacks = Stacks(self.pid, layout, self.runtime)
        self.reader = StackReader(Memory(self.pid), layout, self.runtime)
        wait_until(lambda: self.main()[0].function == "ready")

    def main(self) -> list[RawFrame]:
        return self.reader.stack(self.reader.threads()[self.pid])


@pytest.fixture
def start(layout: Layout) -> Iterator[Callable[..., Program]]:
    started: list[subprocess.Popen[str]] = []

    def run(source: str, file: str = "program.py") -> Program:
        code = f"exec(compile({TELLS_WHERE + textwrap.dedent(source)!r}, {file!r}, 'exec'))"
        started.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True))
        return Program(started[-1], layout)

    yield run
    for process in started:  # that which never became ready, too
        process.kill()
        process.wait()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if true():
                return
        except UnreadableError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.01)


def functions(frames: list[RawFrame]) -> list[str]:
    return [frame.function for frame in frames if frame.file == "program.py"]


BOTH_WAYS = """
import os
from jupyter_kerneldoctor.sidecar.stacks import layout_discovery
from jupyter_kerneldoctor.sidecar.stacks.debug_offsets import debug_offsets
from jupyter_kerneldoctor.sidecar.stacks.memory import Memory

memory = Memory(os.getpid())
print(debug_offsets(), {**layout_discovery._frames(memory), **layout_discovery._threads(memory)}, sep="\\n")
"""


def test_the_table_for_debuggers_says_what_is_found_without_it() -> None:
    """In a process of its own, as ever: threads that come and go meanwhile would be in the way of the search."""
    said = subprocess.run([sys.executable, "-c", BOTH_WAYS], capture_output=True, text=True, check=True).stdout
    table, found = map(ast.literal_eval, said.splitlines())

    assert table == (found if sys.version_info >= (3, 13) else None)


class LargerHeads(Memory):
    """The objects of this process as a build without the GIL has them: with a head of 32 bytes instead of 16."""

    def read(self, address: int, size: int) -> bytes:
        return bytes(16) + super().read(address, size)[:-16]


@requires.gil_build
def test_objects_of_builds_without_the_gil_are_understood() -> None:
    usual = layout_discovery._objects(Memory(os.getpid()))

    found = layout_discovery._objects(LargerHeads(os.getpid()))
    assert found == {name: at + 16 for name, at in usual.items()}


@requires.gil_build
@pytest.mark.skipif(sys.version_info < (3, 12), reason="cannot run here: a str of 3.11 has two words more")
def test_strings_of_builds_without_the_gil_are_understood() -> None:
    usual = layout_discovery._strings(Memory(os.getpid()))

    found = layout_discovery._strings(LargerHeads(os.getpid()))
    assert (found["str_length"], found["str_state"]) == (usual["str_length"] + 16, usual["str_state"] + 16)
    assert found["str_kinds"] == {state: [at + 16, width] for state, (at, width) in usual["str_kinds"].items()}


class Copied(Memory):
    """The memory of a process in which the frames of a thread run copies of their code."""

    ARRAYS, COPIES = 1 << 40, 1 << 41

    def __init__(self, pid: int, layout: Layout, links: list[tuple[int, int, int, int]]) -> None:
        super().__init__(pid)
        self.words: dict[int, int] = {}
        for number, (frame, _, code, instruction) in enumerate(links):
            array, copy = self.ARRAYS + number * 4096, self.COPIES + number * 4096
            start = code + layout.code_start
            self.words[frame + layout.frame_instruction] = instruction - start + copy
            self.words[code + layout.code_copies] = array
            self.words.update({array: 4, array + 8: start, array + 16: 0, array + 24: copy, array + 32: 0})

    def read_some(self, address: int, size: int) -> bytes:
        is_array = self.ARRAYS <= address < self.COPIES
        data = bytearray(size) if is_array else bytearray(super().read_some(address, size))
        for at, word in self.words.items():
            if address <= at <= address + len(data) - 8:
                data[at - address : at - address + 8] = word.to_bytes(8, "little")
        return bytes(data)


def test_a_thread_that_runs_a_copy_of_the_code_is_in_the_same_lines(
    start: Callable[..., Program], layout: Layout
) -> None:
    """Without the GIL each thread but the first one has its own copy, from 3.14 on."""
    program = start("def cell():\n    value = 1\n    ready()\ncell()")
    thread = program.reader.threads()[program.pid]
    links, frames, _ = program.reader.read(thread)
    layout = layout._replace(code_copies=layout.code_start - 8)
    by_code = list({link[2]: link for link in links}.values())

    copied = Copied(program.pid, layout, by_code)
    assert StackReader(copied, layout, program.runtime).stack(thread) == frames
    for wrong in (layout._replace(code_copies=None), layout._replace(code_copies=layout.code_start - 16)):
        with pytest.raises(UnreadableError):
            StackReader(copied, wrong, program.runtime).stack(thread)


def test_calls_of_all_kinds_are_seen_with_their_lines(start: Callable[..., Program]) -> None:
    program = start(
        """
        def plain(call):
            return call()
        def numbers():
            yield plain(ready)
        class Thing:
            def method(self):
                return sorted([1], key=lambda _: sum(n or 0 for n in numbers()))
        [Thing().method() for _ in range(1)]
        """
    )
    stack = program.main()

    expected = ["ready", "plain", "numbers", "<genexpr>", "<lambda>", "method", "<listcomp>", "<module>"]
    assert functions(stack) == [name for name in expected if name != "<listcomp>" or sys.version_info < (3, 12)]
    lines = {frame.function: frame.line for frame in stack}
    first = TELLS_WHERE.count("\n") + 1  # the line break that the text begins with
    assert lines["plain"] == first + 2
    assert lines["numbers"] == first + 4
    assert lines["<lambda>"] == lines["method"] == first + 7
    assert lines["<module>"] in (first + 8, 1)


@pytest.mark.parametrize("name", ["größe", "размер", "大小", "𐐷x"])
def test_names_in_any_script(start: Callable[..., Program], name: str) -> None:
    program = start(f"def {name}():\n    ready()\n{name}()", file=f"/tmp/{name} ü.py")
    (frame,) = [frame for frame in program.main() if frame.function not in ("ready", "<module>")]

    assert frame.file == f"/tmp/{name} ü.py"
    assert compile(f"def {name}(): pass", "", "exec").co_consts[0].co_name == frame.function


STEPS = """
def inner(step):
    for _ in range(10):
        ready() if step else None
        input()
print(*runtime(), flush=True)
step = 1
input()
inner(0)
step = 2
input()
"""


def unreadable() -> None:
    raise UnreadableError


def test_a_glance_follows_the_cell_from_line_to_line(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two readings only what the cell has called is looked at again."""
    cell = "/tmp/ipykernel_12/34.py"
    code = f"import os; exec(compile({(TELLS_WHERE + STEPS)!r}, {cell!r}, 'exec'))"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def glance() -> list[tuple[str, int]]:
        return [(frame["function"], frame["line"]) for frame in stacks.glance() or []]

    try:
        assert process.stdin is not None
        assert process.stdout is not None
        stacks = Stacks(process.pid, layout, Runtime(*map(int, process.stdout.readline().split())))
        assert stacks.glance() is None, "there is nothing to compare with"
        line = TELLS_WHERE.count("\n") + STEPS[: STEPS.index("input()\ninner")].count("\n") + 1
        inner = TELLS_WHERE.count("\n") + STEPS[: STEPS.index("    input()")].count("\n") + 1
        wait_until(lambda: stacks.main()[0]["line"] == line)
        assert glance() == [("<module>", line)], "nothing has changed"

        process.stdin.write("\n")
        process.stdin.flush()
        wait_until(lambda: glance() == [("inner", inner), ("<module>", line + 1)])
        assert stacks.glance() == stacks.main()

        process.stdin.write("\n" * 10)
        process.stdin.flush()
        wait_until(lambda: glance() == [("<module>", line + 3)])
        stacks.forget()
        assert glance() == [("<module>", line + 3)], "what is around a cell stays known when another cell runs"

        with monkeypatch.context() as changing:
            changing.setattr(StackReader, "read", lambda *_: unreadable())
            assert stacks.main() == stacks.glance(), "a stack that changes while it is read whole"
    finally:
        process.kill()
        process.wait()


TWO_CALLS = """
def step(last):
    if last:
        ready()
def cell():
    step(False)
    time.sleep(0.5)
    step(True)
"""


def test_a_glance_tells_from_which_line_a_function_is_called_now(start: Callable[..., Program]) -> None:
    program = start(f"exec(compile({TWO_CALLS + 'cell()'!r}, '/tmp/ipykernel_12/34.py', 'exec'))")
    sleeps = {"file": "program.py", "line": TELLS_WHERE.count("\n"), "function": "ready"}
    wait_until(lambda: program.stacks.main()[0] == sleeps)

    assert program.stacks.glance() == program.stacks.main()
    assert [frame["line"] for frame in program.stacks.glance() or []][1:3] == [4, 8]


@pytest.mark.slow
def test_the_thread_that_touches_memory_is_distinguished_from_the_one_that_waits(start: Callable[..., Program]) -> None:
    program = start(
        """
        kept = []
        def grow():
            while len(kept) < 2_000:
                kept.append(bytearray(1 << 20))
                kept[-1][::4096] = bytes(256)
                time.sleep(0.01)
        threading.Thread(target=grow, daemon=True).start()
        ready()
        """
    )

    def functions_of_other() -> list[str]:
        return [frame["function"] for frames in program.stacks.of_other_threads(100 << 20) for frame in frames]

    wait_until(lambda: "grow" in functions_of_other())
    wait_until(lambda: functions_of_other() == [])  # what no thread has touched since the last look is nobody's


RECURSION = """
sys.setrecursionlimit(50_000)
def down(depth):
    return down(depth - 1) if depth else ready()
down(DEPTH)
"""


def test_a_deep_recursion_is_seen_down_to_the_cell_that_began_it(start: Callable[..., Program]) -> None:
    program = start(RECURSION.replace("DEPTH", "5_000"))

    assert functions(program.main()) == ["ready"] + ["down"] * 5_001 + ["<module>"]


def test_of_a_still_deeper_one_the_inner_frames_are_seen(start: Callable[..., Program]) -> None:
    program = start(RECURSION.replace("DEPTH", "20_000"))

    assert functions(program.main()) == ["ready"] + ["down"] * (MOST_FRAMES - 1)


def test_every_thread_with_what_it_waits_for(start: Callable[..., Program]) -> None:
    program = start(
        """
        lock = threading.Lock()
        def holds():
            with lock:
                time.sleep(600)
        def wants():
            with lock:
                pass
        for target in (holds, wants):
            threading.Thread(target=target, daemon=True).start()
            time.sleep(0.1)
        ready()
        """
    )
    wait_until(lambda: {thread["state"] for thread in program.stacks.threads()} == {"S"})
    main, *others = program.stacks.threads()
    by_function = {thread["frames"][0]["function"]: thread for thread in others}

    assert main["main"]
    assert main["thread_id"] == program.pid
    assert main["frames"][0]["function"] == "ready"
    assert set(by_function) == {"holds", "wants"}
    if by_function["wants"]["waits_in"] is not None:  # not everywhere may one read it
        assert "futex" in by_function["wants"]["waits_in"]
        assert "sleep" in by_function["holds"]["waits_in"]


def test_threads_in_the_same_function_are_in_lines_of_their_own(start: Callable[..., Program]) -> None:
    program = start(
        """
        def work(which):
            for _ in range(3):
                sum(range(1000))
            if which == 1:
                time.sleep(600)
            time.sleep(600)
        for which in (1, 2):
            threading.Thread(target=work, args=(which,), daemon=True).start()
        ready()
        """
    )
    first = TELLS_WHERE.count("\n") + 1

    def lines() -> set[int]:
        frames = [frame for thread in program.stacks.threads()[1:] for frame in thread["frames"]]
        return {frame["line"] - first for frame in frames if frame["function"] == "work"}

    wait_until(lambda: lines() == {5, 6})


def test_forks_are_read_as_well_and_distinguished_from_other_children(start: Callable[..., Program]) -> None:
    program = start(
        """
        import subprocess
        def child():
            time.sleep(600)
        subprocess.Popen(["sleep", "600"])
        if os.fork() == 0:
            child()
        ready()
        """
    )

    def below() -> dict[bool, dict[str, Any]]:
        return {child["forked"]: child for child in child_states(program.pid, program.stacks) if child["name"] != "sh"}

    def functions_of_fork() -> list[str]:
        return [frame["function"] for frame in below()[True]["stack"]][:2]

    wait_until(lambda: len(below()) == 2 and below()[False]["name"] == "sleep")
    try:
        wait_until(lambda: functions_of_fork() == ["child", "<module>"])
        assert below()[False]["stack"] == []
    finally:
        for child in below().values():
            os.kill(child["pid"], 9)


def test_a_process_of_the_same_interpreter_need_not_tell_where_that_is(
    start: Callable[..., Program], discovery_result: DiscoveryProcess
) -> None:
    program = start("ready()")
    assert discovery_result.interpreter is not None

    assert relocated_runtime(program.pid, discovery_result.interpreter) == program.runtime


def test_another_python_is_asked_itself(another_python: Path) -> None:
    source = "import time\ndef ready():\n    print(flush=True)\n    time.sleep(600)\nready()"
    with subprocess.Popen([another_python, "-c", source], stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            discovery = learn(program.pid, resolved(str(another_python), None))
            assert discovery.layout is not None
            assert discovery.interpreter is not None
            stacks = Stacks(program.pid, discovery.layout, relocated_runtime(program.pid, discovery.interpreter))
            wait_until(lambda: stacks.main()[0]["line"] == 4)

            assert [frame["function"] for frame in stacks.main()] == ["ready", "<module>"]
        finally:
            program.kill()


def test_what_is_not_python_is_left_alone(discovery_result: DiscoveryProcess) -> None:
    assert discovery_result.interpreter is not None
    with subprocess.Popen(["sleep", "600"]) as other:
        try:
            with pytest.raises(UnexpectedLayoutError):
                DiscoveryProcess(other.pid)
            with pytest.raises(UnexpectedLayoutError):
                relocated_runtime(other.pid, discovery_result.interpreter)
        finally:
            other.kill()


def test_the_memory_of_a_process_that_has_ended_is_unreadable(start: Callable[..., Program]) -> None:
    program = start("ready()")
    program.process.kill()
    program.process.wait()

    with pytest.raises(UnreadableError):
        program.stacks.main()


def test_wrong_addresses_give_no_stack(start: Callable[..., Program], layout: Layout) -> None:
    program = start("ready()")
    right = program.runtime
    for wrong in (
        right._replace(interpreter=0),
        right._replace(interpreter=right.interpreter - 8),
        right._replace(interpreter=right.code_type),
        right._replace(code_type=right.str_type),
        right._replace(str_type=right.bytes_type),
        right._replace(bytes_type=right.code_type),
    ):
        with pytest.raises(UnreadableError):
            Stacks(program.pid, layout, wrong).main()


def test_a_process_of_somebody_else_may_not_be_read() -> None:
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            Memory(1)
        except PermissionError:
            os._exit(0)
        finally:
            os._exit(1)

    assert os.waitpid(child, 0)[1] == 0


def test_lines_are_those_of_the_interpreter() -> None:
    checked = 0
    for code in codes_of(compile(TELLS_WHERE + "\n\n\nx = [\n n\n for n in range(3)\n]\n" * 60, "", "exec")):
        checked += assert_same_lines(code)
    for module in (textwrap, os, pytest):
        for code in codes_of(compile(Path(module.__file__).read_text(encoding="utf-8"), "", "exec")):
            checked += assert_same_lines(code)
    assert checked > 1_000


def assert_same_lines(code: CodeType) -> int:
    checked = 0
    for start, end, line in code.co_lines():
        for offset in {start, end - 2}:
            assert line_at(code.co_linetable, code.co_firstlineno, offset) == line, (code, offset)
        checked += 1
    return checked


def codes_of(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield from codes_of(constant)


@pytest.mark.parametrize("table", [b"", b"\x00", b"\xff", b"\xf8\x80", b"\xf0\xff\xff\xff"])
def test_a_damaged_table_has_no_line_or_any(table: bytes) -> None:
    assert line_at(table, 1, 10**6) is None


def test_what_runs_the_cell_is_left_out_and_its_own_frames_never() -> None:
    cell = "/tmp/ipykernel_12/34.py"
    library = [RawFrame("/lib/pandas.py", n, "merge") for n in range(INNERMOST + 5)]
    kernel = [RawFrame("/lib/ipykernel_launcher.py", 1, "<module>")]
    frames = [*library, RawFrame(cell, 2, "f"), RawFrame(cell, 7, "<module>"), *kernel]

    kept = relevant_frames(frames)

    assert len(kept) == INNERMOST + 2
    assert [frame["line"] for frame in kept[-2:]] == [2, 7]
    assert [frame["function"] for frame in relevant_frames(kernel)] == ["<module>"]


def test_a_table_of_bytes_that_end_no_number_is_read_in_no_time() -> None:
    begun = time.process_time()
    line_at(b"\xf0" + b"\x7f" * (256 << 10), 1, 10**6)
    assert time.process_time() - begun < 0.5


def test_glances_show_how_often_a_loop_begins_anew(start: Callable[..., Program]) -> None:
    program = start(
        """
        def ready(value=0):
            print(*runtime(), flush=True)
            while value == value:
                value = sum(range(300))
                value = sum(range(300))
        ready()
        """,
        file="/tmp/ipykernel_1/2.py",
    )
    found: dict[str, Any] = {}

    def sees_both_lines() -> bool:
        program.stacks.main()
        found.update(glances(program.stacks))
        return len({lines[1] for lines in found["glances"]}) > 1

    wait_until(sees_both_lines)

    assert {len(lines) for lines in found["glances"]} == {2}
    assert found["glances_s"] > 0
