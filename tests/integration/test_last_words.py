"""What native code writes to file descriptors 1 and 2 is in the recording, and what the user sees does not change."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from support import requires
from support.lastwords import die

from jupyter_kerneldoctor.diagnosis import diagnose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = requires.linux


def words(recording: Recording, fd: int = 2) -> str:
    return "".join(piece.text for piece in recording.output if piece.fd == fd)


# --- five deaths ---

WRITE_AND_ABORT = """
import ctypes
libc = ctypes.{library}(None)
libc.write(2, b"Intel MKL FATAL ERROR: Cannot load libmkl_core.so.\\n", 51)
libc.abort()
"""

DOUBLE_FREE = """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
block = libc.malloc(100)
libc.free(block)
libc.free(block)
"""

NATIVE = """
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <cstdlib>
extern "C" void throws() { throw std::runtime_error("no such device"); }
extern "C" void gives_up_in_a_thread() {
    std::thread([] {
        static const char said[] = "OMP: Error #15: Initializing libiomp5.so, but found libomp.so.\\n";
        (void)!write(2, said, sizeof said - 1);
        std::abort();
    }).join();
}
"""

DEATHS = {
    "library, Python may run meanwhile": (WRITE_AND_ABORT.format(library="CDLL"), "Intel MKL FATAL ERROR: Cannot load"),
    "library, the GIL is held": (WRITE_AND_ABORT.format(library="PyDLL"), "Intel MKL FATAL ERROR: Cannot load"),
    "Python": ("import os\nos.write(2, b'qt.qpa.xcb: no display\\n'); os.abort()", "qt.qpa.xcb: no display\n"),
    "glibc": (DOUBLE_FREE, "double free detected"),
    "C++": ("import ctypes\nctypes.CDLL('{native}').throws()", "what():  no such device"),
    "a thread": (
        "import ctypes\nctypes.CDLL('{native}').gives_up_in_a_thread()",
        "OMP: Error #15: Initializing libiomp5",
    ),
}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("native") / "native.cpp"
    source.write_text(NATIVE)
    library = source.with_suffix(".so")
    command = ["g++", "-shared", "-fPIC", "-pthread", str(source), "-o", str(library)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("cannot run here: there is no C++ compiler")
    return library


@pytest.mark.parametrize("death", DEATHS)
def test_the_last_words_are_kept_twenty_times_of_twenty(
    death: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cell, said = DEATHS[death]
    if "{native}" in cell:
        cell = cell.format(native=request.getfixturevalue("native"))
    without_traceback = "import faulthandler; faulthandler.disable()\n" + cell

    recordings = die([cell, without_traceback] * 10, tmp_path)

    assert len(recordings) == 20
    assert [words(recording).count(said) for recording in recordings] == [1] * 20
    assert sum("Fatal Python error: Aborted" in recording.crash_text for recording in recordings) == 10


def test_the_traceback_of_a_users_own_faulthandler_is_found_in_the_last_words(
    start_kernel: Callable[..., LiveKernel],
) -> None:
    kernel = start_kernel()
    kernel.run("import faulthandler; faulthandler.enable()")
    kernel.load()
    kernel.run_and_die("import ctypes\nctypes.string_at(0)")

    recording = kernel.wait_recorded(lambda found: found.end is not None)
    assert recording.crash_text.startswith("Fatal Python error: Segmentation fault")
    assert "line 2 in <module>" in recording.crash_text


def test_a_crash_in_a_fork_is_not_taken_for_the_kernels(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    kernel.run("import faulthandler; faulthandler.enable()")
    kernel.load()
    kernel.run("import os, signal\npid = os.fork()\nif pid == 0: os.abort()\nos.waitpid(pid, 0)")

    recording = kernel.wait_recorded(lambda found: "Aborted" in words(found))
    assert recording.crash_text == ""


def test_words_of_an_earlier_cell_are_not_the_last_ones(kernel: LiveKernel) -> None:
    kernel.run("import os, time\nos.write(2, b'free(): invalid pointer\\n')\ntime.sleep(0.1)")
    kernel.wait_recorded(lambda found: "invalid pointer" in words(found))
    kernel.run_and_die("os.abort()")

    answer = diagnose(kernel.wait_recorded(lambda found: found.end is not None))

    assert answer.cause.id == "abort"
    assert "free()" not in answer.cause.headline


# --- what the user sees ---

CELLS = [
    "import ctypes, os, subprocess, sys, time; libc = ctypes.CDLL(None)",
    "os.write(1, b'one\\n'); time.sleep(0.05); print('two'); time.sleep(0.05); os.write(2, 'größe\\n'.encode())",
    "subprocess.run('echo three; echo four >&2', shell=True).returncode",
    "_ = libc.printf(b'five %d\\n', 5); _ = libc.fflush(None)",
    "for n in range(100): os.write(1, b'%03d' % n + b'x' * 9996 + b'\\n')",
    "_ = subprocess.run('echo six >/dev/stderr; echo seven >/dev/fd/1; exec 7>/dev/stdout; echo 8 >&7', shell=True)",
    "pid = os.fork()\nif pid == 0:\n    os.write(1, b'nine\\n'); os._exit(0)\n_ = os.waitpid(pid, 0)",
    # the descriptor itself redirected, as libraries that capture output do it
    (
        "kept, file = os.dup(1), os.open('captured.txt', os.O_CREAT | os.O_RDWR)\n"
        "_ = os.dup2(file, 1), os.write(1, b'ten'), os.dup2(kept, 1), os.write(1, b'eleven\\n')\n"
        "open('captured.txt').read()"
    ),
    "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as pool: pool.starmap(os.write, [(1, b'p')] * 9)",
    "sys.stdout.flush(); sys.__stdout__.write('twelve\\n'); sys.__stdout__.flush(); time.sleep(0.05)",
    "os.set_blocking(1, False); os.set_blocking(1, True); [os.isatty(1), os.fstat(1).st_mode >> 12]",
    "os.write(1, b'')\nos.write(1, b'\\xff\\x00 odd bytes\\n')",
    "os.write(2, b'the end of the cell\\n');",
    "time.sleep(0.5)",
]


def seen(kernel: LiveKernel, cells: list[str]) -> dict[str, str]:
    """What a notebook shows, whenever it came, by stream; results among it."""
    shown = {"stdout": "", "stderr": "", "result": ""}
    asked = [kernel.client.execute(cell) for cell in cells]
    is_over = False
    while True:
        try:
            message = kernel.client.get_iopub_msg(timeout=1 if is_over else 60)
        except queue.Empty:
            assert is_over, shown
            return shown
        content = message["content"]
        if message["msg_type"] == "stream":
            shown[content["name"]] += content["text"]
        elif message["msg_type"] == "execute_result":
            shown["result"] += content["data"]["text/plain"] + "\n"
        elif message["parent_header"].get("msg_id") == asked[-1] and content.get("execution_state") == "idle":
            is_over = True


def log(kernel: LiveKernel) -> bytes:
    """What the server's terminal shows of this kernel."""
    return (kernel.data_root.parent / f"{kernel.kernel_id}.log").read_bytes()


def test_the_notebook_and_the_log_show_the_same_as_without(start_kernel: Callable[..., LiveKernel]) -> None:
    plain, watched = start_kernel(), start_kernel()
    watched.load()

    expected, shown = seen(plain, CELLS), seen(watched, CELLS)

    assert len(expected["stdout"]) > 1_000_000
    assert expected["stderr"] == "größe\nfour\nsix\nthe end of the cell\n"
    assert shown == expected
    assert sorted(log(watched).splitlines()) == sorted(log(plain).splitlines())


def test_nothing_is_lost_when_the_sidecar_is_stopped_or_dies(kernel: LiveKernel) -> None:
    burst = "import os\nfor n in range(50): os.write(1, b'x' * 9999 + b'\\n')"
    pause = "import time; time.sleep(0.3)"
    sidecar = kernel.sidecar_pid()
    os.kill(sidecar, signal.SIGSTOP)
    stopped = seen(kernel, [burst, pause])
    os.kill(sidecar, signal.SIGKILL)
    dead = seen(kernel, [burst, pause])

    assert stopped["stdout"] == dead["stdout"] == ("x" * 9999 + "\n") * 50


def test_a_flood_is_bounded_and_its_end_is_kept(kernel: LiveKernel) -> None:
    kernel.run("import os, time\nfor n in range(300): os.write(1, b'%09d\\n' % n * 1000)")
    kernel.run_and_die("os.write(1, b'the very last words'); os.abort()")

    recording = kernel.wait_recorded(lambda found: found.end is not None)
    assert words(recording, 1).endswith("000000299\nthe very last words")
    files = (kernel.data_root / "recordings" / recording.id).glob("output-*.jsonl")
    assert max(file.stat().st_size for file in files) <= 64 * 1024


# --- it does not stand in anybody's way ---


def test_unloading_gives_the_streams_back_to_ipykernel(kernel: LiveKernel) -> None:
    reader = (
        "import sys, time; time.sleep(0.2)\n"
        "def reads(stream):\n"
        "    frame = sys._current_frames()[stream.watch_fd_thread.ident]\n"
        "    return frame.f_code.co_name\n"
        "[reads(sys.stdout), reads(sys.stderr)]"
    )
    before = kernel.run(reader).result
    kernel.run("%unload_ext kerneldoctor")
    after = kernel.run(reader).result
    shown = seen(kernel, ["import os; os.write(2, b'still there\\n');", "time.sleep(0.4)"])

    assert (before, after) == ("['read_from', 'read_from']", "['_watch_pipe_fd', '_watch_pipe_fd']")
    assert shown["stderr"] == "still there\n"
    assert "\0" not in log(kernel).decode()


def test_off_and_on_records_what_is_written_afterwards(kernel: LiveKernel) -> None:
    shown = seen(
        kernel,
        [
            "import os; os.write(2, b'before\\n');",
            "%kerneldoctor off",
            "os.write(2, b'between\\n');",
            "%kerneldoctor on",
            "import time; time.sleep(0.4)",
        ],
    )
    kernel.run_and_die("os.write(2, b'after\\n'); os.abort()")

    newest = kernel.wait_recorded(lambda found: found.end is not None)
    assert words(newest) == "after\n"
    assert words(kernel.recordings()[1]) == "before\n"
    assert shown["stderr"] == "before\nbetween\n"


def test_no_byte_is_lost_while_the_place_is_taken_and_given_back(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel()
    counting = "import os, time\nfor n in range(20000):\n    os.write(2, b'%05d ' % n); n % 20 or time.sleep(0.001)"
    toggling = (
        "from jupyter_kerneldoctor.kernel.output_capture import OutputCapture\n"
        "nobody = types.SimpleNamespace(send=lambda message, descriptors: True)\n"
        "while child.poll() is None:\n"
        "    watching = OutputCapture(nobody)\n"
        "    time.sleep(0.02 * random.random())\n"
        "    watching.restore()\n"
        "    time.sleep(0.02 * random.random())\n"
    )
    cells = [
        f"import random, subprocess, sys, time, types\nchild = subprocess.Popen([sys.executable, '-c', {counting!r}])",
        toggling,
        "time.sleep(0.5)",
    ]

    assert seen(kernel, cells)["stderr"] == "".join(f"{n:05} " for n in range(20000))


def test_a_redirected_descriptor_stays_redirected_through_load_and_unload(
    start_kernel: Callable[..., LiveKernel], tmp_path: Path
) -> None:
    kernel = start_kernel()
    kernel.run("import os; kept = os.dup(2); file = os.open('own.txt', os.O_CREAT | os.O_RDWR); _ = os.dup2(file, 2)")
    kernel.load()
    kernel.run("_ = os.write(2, b'one ')")
    kernel.run("%unload_ext kerneldoctor")
    kernel.run("_ = os.write(2, b'two'), os.dup2(kept, 2)")

    assert (tmp_path / "own.txt").read_bytes() == b"one two"
    assert seen(kernel, ["os.write(2, b'three');", "import time; time.sleep(0.4)"])["stderr"] == "three"


def test_descriptors_closed_behind_our_back_reach_no_file_of_the_user(kernel: LiveKernel) -> None:
    kernel.run(
        "import os\n"
        "def target(fd):\n"
        "    try: return os.readlink(f'/proc/self/fd/{fd}')\n"
        "    except OSError: return ''\n"
        "ours = [fd for fd in range(3, 500) if 'kerneldoctor-output' in target(fd)]\n"
        "for fd in ours: os.close(fd)\n"
        "files = [os.open(f'user-{n}.txt', os.O_RDWR | os.O_CREAT) for n in range(len(ours))]\n"
        "assert ours and set(files) == set(ours)"
    )
    shown = seen(kernel, ["os.write(1, b'one ');", "%kerneldoctor off", "%kerneldoctor on", "os.write(1, b'two');"])
    shown["stdout"] += seen(kernel, ["import time; time.sleep(0.4)"])["stdout"]

    assert "one " in shown["stdout"]
    assert "two" in shown["stdout"]
    assert kernel.run("[os.fstat(f).st_size for f in files]").result.strip("[]0, ") == ""
    kernel.run_and_die("os.write(2, b'last words'); os.abort()")
    assert words(kernel.wait_recorded(lambda found: found.end is not None)) == "last words"


def test_a_program_that_takes_the_kernels_place_finds_out_that_nobody_reads(kernel: LiveKernel, tmp_path: Path) -> None:
    script = "trap '' PIPE; while echo still here; do :; done; touch noticed; exec sleep 30"
    kernel.client.execute(f'import os; os.execv("/bin/sh", ["sh", "-c", "{script}"])')

    deadline = time.monotonic() + 60
    while not (tmp_path / "noticed").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_shutdown_ends_the_kernel_by_itself(kernel: LiveKernel) -> None:
    kernel.run("import os; os.write(1, b'text')")
    kernel.client.shutdown()

    assert kernel.wait_dead() == 0


def test_closing_the_streams_does_not_hang(kernel: LiveKernel) -> None:
    assert kernel.run("import sys; out = sys.stdout; sys.stderr.close(); 'closed'").result == "'closed'"


def test_it_can_be_switched_off(start_kernel: Callable[..., LiveKernel], tmp_path: Path) -> None:
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.json").write_text('{"KernelDoctor": {"last_words": false}}')
    kernel = start_kernel()
    kernel.load()
    kernel.run_and_die("import os; os.write(2, b'a secret'); os.abort()")

    assert kernel.wait_recorded(lambda found: found.end is not None).output == ()
