"""Which exceptions are incidents, and what is recorded of them. The texts are the libraries' own."""

import builtins
import errno
import json
import os
import resource
import sqlite3
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from jupyter_kerneldoctor.kernel.incidents import describe

GIB = 1 << 30
MIB = 1 << 20

TORCH_1 = (
    "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.75 GiB total capacity; 5.25 GiB already allocated; "
    "1.50 GiB free; 5.50 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
    "max_split_size_mb to avoid fragmentation."
)
TORCH_2 = (
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 1 has a total capacity of 7.75 GiB of which 1.50 GiB is "
    "free. Process 123 has 3.00 GiB memory in use. Process 12 has 1.00 GiB memory in use. Including non-PyTorch "
    "memory, this process has 4.50 GiB memory in use. Of the allocated memory 3.25 GiB is allocated by PyTorch, and "
    "128.00 MiB is reserved by PyTorch but unallocated."
)
MPS = (
    "MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.10 GB, max allowed: 9.00 GB). Tried to "
    "allocate 256.00 MB on private pool."
)
CPU = (
    "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
    "4000000000000 bytes. Error code 12 (Cannot allocate memory)"
)
TENSORFLOW = (
    "OOM when allocating tensor with shape[12800,64,28,28] and type float on /job:localhost/replica:0/task:0/"
    "device:{}:0 by allocator {} [Op:Conv2D]"
)
CUPY = "Out of memory allocating 8,000,000,000 bytes (allocated so far: 2,000,000,000 bytes)."


def raised(make):
    """The exception that a call raises, with its traceback."""
    with pytest.raises(BaseException) as caught:
        make()
    return caught.value


def library_type(name, module, *bases):
    return type(name, bases or (RuntimeError,), {"__module__": module})


@pytest.mark.parametrize(
    ("text", "kind", "asked", "numbers"),
    [
        (
            TORCH_1,
            "torch-out-of-memory",
            2 * GIB,
            {"total_bytes": 7.75 * GIB, "free_bytes": 1.5 * GIB, "allocated_bytes": 5.25 * GIB, "gpu": 0},
        ),
        (
            TORCH_2,
            "torch-out-of-memory",
            20 * MIB,
            {
                "total_bytes": 7.75 * GIB,
                "others_bytes": 4 * GIB,
                "process_bytes": 4.5 * GIB,
                "unallocated_bytes": 128 * MIB,
                "reserved_bytes": 3.25 * GIB + 128 * MIB,
                "gpu": 1,
            },
        ),
        (MPS, "torch-out-of-memory", 256 * MIB, {"allocated_bytes": 8 * GIB, "allowed_bytes": 9 * GIB}),
        (CPU, "memory-error", 4_000_000_000_000, {}),
        (TENSORFLOW.format("GPU", "GPU_0_bfc"), "tf-resource-exhausted", 12800 * 64 * 28 * 28 * 4, {"gpu": 0}),
        (TENSORFLOW.format("CPU", "cpu"), "memory-error", 12800 * 64 * 28 * 28 * 4, {}),
        (
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
            "jax-out-of-memory",
            8 * GIB,
            {},
        ),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 37.25GiB.", "jax-out-of-memory", 37.25 * GIB, {}),
        ("unable to mmap 120000000 bytes from file </torch_1>: Cannot allocate memory (12)", "memory-error", None, {}),
        ("CUDA error: device-side assert triggered\nCompile with `TORCH_USE_CUDA_DSA`", "cuda-error", None, {}),
        ("CUDA driver version is insufficient for CUDA runtime version", "cuda-error", None, {}),
        ("cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "cuda-error", None, {}),
        ("can't start new thread", "no-threads", None, {}),
        ("unable to write to file </torch_7_1>: No space left on device (28)", "no-space", None, {}),
        ("received 0 items of ancdata", "too-many-files", None, {}),
        ("DataLoader worker (pid 1234) is killed by signal: Bus error. ", "worker-killed", None, {"pid": 1234}),
        ("Task was killed due to the node running low on memory.\nMemory on the node", "worker-killed", None, {}),
        ("1 worker(s) were killed due to the node running low on memory. ", "worker-killed", None, {}),
        ("DataLoader worker (pid(s) 12, 13) exited unexpectedly", "worker-killed", None, {"pid": 12}),
        ("module compiled against API version 0x10 but this version of numpy is 0xf", "binary-mismatch", None, {}),
    ],
)
def test_what_libraries_say_when_something_runs_out(text, kind, asked, numbers):
    told = describe(RuntimeError(text))

    assert told["kind"] == kind
    assert told["asked_bytes"] == asked
    assert told["numbers"].items() >= numbers.items()


def test_a_text_of_nothing_but_digits_takes_no_time():
    started = time.process_time()
    for text in ("1," * 10_000, "7" * 20_000, "." * 20_000, "shape[" * 3_000, "alloc of size 7" * 1_000):
        describe(MemoryError(f"CUDA out of memory. Tried to allocate {text}"))

    assert time.process_time() - started < 5  # it took minutes


def test_an_array_that_numpy_could_not_allocate():
    told = describe(raised(lambda: np.ones((10**8, 10**8))))

    assert (told["kind"], told["asked_bytes"]) == ("memory-error", 8 * 10**16)
    assert told["error"] == "MemoryError"
    assert [frame["function"] for frame in told["frames"][:2]] == ["ones", "<lambda>"]


@pytest.mark.parametrize(
    ("module", "name", "text", "asked"),
    [
        ("cv2", "error", "error: (-4:Insufficient memory) Failed to allocate 6912 bytes", 6912),
        ("_duckdb", "OutOfMemoryException", "Failed to allocate block of 16777216 bytes (bad allocation)", None),
        ("_duckdb", "OutOfMemoryException", "Out of Memory Error: failed to pin block of size 256.0 KiB", None),
    ],
)
def test_memory_that_was_refused_in_a_library_with_exceptions_of_its_own(module, name, text, asked):
    error = type(name, (Exception,), {"__module__": module})

    assert module == "_duckdb" or describe(error("a mistake in the arguments")) is None
    told = describe(error(text))
    assert (told["kind"], told["asked_bytes"]) == ("memory-error", asked)


def test_rays_memory_monitor_is_known_by_its_error_whatever_it_says():
    error = type("OutOfMemoryError", (Exception,), {"__module__": "ray.exceptions"})
    assert describe(error("Memory on the node (IP: 10.0.0.2) was 23.1 GB / 24.0 GB"))["kind"] == "worker-killed"


def test_an_error_of_the_operating_system_is_recognised_by_its_number():
    def full():
        Path("/dev/full").write_text("x")

    assert describe(raised(full))["kind"] == "no-space"
    assert describe(OSError(errno.EMFILE, "Zu viele offene Dateien"))["kind"] == "too-many-files"
    assert describe(OSError(errno.ENOSPC, "full", "/dev/shm/torch_1"))["signature"].endswith("(/dev/shm)")


def test_numpy_tells_of_a_full_disk_without_the_number_of_the_error():
    assert describe(raised(lambda: np.ones(10**6).tofile("/dev/full")))["kind"] == "no-space"
    assert describe(OSError("Not enough free space to write 64000000 bytes"))["kind"] == "no-space"
    assert describe(ValueError("2 requested and 1 written")) is None


def test_a_socket_that_would_block_is_no_incident_and_a_fork_that_fails_is_one():
    def _execute_child():  # as in the standard library's subprocess
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    assert describe(BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")) is None
    assert describe(raised(_execute_child))["kind"] == "no-threads"


def test_the_innermost_of_a_chain_says_most():
    def fit():
        try:
            raise RuntimeError("DataLoader worker (pid 99) is killed by signal: Killed. ")
        except RuntimeError as error:
            raise RuntimeError("DataLoader worker (pid(s) 99) exited unexpectedly") from error

    told = describe(raised(fit))

    assert told["signature"] == "DataLoader worker is killed by signal: Killed"
    assert told["frames"][0]["function"] == "fit"


def test_an_incident_that_an_except_clause_turned_into_another_error():
    def handled():
        try:
            raise MemoryError
        except MemoryError:
            return {}["fallback"]

    assert describe(raised(handled))["kind"] == "memory-error"


def test_workers_that_a_pool_lost():
    pool = library_type("BrokenProcessPool", "concurrent.futures.process")
    loky = library_type("TerminatedWorkerError", "joblib.externals.loky.process_executor", pool)

    assert describe(pool("..."))["kind"] == "broken-pool"
    told = describe(loky("... The exit codes of the workers are {SIGKILL(-9)}"))
    assert told["signature"].endswith(": SIGKILL")
    assert told["numbers"]["exit_code"] == -9


def test_a_recursion_is_recorded_without_its_thousand_frames():
    def down():
        down()

    told = describe(raised(down))

    assert told["kind"] == "recursion"
    assert 3 <= len(told["frames"]) <= 50


@pytest.mark.parametrize(
    "error",
    [
        ValueError("No room for 3"),
        KeyError("memory"),
        KeyboardInterrupt(),
        SystemExit(1),
        OSError(errno.ENOENT, "gone"),
    ],
)
def test_an_error_like_any_other_is_no_incident(error):
    assert describe(error) is None


def test_an_undefined_symbol_is_one_only_where_something_is_loaded():
    text = "/lib/x.so: undefined symbol: f"

    assert describe(ImportError(text))["kind"] == "binary-mismatch"
    assert describe(AttributeError(text)) is None


def test_nothing_of_the_users_is_recorded():
    error = RuntimeError(f"{TORCH_1} while loading /home/ada/secret.csv of swordfish")
    error.__notes__ = ["swordfish"]

    told = json.dumps({**describe(error), "frames": []})

    assert "secret" not in told
    assert "swordfish" not in told


def test_none_of_the_exceptions_own_code_runs():
    class TrapError(MemoryError):
        def __str__(self):
            raise SystemExit

        args = property(lambda self: 1 / 0)
        __class__ = property(lambda self: 1 / 0)

        def __getattribute__(self, name):
            raise SystemExit

    assert describe(TrapError())["kind"] == "memory-error"


def test_the_words_of_the_users_own_exceptions_are_the_users():
    own = type("OutOfLuck", (Exception,), {"__module__": "__main__"})

    assert describe(own("CUDA out of memory")) is None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="cannot run here: Python 3.10 has no groups")
def test_members_of_a_group_count():
    group = builtins.ExceptionGroup("several", [ValueError("1"), OSError(errno.ENOSPC, "No space left on device")])

    assert describe(group)["kind"] == "no-space"


def test_a_chain_that_bites_its_own_tail_ends():
    first, second = ValueError("a"), ValueError("b")
    first.__context__, second.__context__ = second, first

    assert describe(first) is None


def test_an_incident_of_another_thread_keeps_its_place():
    found = []

    def work():
        try:
            np.ones(10**15)
        except MemoryError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    def reraise():
        raise found[0]

    assert [frame["function"] for frame in describe(raised(reraise))["frames"]][:2] == ["ones", "work"]


def test_tensorflow_keeps_its_words_apart_from_the_arguments():
    base = library_type("OpError", "tensorflow.python.framework.errors_impl", Exception)
    error = library_type("ResourceExhaustedError", "tensorflow.python.framework.errors_impl", base)()
    error._message = TENSORFLOW.format("GPU", "GPU_0_bfc")

    assert describe(error)["asked_bytes"] == 12800 * 64 * 28 * 28 * 4


@pytest.fixture
def no_file_left():
    """Return what asks for it while all of the files that may be open are."""
    limits, opened = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(int(one.name) for one in Path("/proc/self/fd").iterdir()) + 4, limits[1])
    )
    try:
        while True:
            opened.append(os.dup(0))
    except OSError:
        yield opened
    finally:
        for one in opened:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_library_that_could_open_no_file(no_file_left):
    error = raised(lambda: sqlite3.connect("a.db"))
    told = describe(error)
    assert (told["kind"], told["error"], told["signature"]) == (
        "too-many-files",
        "sqlite3.OperationalError",
        "no file could be opened",
    )
    assert describe(RuntimeError("could not start"))["kind"] == "too-many-files"
    for other in (NameError("x"), FileNotFoundError(errno.ENOENT, "x"), KeyboardInterrupt(), ConnectionResetError()):
        assert describe(other) is None
    os.close(no_file_left.pop())
    assert describe(error)["kind"] == "too-many-files"  # SQLite needs a journal, too
    os.close(no_file_left.pop())
    assert describe(error) is None


def test_a_database_that_is_not_there(tmp_path):
    assert describe(raised(lambda: sqlite3.connect(tmp_path / "none" / "a.db"))) is None
