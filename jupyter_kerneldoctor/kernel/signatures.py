"""Lists the words of libraries' errors when something ran out or broke. Only these words are recorded.

They come from the libraries' own sources: CPython, NumPy, PyTorch (c10/cuda, torch/utils/data), TensorFlow (BFC
allocator), XLA, CuPy, CUDA's list of errors, glibc's dynamic linker, concurrent.futures, joblib/loky, dask.
"""

from typing import NamedTuple


class Signature(NamedTuple):
    """One way in which a library words an incident."""

    kind: str
    words: str
    needles: tuple[str, ...] = ()
    """All of these are in the text."""
    types: tuple[str, ...] = ()
    """The exception is one of these types or a subclass; empty: of any type."""


def _worded(kind: str, *words: str, types: tuple[str, ...] = ()) -> tuple[Signature, ...]:
    return tuple(Signature(kind, text, (text,), types) for text in words)


_IMPORT = ("builtins.ImportError", "builtins.OSError")

NUMPY_MEMORY_ERRORS = (
    "numpy._core._exceptions.MemoryError",
    "numpy.core._exceptions.MemoryError",
    "numpy._core._exceptions._ArrayMemoryError",
    "numpy.core._exceptions._ArrayMemoryError",
)
"""The first two as NumPy renames them, so that tracebacks show the name of their base."""

_DUCKDB_MEMORY_ERRORS = tuple(f"{module}.OutOfMemoryException" for module in ("_duckdb", "duckdb", "duckdb.duckdb"))
"""As its versions name the module."""

WORKER_SIGNALS = (
    "Killed",
    "Bus error",
    "Segmentation fault",
    "Aborted",
    "Terminated",
    "Illegal instruction",
    "Floating point exception",
    "SIGKILL",
    "SIGBUS",
    "SIGSEGV",
    "SIGABRT",
    "SIGTERM",
    "SIGILL",
    "SIGFPE",
)
"""Signals as strsignal(3) and loky name them."""

_RAY_MEMORY_MONITOR = "killed due to the node running low on memory"
"""Of its task, or of so many workers, as Ray's versions word it."""

SIGNATURES: tuple[Signature, ...] = (
    # A worker process that was lost comes first: its text may quote another error.
    Signature("worker-killed", "DataLoader worker is killed by signal", ("DataLoader worker (pid", "killed by signal")),
    Signature(
        "worker-killed", "DataLoader worker exited unexpectedly", ("DataLoader worker (pid", "exited unexpectedly")
    ),
    Signature("worker-killed", _RAY_MEMORY_MONITOR, types=("ray.exceptions.OutOfMemoryError",)),
    *_worded("worker-killed", _RAY_MEMORY_MONITOR),
    Signature("worker-killed", "KilledWorker", types=("distributed.scheduler.KilledWorker",)),
    Signature(
        "broken-pool",
        "A worker process managed by the executor was unexpectedly terminated",
        types=("joblib.externals.loky.process_executor.TerminatedWorkerError",),
    ),
    Signature(
        "broken-pool",
        "A process in the process pool was terminated abruptly",
        types=("concurrent.futures.process.BrokenProcessPool",),
    ),
    # The memory of a card.
    Signature("torch-out-of-memory", "CUDA out of memory", ("CUDA out of memory",)),
    Signature("torch-out-of-memory", "HIP out of memory", ("HIP out of memory",)),
    Signature("torch-out-of-memory", "XPU out of memory", ("XPU out of memory",)),
    Signature("torch-out-of-memory", "MPS backend out of memory", ("MPS backend out of memory",)),
    Signature("torch-out-of-memory", "out of memory", types=("torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError")),
    Signature("cupy-out-of-memory", "Out of memory allocating", types=("cupy.cuda.memory.OutOfMemoryError",)),
    Signature("tf-resource-exhausted", "OOM when allocating tensor: GPU", ("OOM when allocating tensor", "device:GPU")),
    Signature("memory-error", "OOM when allocating tensor: CPU", ("OOM when allocating tensor", "device:CPU")),
    *_worded("tf-resource-exhausted", "OOM when allocating tensor", "Dst tensor is not initialized"),
    Signature(
        "tf-resource-exhausted",
        "ResourceExhaustedError",
        types=("tensorflow.python.framework.errors_impl.ResourceExhaustedError",),
    ),
    Signature("jax-out-of-memory", "RESOURCE_EXHAUSTED: Out of memory", ("RESOURCE_EXHAUSTED", "Out of memory")),
    *_worded(
        "cuda-error",
        "CUDA error: out of memory",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "cudaErrorMemoryAllocation",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_ALLOC_FAILED",
        # A GPU kernel that failed: the CUDA context is unusable from then on.
        "device-side assert triggered",
        "an illegal memory access was encountered",
        "misaligned address",
        "unspecified launch failure",
        "an illegal instruction was encountered",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_ASSERT",
        # Driver, toolkit and libraries that do not match.
        "CUDA driver version is insufficient for CUDA runtime version",
        "The NVIDIA driver on your system is too old",
        "Found no NVIDIA driver on your system",
        "no kernel image is available for execution on the device",
        "the provided PTX was compiled with an unsupported toolchain",
        "forward compatibility was attempted on non supported HW",
        "system has unsupported display driver / cuda driver combination",
        "Driver/library version mismatch",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "CUDNN_STATUS_VERSION_MISMATCH",
        "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        "CUDNN_STATUS_ARCH_MISMATCH",
        "cuDNN version incompatibility",
        # The card itself.
        "uncorrectable ECC error encountered",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "GPU is lost",
        # The rest.
        "Cannot re-initialize CUDA in forked subprocess",
        "CUBLAS_STATUS_NOT_INITIALIZED",
        "CUDNN_STATUS_NOT_INITIALIZED",
        "CUDNN_STATUS_INTERNAL_ERROR",
        "CUDNN_STATUS_EXECUTION_FAILED",
        "CUBLAS_STATUS_EXECUTION_FAILED",
        "CUDA error: unknown error",
        "CUDA unknown error",
        "CUDA error",
        "cuDNN error",
    ),
    # Space: a text that may contain the words of another comes first.
    Signature(
        "no-space",
        "unable to allocate shared memory(shm): No space left on device",
        ("unable to allocate shared memory(shm)", "No space left on device"),
    ),
    Signature(
        "no-space",
        "unable to write to shared memory: No space left on device",
        ("unable to write to file </torch_", "No space left on device"),
    ),
    Signature(
        "no-space",
        "unable to resize shared memory: No space left on device",
        ("unable to resize file <", "No space left on device"),
    ),
    *_worded("no-space", "No space left on device", "database or disk is full"),
    *_worded("no-space", "Not enough free space to write", types=("builtins.OSError",)),
    Signature("no-space", "requested and written", (" requested and ", " written"), ("builtins.OSError",)),
    *_worded("too-many-files", "Too many open files", "received 0 items of ancdata"),
    *_worded("no-threads", "can't start new thread"),
    # The memory of the machine.
    Signature("memory-error", "std::bad_alloc", ("std::bad_alloc",), ("builtins.MemoryError",)),
    Signature("memory-error", "Unable to allocate array", types=NUMPY_MEMORY_ERRORS),
    Signature("memory-error", "Unable to allocate array", ("Unable to allocate ", " for an array")),
    *_worded("memory-error", "DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory"),
    Signature("memory-error", "unable to mmap: Cannot allocate memory", ("unable to mmap ", "Cannot allocate memory")),
    Signature("memory-error", "Insufficient memory", ("Insufficient memory",), ("cv2.error",)),
    Signature("memory-error", "bad allocation", ("bad allocation",), _DUCKDB_MEMORY_ERRORS),
    Signature("memory-error", "DuckDB: Out of Memory Error", types=_DUCKDB_MEMORY_ERRORS),
    Signature("memory-error", "MemoryError", types=("builtins.MemoryError",)),
    # Builds that do not match.
    *_worded(
        "binary-mismatch",
        "size changed, may indicate binary incompatibility",
        "A module that was compiled using NumPy 1.x cannot be run in",
        "_ARRAY_API not found",
        "numpy.core.multiarray failed to import",
        "numpy._core.multiarray failed to import",
        "numpy.core.umath failed to import",
        "module compiled against API version",
        "module compiled against ABI version",
        "module was compiled against NumPy",
    ),
    Signature("binary-mismatch", "GLIBCXX_ not found", ("GLIBCXX_", "not found"), _IMPORT),
    Signature("binary-mismatch", "CXXABI_ not found", ("CXXABI_", "not found"), _IMPORT),
    Signature("binary-mismatch", "GLIBC_ not found", ("GLIBC_", "not found"), _IMPORT),
    *_worded(
        "binary-mismatch",
        "undefined symbol",
        "cannot allocate memory in static TLS block",
        "cannot load MKL",
        types=_IMPORT,
    ),
    *(
        Signature(
            "cuda-error",
            f"{library}: cannot open shared object file",
            (library, "cannot open shared object file"),
            _IMPORT,
        )
        for library in ("libcudart.so", "libcudnn.so", "libcublas.so", "libcusparse.so", "libnvrtc.so", "libcuda.so")
    ),
    Signature("recursion", "maximum recursion depth exceeded", types=("builtins.RecursionError",)),
)
"""In order of precedence: the first that matches counts."""
