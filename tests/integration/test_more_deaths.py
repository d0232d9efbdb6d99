"""Deaths other than for memory, each for real: a kernel dies of it, and the cause is found from what was recorded."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support import requires

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.diagnosis.postmortem import PostMortem
    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = requires.linux

MACHINE_CODE = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write({code!r})
run = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
"""
UD2 = b"\x0f\x0b\xc3"
"""The instruction that no x86 processor knows."""


MISTAKES = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void say(const char *words) { write(2, words, strlen(words)); write(2, "\\n", 1); }
void say_and_abort(const char *words) { say(words); abort(); }
void say_and_leave(const char *words, int code) { say(words); _exit(code); }
void free_twice(void) { char *volatile p = malloc(100); free(p); free(p); }
void free_in_the_middle(void) { char *volatile p = calloc(100, 1); free(p + 8); }
void write_past_the_end(void) {
    char *volatile p = malloc(2000), *volatile q = malloc(2000);
    memset(p, 255, 2100);
    free(q);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cell that loads a native library with the mistakes that native libraries make."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("cannot run here: there is no C compiler")
    directory = tmp_path_factory.mktemp("library")
    (directory / "mistakes.c").write_text(MISTAKES)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-w", "-o", directory / "mistakes.so", directory / "mistakes.c"], check=True
    )
    return f"import ctypes\nlibrary = ctypes.CDLL({str(directory / 'mistakes.so')!r})"


A_MOMENT = "import time; time.sleep(1.5)"
"""So that limits and mapped files have been looked at: in life more time passes before a death than in tests."""


def shell(*commands: str) -> list[str]:
    """A prefix that runs shell commands first, in a process of the same pid."""
    return ["sh", "-c", "; ".join([*commands, 'exec "$@"']), "sh"]


def dead(kernel: LiveKernel, *cells: str) -> PostMortem:
    """Run the cells, the last of which ends the kernel, and diagnose it."""
    for cell in cells[:-1]:
        kernel.run(cell)
    kernel.run_and_die(cells[-1])
    return diagnose(kernel.wait_recorded(lambda found: found.end is not None))


def assert_cause(answer: PostMortem, cause: str, line: int | None = None, at_least: float = 0.9) -> None:
    assert answer.cause.id == cause, answer.causes
    assert answer.cause.general or answer.cause.confidence >= at_least
    assert answer.cell is not None
    assert answer.cell.line == line


def ended(store: Store) -> Recording:
    """The only recording there is, once it has an end."""
    for _ in range(3000):
        found = [store.open(recording_id) for recording_id in store.ids()]
        if found and found[0].end is not None:
            return found[0]
        time.sleep(0.02)
    raise AssertionError(found)


def said(answer: PostMortem) -> str:
    return "\n".join(evidence.text for evidence in answer.cause.evidence)


def test_a_division_by_zero_in_native_code(kernel: LiveKernel) -> None:
    answer = dead(kernel, "import ctypes\nlibc = ctypes.CDLL(None)", "x = 1\nlibc.div(1, 0)")

    assert_cause(answer, "arithmetic-fault", line=2)


def test_an_instruction_no_processor_knows(kernel: LiveKernel) -> None:
    if os.uname().machine not in ("x86_64", "i686"):
        pytest.skip("cannot run here: the machine code is that of x86 processors")
    answer = dead(kernel, MACHINE_CODE.format(code=UD2), "run()")

    assert_cause(answer, "illegal-instruction", line=1)


@pytest.mark.parametrize("mistake", ["free_twice", "free_in_the_middle", "write_past_the_end"])
def test_the_c_librarys_own_word_for_damaged_memory(kernel: LiveKernel, library: str, mistake: str) -> None:
    answer = dead(kernel, library, f"x = 1\nlibrary.{mistake}()")

    assert_cause(answer, "heap-corruption", line=2)
    assert "that was noticed" in answer.cause.headline


def test_a_real_exception_of_cpp_below_an_address_space_limit(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel(prefix=shell("ulimit -v 3000000"))
    kernel.load()
    new = (
        "import ctypes\nnew = ctypes.CDLL('libstdc++.so.6')._Znwm\n"
        "new.argtypes, new.restype = [ctypes.c_size_t], ctypes.c_void_p"
    )
    answer = dead(kernel, new, A_MOMENT, "keep = [new(1 << 30) for _ in range(8)]")

    assert_cause(answer, "allocation-refused", line=1)
    assert "2.9 GiB" in answer.cause.headline
    assert "bad_alloc" in said(answer)


def test_the_processor_time_at_its_soft_and_at_its_hard_limit(start_kernel: Callable[..., LiveKernel]) -> None:
    soft = start_kernel(prefix=shell("ulimit -S -t 2", "ulimit -H -t 20"))
    hard = start_kernel(prefix=shell("ulimit -t 2"))
    for kernel in (soft, hard):
        kernel.load()
        kernel.client.execute("while True: pass")
    for kernel, ended in ((soft, "SIGXCPU"), (hard, "SIGKILL")):
        kernel.wait_dead()
        answer = diagnose(kernel.wait_recorded(lambda found: found.end is not None))
        assert answer.end.signal == ended
        assert_cause(answer, "cpu-time-limit", line=1)
        assert "2.0 s" in answer.cause.headline


@requires.root
def test_shared_memory_that_is_full(start_kernel: Callable[..., LiveKernel]) -> None:
    small = shell("mount -t tmpfs -o size=16m tmpfs /dev/shm")
    kernel = start_kernel(prefix=["unshare", "--mount", *small])
    kernel.load()
    make = "from multiprocessing import shared_memory\ns = shared_memory.SharedMemory(create=True, size=64 << 20)"
    answer = dead(kernel, make, A_MOMENT, "for i in range(0, 64 << 20, 4096):\n    s.buf[i] = 1")

    assert_cause(answer, "shm-exhausted", line=2)
    assert "16 MiB" in answer.cause.headline


@requires.root
def test_a_mapped_file_on_a_full_disk(start_kernel: Callable[..., LiveKernel], tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    kernel = start_kernel(prefix=["unshare", "--mount", *shell(f"mount -t tmpfs -o size=8m tmpfs {small}")])
    kernel.load()
    make = (
        f"import mmap\nf = open({str(small / 'x')!r}, 'w+b'); f.truncate(32 << 20)\nm = mmap.mmap(f.fileno(), 32 << 20)"
    )
    answer = dead(kernel, make, A_MOMENT, "for i in range(0, 32 << 20, 4096): m[i] = 1")

    assert_cause(answer, "disk-full", line=1)
    assert "8.0 MiB" in answer.cause.headline


def test_a_mapped_file_that_became_shorter(kernel: LiveKernel, tmp_path: Path) -> None:
    path = str(tmp_path / "data.bin")
    make = f"import mmap\nf = open({path!r}, 'w+b'); f.truncate(1 << 20)\nm = mmap.mmap(f.fileno(), 1 << 20)"
    answer = dead(kernel, make, A_MOMENT, "f.truncate(100)", "total = 0\nfor byte in m[:]: total += byte")

    assert_cause(answer, "file-truncated", line=2)
    assert "data.bin" in answer.cause.headline


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("import signal, time\nsignal.alarm(1)\ntime.sleep(60)", 2),
        ("import signal, time\nsignal.setitimer(signal.ITIMER_PROF, 0.2)\nwhile True: pass", 2),
    ],
)
def test_a_timer_without_a_handler(kernel: LiveKernel, cell: str, line: int) -> None:
    assert_cause(dead(kernel, cell), "unhandled-signal", line=line)


def test_a_signal_from_outside_that_nobody_handles(kernel: LiveKernel) -> None:
    kernel.client.execute("import time; time.sleep(60)")
    kernel.wait_recorded(lambda found: found.running_cell is not None and "sleep" in found.running_cell.source)
    kernel.process.send_signal(signal.SIGUSR1)
    kernel.wait_dead()

    assert_cause(diagnose(kernel.wait_recorded(lambda found: found.end is not None)), "unhandled-signal")


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("OMP: Error #15: Initializing libomp.so, but found libiomp5.so already initialized.", "openmp-conflict"),
        ("Tcl_AsyncDelete: async handler deleted by the wrong thread", "thread-unsafe"),
        ("vtkXOpenGLRenderWindow (0x1): bad X server connection. DISPLAY=. Aborting.", "no-display"),
        ("memory allocation of 68719476736 bytes failed", "allocation-refused"),
        ("Warning! ***HDF5 library version mismatched error***", "binary-incompatibility"),
        ("Too many open files (src/signaler.cpp:330)", "fd-limit"),
        ("libgomp: Thread creation failed: Resource temporarily unavailable", "thread-limit"),
    ],
)
def test_what_libraries_say_before_they_abort(kernel: LiveKernel, library: str, words: str, cause: str) -> None:
    answer = dead(kernel, library, f"library.say_and_abort(b{words!r})")

    assert_cause(answer, cause, line=1)
    assert words in said(answer)


def test_what_a_library_says_before_it_leaves(kernel: LiveKernel, library: str) -> None:
    words = "Intel MKL FATAL ERROR: Cannot load libmkl_avx2.so or libmkl_def.so."
    answer = dead(kernel, library, f"library.say_and_leave(b{words!r}, 2)")

    assert_cause(answer, "binary-incompatibility", line=1)


def test_words_nobody_knows_are_quoted(kernel: LiveKernel, library: str) -> None:
    words = "solver.cpp:88: step: Assertion 'n > 0' failed."
    answer = dead(kernel, library, f"library.say_and_abort(b{words!r})".replace("\\", ""))

    assert_cause(answer, "abort", line=1)
    assert words in said(answer)


def test_the_program_that_started_the_kernel_is_killed(tmp_path: Path) -> None:
    starter = (
        "import sys, time\n"
        "from jupyter_client.manager import KernelManager\n"
        f"manager = KernelManager(connection_file={str(tmp_path / 'orphan.json')!r})\n"
        "manager.kernel_spec.argv = [sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}']\n"
        "manager.start_kernel()\n"
        "client = manager.client(); client.start_channels(); client.wait_for_ready(60)\n"
        "client.execute_interactive('%load_ext kerneldoctor', timeout=60)\n"
        "client.execute('import time; time.sleep(60)')\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    data = tmp_path / "data"
    environment = {**os.environ, "KERNELDOCTOR_DATA_DIR": str(data), "IPYTHONDIR": str(tmp_path / "ipython")}
    server = subprocess.Popen([sys.executable, "-c", starter], env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert any("ready" in line for line in iter(server.stdout.readline, ""))
    time.sleep(0.5)
    server.kill()
    server.wait()
    server.stdout.close()

    answer = diagnose(ended(Store(data)))
    assert answer.cause.id == "server-gone", answer.causes
    assert answer.end.exit_code == 1
