"""The user's own innermost statement: where it stands, and by which calls the cell that ran came to it."""

from __future__ import annotations

from dataclasses import replace

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, cell_file, crash_report, recording
from jupyter_kerneldoctor.recording.events import (
    FileSystem,
    Frame,
    Growth,
    Stack,
    StatementGrowth,
    SystemState,
    ThreadStack,
)

NETWORK = """\
from torch import nn
class Encoder(nn.Module):
    def forward(self, x):
        h = self.embed(x)
        return self.mix(
            h,
            h,
        )
"""
TRAINER = """\
class Runner:
    @torch.no_grad()
    def validate(self):
        for x in self.loader:
            self.net(x)
"""
RUN = "runner.validate()"

LIBRARY = "/venv/lib/python3.11/site-packages/torch"
WRAPPERS = (
    Frame(f"{LIBRARY}/nn/modules/module.py", 1736, "_wrapped_call_impl"),
    Frame(f"{LIBRARY}/utils/_contextlib.py", 116, "decorate_context"),
)
KILLED = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=499 * MIB)


def frame(source: str, line: int, function: str = "<module>") -> Frame:
    return Frame(cell_file(source), line, function)


def killed(*sources: str, frames: tuple[Frame, ...], notebook: str | None = None):
    """Killed at the limit, 0.1 s after this stack was read: innermost frame first."""
    stack = Stack(-0.1, "climbing", (ThreadStack(frames, main=True),))
    memory = [100 * MIB] * 399 + [480 * MIB]
    recorded = recording(*sources, signal="SIGKILL", memory=memory, groups=[KILLED], stacks=[stack])
    return diagnose(replace(recorded, kernel=replace(recorded.kernel, notebook=notebook)))


def validated():
    """`runner.validate()` in cell [3] calls a method of cell [2], which calls the network of cell [1]."""
    inner, wrapped, decorated = frame(NETWORK, 5, "forward"), *WRAPPERS
    linear = Frame(f"{LIBRARY}/nn/modules/linear.py", 125, "forward")
    return killed(
        NETWORK,
        TRAINER,
        RUN,
        frames=(linear, wrapped, inner, wrapped, frame(TRAINER, 5, "validate"), decorated, frame(RUN, 1)),
    )


def test_it_is_the_users_innermost_statement_in_whichever_cell_it_stands():
    statement = validated().statement

    assert (statement.execution_count, statement.line, statement.end_line) == (1, 5, 8)
    assert statement.function == "Encoder.forward"
    assert statement.source.startswith("        return self.mix(")


def test_the_calls_that_led_to_it_are_the_users_own():
    via = validated().to_json()["statement"]["via"]

    assert [(one["execution_count"], one["line"], one["function"]) for one in via] == [(3, 1, None), (2, 5, "validate")]


def test_the_cell_stays_the_one_that_ran():
    assert (validated().cell.execution_count, validated().cell.line) == (3, 1)


def test_the_headline_names_the_statement():
    assert validated().cause.headline.startswith(
        "The kernel ran out of memory in `Encoder.forward` (cell [1], line 5: `return self.mix(`)"
    )


def test_a_crash_is_in_the_function_that_called_the_library():
    inner = (f"{LIBRARY}/nn/functional.py", 9, "linear")
    report = crash_report(
        "Segmentation fault", inner, (cell_file(NETWORK), 4, "forward"), (cell_file(RUN), 1, "<module>")
    )

    statement = diagnose(recording(NETWORK, RUN, signal="SIGSEGV", crash=report)).statement

    assert (statement.execution_count, statement.line, statement.function) == (1, 4, "Encoder.forward")


def test_a_comprehension_is_part_of_the_statement_around_it():
    cell = "big = [\n    load(path)\n    for path in paths\n]"

    answer = killed(cell, frames=(frame(cell, 2, "<listcomp>"), frame(cell, 1)))

    assert (answer.statement.line, answer.statement.end_line, answer.statement.function) == (1, 4, None)
    assert "<listcomp>" not in answer.cause.headline


def test_a_module_beside_the_notebook_is_the_users_and_a_library_is_not():
    own = Frame("/home/ada/work/loaders.py", 12, "load_all")
    library = Frame("/venv/lib/python3.11/site-packages/pandas/io/parsers.py", 912, "read_csv")

    answer = killed(
        "df = load_all()", frames=(library, own, frame("df = load_all()", 1)), notebook="/home/ada/work/a.ipynb"
    )

    assert (answer.statement.file, answer.statement.line, answer.statement.function) == (own.file, 12, "load_all")
    assert "in `load_all` (loaders.py, line 12), called from cell [1]" in answer.cause.headline


def test_without_a_stack_it_is_the_one_statement_of_the_cell_or_not_known():
    alone = diagnose(recording("x = 1", "df.merge(\n    df\n)", signal="SIGKILL", groups=[KILLED]))
    several = diagnose(recording("x = 1\ny = 2", signal="SIGKILL", groups=[KILLED]))

    assert (alone.statement.line, alone.statement.end_line) == (1, 3)
    assert several.statement is None


def test_where_files_in_memory_filled_it_the_function_that_ran_is_named_not_what_collects_its_results():
    save = "def save(day):\n    values = spectrum(day)\n    np.save(f'{SHM}/{day}.npy', values)\n    return 1"
    collect = "means = [save(day) for day in days]"
    at = (frame(save, 3, "save"), frame(collect, 1, "<listcomp>"), frame(collect, 1))
    shm = [
        SystemState(mono_s, when, filesystems=(FileSystem("/dev/shm", "tmpfs", 999 * MIB, free, ("shm",)),))
        for mono_s, when, free in ((-30.0, "start", 999 * MIB), (-0.1, "end", 599 * MIB))
    ]
    recorded = recording(
        save,
        collect,
        signal="SIGKILL",
        memory=[(100 + step // 10) * MIB for step in range(400)],
        groups=[KILLED],
        stacks=[Stack(-0.1, "climbing", (ThreadStack(at, main=True),))],
    )
    cells = tuple(replace(cell, seq=number) for number, cell in enumerate(recorded.cells, 1))
    grew = Growth(-0.1, 2, 30 * MIB, statements=(StatementGrowth((frame(save, 2, "save"), *at[1:]), 30 * MIB, 7),))
    told = replace(recorded, cells=cells, growths=(grew,), system_states=tuple(shm))
    others = replace(told, stacks=()), replace(told, system_states=())
    answers = [diagnose(one) for one in (told, *others)]

    assert [(one.statement.execution_count, one.statement.line) for one in answers] == [(1, 3), (1, 2), (2, 1)]
    assert answers[0].memory_shape == "shared-memory"


def test_what_ends_the_kernel_is_the_call_in_the_function():
    define = "import os\nclass Jobs:\n    def stop(self):\n        os.kill(os.getpid(), 9)"
    answer = diagnose(recording(define, "for one in jobs:\n    one.stop()", signal="SIGKILL", server="watched"))

    assert (answer.cause.id, answer.cell.line) == ("self-kill", 2)
    assert (answer.statement.execution_count, answer.statement.line, answer.statement.function) == (1, 4, "Jobs.stop")
    assert answer.causes[0].headline.endswith("in `Jobs.stop` (cell [1], line 4: `os.kill(os.getpid(), 9)`).")


def test_jax_works_in_the_background_so_the_call_that_began_it_is_to_blame():
    setup = "import jax\n@jax.jit\ndef update(w, x): return w - x.mean()"
    run = "for i in range(9):\n    w, loss = update(w, x), 1\n    out = update(w, x)\n    print(i, float(out))"
    assert killed(setup, run, frames=(frame(run, 4),)).statement.line == 3
    elsewhere = run.replace("print(i, float(out))", "print(plot(out))")
    assert killed(setup, elsewhere, frames=(frame(elsewhere, 4),)).statement.line == 4
    assert killed("import torch", run, frames=(frame(run, 4),)).statement.line == 4


def test_the_list_that_keeps_trained_models_is_to_blame_not_the_training():
    setup = "import keras\nruns = []"
    run = "for n in sizes:\n    net = build(n)\n    net.fit(x, y)\n    runs.append({'n': n, 'net': net})"
    grew = Growth(-0.1, 2, 300 * MIB, statements=(StatementGrowth((frame(run, 3),), 290 * MIB, 7),))
    memory = [(100 + step) * MIB for step in range(380)]
    recorded = recording(setup, run, signal="SIGKILL", memory=memory, groups=[KILLED], growths=[grew])
    found = diagnose(recorded)
    assert found.statement.line == 4
    assert found.grown[0].name == "runs"


def test_a_thread_of_a_library_that_crashed_without_code_of_the_user_is_that_of_its_only_call():
    """Where several threads crash at once, faulthandler shows one of them, and not the one that runs the cells."""
    opened = ("/env/lib/python3.11/site-packages/xarray/backends/api.py", 625, "open_dataset")
    started = ("/usr/lib/python3.11/threading.py", 1002, "_bootstrap")
    crash = crash_report("Segmentation fault", opened, started)
    only = "import xarray as xr\nfor n in range(9):\n    ds = xr.open_mfdataset(paths, parallel=True)\n    print(ds)"

    one = diagnose(recording(only, signal="SIGSEGV", crash=crash))
    several = diagnose(recording(f"{only}\nds = xr.open_dataset(paths[0])", signal="SIGSEGV", crash=crash))

    assert one.statement.source.strip() == "ds = xr.open_mfdataset(paths, parallel=True)"
    assert several.statement is None


WRITE = "def write(rows): rows.tofile('x.dat')"
MAP = "import numpy as np\ndef view(): return np.memmap('x.dat')\nm = view()"


def died_of_a_shorter_file(*cells):
    shrunk = FileSystem("/data", "ext4", 9 << 30, 3 << 30, ("mapped",), ("/data/x.dat",))
    report = crash_report("Bus error", (cell_file(cells[-1]), 1, "<module>"))
    states = [SystemState(0, "end", filesystems=(shrunk,))]
    found = diagnose(recording(*cells, signal="SIGBUS", crash=report, system_states=states)).statement
    return found.execution_count, found.line


def test_of_a_mapped_file_that_became_shorter_it_is_what_wrote_it_anew():
    assert died_of_a_shorter_file(WRITE, "write(big)", MAP, "write(small)", "m.sum()") == (1, 1)
    assert died_of_a_shorter_file(WRITE, "write(big)", MAP, "open('x.dat', 'w').close()", "m.sum()") == (4, 1)


def test_what_wrote_the_file_before_it_was_mapped_has_not_cut_it():
    assert died_of_a_shorter_file(WRITE, "write(big)", MAP, "m.sum()") == (4, 1)
    assert died_of_a_shorter_file("big.tofile('x.dat')", MAP, "m.sum()") == (3, 1)
