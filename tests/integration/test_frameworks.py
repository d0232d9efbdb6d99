"""What is recorded of deep-learning libraries.

A torch that speaks with a card needs a card. Where there is none, a package called `torch` stands in for it, with the
part of torch's documented interface (docs.pytorch.org/docs/stable/cuda.html) that tells of memory, and with the
allocator's out-of-memory observer as torch's own tools use it. Real torch, TensorFlow and JAX are asked where they are
installed.
"""

from __future__ import annotations

import importlib.util
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.events import Framework
    from jupyter_kerneldoctor.recording.model import Recording

GIB = 1 << 30

TORCH = {
    "__init__.py": """
        __version__ = "2.6.0+cu124"
        from . import _C, cuda, version

        class OutOfMemoryError(RuntimeError):
            pass

        def take(size):
            '''Allocate on the card, as a tensor would.'''
            cuda.init()
            state = _C.state
            free = state["total"] - state["reserved"]
            if size > free:
                for observer in _C.observers:
                    observer(0, size, state["total"], free)
                raise OutOfMemoryError("CUDA out of memory.")
            state["allocated"] += size
            state["reserved"] += size
            state["peak"] = max(state["peak"], state["allocated"])
        """,
    "version.py": "cuda, hip = '12.4', None",
    "_C.py": """
        state = {"total": 24 << 30, "allocated": 0, "reserved": 0, "peak": 0}
        observers = []
        initialised_by_attaching = False

        class _cudnn:
            @staticmethod
            def getCompileVersion():
                return (9, 1, 0)

        def _cuda_getDeviceCount():
            return 2

        def _cuda_attach_out_of_memory_observer(observer):
            global initialised_by_attaching
            from . import cuda
            if not cuda.is_initialized() and not cuda._is_initializing:
                initialised_by_attaching = True
            observers.append(observer)
        """,
    "cuda.py": """
        import threading
        import types
        from . import _C

        _initialized = _is_initializing = False
        _initialization_lock = threading.Lock()
        _queued = []

        def is_initialized():
            return _initialized

        def init():
            global _initialized, _is_initializing
            if not _initialized:
                _is_initializing = True
                for call in _queued:
                    call()
                _initialized, _is_initializing = True, False

        def _lazy_call(call):
            call() if _initialized else _queued.append(call)

        def device_count():
            raise AssertionError("this one may ask NVML")

        def memory_stats_as_nested_dict(device):
            held = _C.state if device == 0 else dict.fromkeys(_C.state, 0)
            return {
                "allocated_bytes": {"all": {"current": held["allocated"], "peak": held["peak"]}},
                "reserved_bytes": {"all": {"current": held["reserved"], "peak": held["reserved"]}},
            }

        def get_device_properties(device):
            assert _initialized, "this one would initialise CUDA"
            return types.SimpleNamespace(total_memory=_C.state["total"])

        def reset_peak_memory_stats():
            raise AssertionError("the user's own code may read it")
        """,
}


@pytest.fixture
def torch_kernel(kernel: LiveKernel, tmp_path: Path) -> LiveKernel:
    """A kernel that finds the stand-in when it imports torch."""
    install(kernel, tmp_path / "packages", "torch", TORCH)
    return kernel


def install(kernel: LiveKernel, packages: Path, name: str, files: dict[str, str]) -> None:
    (packages / name).mkdir(parents=True)
    for file, text in files.items():
        (packages / name / file).write_text(dedent(text), encoding="utf-8")
    kernel.run(f"import sys\nsys.path.insert(0, {str(packages)!r})")


def run_until(kernel: LiveKernel, source: str, seen: Callable[[Recording], object]) -> Recording:
    """Run a cell, and then empty ones: on a busy machine a look that took long makes the next one wait a moment."""
    kernel.run(source)

    def look(recording: Recording) -> object:
        kernel.run("pass")
        return seen(recording)

    return kernel.wait_recorded(look)


def states(recording: Recording) -> list[Framework]:
    """What was told of allocators at the ends of cells."""
    return [told for told in recording.frameworks if told.device is not None and told.asked_bytes is None]


def test_the_versions_are_told_once_when_the_library_is_there(torch_kernel: LiveKernel) -> None:
    torch_kernel.run("1 + 1")
    torch_kernel.run("import torch")
    torch_kernel.run("import torch")
    torch_kernel.run("'after'")

    recording = torch_kernel.wait_recorded(
        lambda found: found.cells[-1].source == "'after'" and found.cells[-1].finished
    )
    (told,) = recording.frameworks
    assert (told.name, told.version) == ("torch", "2.6.0+cu124")
    assert told.built_for == {"cuda": "12.4", "cudnn": "9.1.0"}
    assert next(cell.source for cell in recording.cells if cell.seq == told.cell_seq) == "import torch"


def test_the_allocator_is_told_after_a_cell_that_moved_it(torch_kernel: LiveKernel) -> None:
    torch_kernel.run("import torch")
    first = run_until(torch_kernel, "torch.take(4 << 30)", lambda found: len(states(found)) == 1)
    run_until(torch_kernel, "torch.take(1000)", lambda found: found.cells[-1].finished)
    second = run_until(torch_kernel, "torch.take(2 << 30)", lambda found: len(states(found)) >= 2)

    (told,) = states(first)
    assert (told.name, told.device) == ("torch", "cuda:0"), "the second card holds nothing, and is not worth a word"
    assert (told.allocated_bytes, told.reserved_bytes, told.peak_bytes) == (4 * GIB, 4 * GIB, 4 * GIB)
    assert told.total_bytes == 24 * GIB
    assert [round(told.allocated_bytes / GIB) for told in states(second)] == [4, 6], "1,000 bytes more are not told"


def test_nothing_is_initialised_that_the_user_did_not_initialise(torch_kernel: LiveKernel) -> None:
    torch_kernel.run("import torch")
    torch_kernel.run("pass")
    assert torch_kernel.run("torch.cuda.is_initialized()").result == "False"

    torch_kernel.run("torch.take(1 << 30)")
    assert torch_kernel.run("torch._C.initialised_by_attaching").result == "False"


def test_the_moment_the_card_had_no_room_is_told(torch_kernel: LiveKernel) -> None:
    torch_kernel.run("import torch")
    outcome = torch_kernel.run(
        "torch.take(20 << 30)\ntry:\n    torch.take(8 << 30)\nexcept RuntimeError as e:\n    print(e)"
    )
    recording = torch_kernel.wait_recorded(lambda found: any(told.asked_bytes for told in found.frameworks))

    assert outcome.stdout == "CUDA out of memory.\n", "the user's code sees torch's own error"
    told = next(told for told in recording.frameworks if told.asked_bytes)
    assert (told.device, told.asked_bytes, told.free_bytes) == ("cuda:0", 8 * GIB, 4 * GIB)
    assert (told.allocated_bytes, told.total_bytes) == (20 * GIB, 24 * GIB)


def test_code_that_runs_into_it_again_and_again_fills_no_disk(torch_kernel: LiveKernel) -> None:
    torch_kernel.run("import torch\nfrom jupyter_kerneldoctor.kernel import frameworks")
    torch_kernel.run("frameworks._OUT_OF_MEMORY_EVERY_S = 0.0  # else this would take a minute")
    torch_kernel.run(
        "for size in range(30 << 30, 31 << 30, 1 << 20):\n"
        "    try:\n"
        "        torch.take(size)\n"
        "    except torch.OutOfMemoryError:\n"
        "        pass\n"
        "'tried them all'"
    )

    recording = torch_kernel.wait_recorded(
        lambda found: "tried them all" in found.cells[-1].source and found.cells[-1].finished
    )
    told = [told.asked_bytes for told in recording.frameworks if told.asked_bytes]
    assert told[0] == 30 * GIB
    assert 50 <= len(told) < 60, "of 1,024"


def test_after_a_fork_and_when_switched_off_the_observer_does_nothing(torch_kernel: LiveKernel) -> None:
    torch_kernel.run("import torch")
    torch_kernel.run("torch.take(20 << 30)")
    torch_kernel.run(
        "import os\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        torch.take(8 << 30)\n"
        "    finally:\n"
        "        os._exit(0)\n"
        "os.waitpid(child, 0)"
    )
    torch_kernel.run("%kerneldoctor off")
    assert "CUDA out of memory" in torch_kernel.run("torch.take(8 << 30)").traceback

    recording = torch_kernel.wait_recorded(lambda found: found.switched_off)
    assert not any(told.asked_bytes for told in recording.frameworks)


def test_a_library_that_answers_with_errors_disturbs_nobody(torch_kernel: LiveKernel) -> None:
    torch_kernel.run(
        "import torch\ntorch.take(1 << 30)\ndel torch.cuda.memory_stats_as_nested_dict, torch.version.cuda"
    )

    assert torch_kernel.run("1 + 1").result == "2"
    recording = torch_kernel.wait_recorded(lambda found: found.cells[-1].source == "1 + 1" and found.cells[-1].finished)
    assert recording.frameworks[0].version == "2.6.0+cu124"


def test_a_half_imported_library_is_left_alone(kernel: LiveKernel, tmp_path: Path) -> None:
    # The import goes on in a thread while the next cell ends.
    slow = {"__init__.py": "import time\ntime.sleep(3)\n__version__ = '2.19.0'"}
    install(kernel, tmp_path / "packages", "tensorflow", slow)
    kernel.run("import threading\nthread = threading.Thread(target=__import__, args=('tensorflow',))\nthread.start()")
    kernel.run("import sys\nassert 'tensorflow' in sys.modules\n'while'")
    during = kernel.wait_recorded(lambda found: found.cells[-1].finished).frameworks
    recording = run_until(kernel, "thread.join()", lambda found: found.frameworks)

    assert during == ()
    assert recording.frameworks[0].version == "2.19.0"


def test_other_things_of_that_name_are_left_alone(kernel: LiveKernel) -> None:
    outcome = kernel.run(
        "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\nsys.modules['jax'] = None\n1"
    )
    assert outcome.result == "1"
    assert kernel.run("2").result == "2"
    assert kernel.wait_recorded(lambda found: found.cells[-1].finished).frameworks == ()


@pytest.mark.parametrize("name", ["torch", "tensorflow", "jax"])
def test_the_real_library_is_told(kernel: LiveKernel, name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"cannot run here: no {name}")
    version = kernel.run(f"import {name}\n{name}.__version__").result
    recording = run_until(kernel, "pass", lambda found: found.frameworks)

    assert repr(recording.frameworks[0].version) == version
    assert recording.frameworks[0].name == name


def test_a_real_torch_with_a_card_tells_its_allocator(kernel: LiveKernel) -> None:
    if (
        importlib.util.find_spec("torch") is None
        or "True" not in kernel.run("import torch\nprint(torch.cuda.is_available())").stdout
    ):
        pytest.skip("cannot run here: no torch with a card")
    kernel.run("x = torch.zeros(1 << 28, device='cuda')  # 1 GiB")
    recording = run_until(kernel, "pass", states)
    kernel.run(
        "try:\n    torch.empty(1 << 50, dtype=torch.uint8, device='cuda')\nexcept torch.OutOfMemoryError:\n    pass"
    )
    after = kernel.wait_recorded(lambda found: any(told.asked_bytes for told in found.frameworks))

    assert states(recording)[0].allocated_bytes >= GIB
    assert next(told for told in after.frameworks if told.asked_bytes).asked_bytes == 1 << 50
