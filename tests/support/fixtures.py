from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import sysconfig
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from jupyter_kerneldoctor.trial.memory_limit import Limit, NoMemoryLimitError, memory_limit
from support.kernels import LiveKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[Callable[..., LiveKernel]]:
    """Start kernels whose recordings lie in a directory of this test's own."""
    started: list[LiveKernel] = []

    def start(data_root: Path | None = None, **options: object) -> LiveKernel:
        started.append(LiveKernel(data_root or tmp_path / "data", tmp_path, **options))
        return started[-1]

    yield start
    for kernel in started:
        kernel.close()


@pytest.fixture
def kernel(start_kernel: Callable[..., LiveKernel]) -> LiveKernel:
    """A fresh kernel that has KernelDoctor loaded."""
    fresh = start_kernel()
    fresh.load()
    return fresh


@pytest.fixture(scope="module")
def living_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveKernel]:
    """One kernel with KernelDoctor for all tests of a module that leave it alive and unchanged."""
    kernel = LiveKernel(tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("work"))
    kernel.load()
    yield kernel
    kernel.close()


@contextmanager
def mounted_tmpfs(directory: Path, size: str) -> Iterator[Path]:
    """A file system of that size, such as `8m`, in a directory that is made for it; needs root."""
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


@pytest.fixture(scope="session")
def another_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that is not the tests' own program, but a copy of it, with the same packages."""
    environment = tmp_path_factory.mktemp("another") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--copies", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib"))
    return environment / "bin" / "python"


@pytest.fixture
def low_memory() -> Iterator[Limit]:
    """A real memory limit of 300 MiB, for what is started below it."""
    try:
        with memory_limit(300 << 20) as limit:
            yield limit
    except NoMemoryLimitError as error:
        pytest.skip(f"cannot run here: {error}")


@pytest.fixture
def limited_kernel(start_kernel: Callable[..., LiveKernel], low_memory: Limit) -> LiveKernel:
    """A kernel with KernelDoctor under that limit."""
    kernel = start_kernel(prefix=low_memory.prefix)
    kernel.load()
    return kernel


@pytest.fixture
def trial_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where trials work."""
    try:
        with memory_limit(300 << 20):
            pass
    except NoMemoryLimitError as error:
        pytest.skip(f"cannot run here: {error}")
    (tmp_path / "disk").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "disk"))
    return tmp_path / "disk"


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[Path]:
    """A FUSE file system whose server never answers."""
    place = tmp_path / "hung"
    place.mkdir()
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        pytest.skip("cannot run here: no FUSE")
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
    if ctypes.CDLL(None, use_errno=True).mount(b"nobody", bytes(place), b"fuse", 0, options):
        pytest.skip("cannot run here: FUSE cannot be mounted")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)
    os.close(server)
