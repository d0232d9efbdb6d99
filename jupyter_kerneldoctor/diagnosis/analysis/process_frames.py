"""Files and functions of libraries that work with threads and processes, as they stand in stacks."""

import re

THREADS = "concurrent/futures/thread.py"
WORKER_LOOPS = (
    ("multiprocessing/pool.py", "worker"),
    ("concurrent/futures/process.py", "_process_worker"),
    (THREADS, "_worker"),
    ("torch/utils/data/_utils/worker.py", "_worker_loop"),
    ("joblib/externals/loky/process_executor.py", "_process_worker"),
    ("multiprocessing/resource_tracker.py", "main"),
    ("multiprocessing/forkserver.py", "main"),
    ("joblib/externals/loky/backend/resource_tracker.py", "main"),
)
"""Where a worker waits for its next task, if nothing but plumbing is below."""

PLUMBING = re.compile(
    r"(?:multiprocessing|concurrent/futures|joblib/externals/loky|torch/multiprocessing|torch/utils/data)/|"
    r"(?:threading|queue|selectors|socket|pickle|socketserver)\.py$"
)
SYNCHRONISES_PROCESSES = re.compile(
    r"multiprocessing/(?:synchronize|queues|connection|managers|util|popen_\w+|process)\.py$"
)
SERVES_THE_KERNEL = re.compile(
    r"(?:ipykernel|IPython|zmq|tornado|traitlets|jupyter_client|debugpy|_pydevd\w*|pydevd|(?:.*/)?jupyter_kerneldoctor|"
    r"comm)/|"
    r"tqdm/_monitor\.py$"
)
POOL_LOOPS = (
    ("multiprocessing/pool.py", "_handle_workers"),
    ("multiprocessing/pool.py", "_handle_tasks"),
    ("multiprocessing/pool.py", "_handle_results"),
    ("multiprocessing/queues.py", "_feed"),
    ("multiprocessing/managers.py", "accepter"),
    ("concurrent/futures/process.py", "run"),
    ("joblib/externals/loky/process_executor.py", "run"),
    ("joblib/externals/loky/backend/queues.py", "_feed"),
    ("torch/utils/data/_utils/pin_memory.py", "_pin_memory_loop"),
)
"""The threads with which a pool hands out tasks and takes results."""

POOLS = re.compile(
    r"multiprocessing/pool\.py$|joblib/(?:parallel|_parallel_backends)\.py$|torch/utils/data/dataloader\.py$"
)
MEANS_OF_A_POOL = re.compile(
    r"(?:threading|queue|selectors)\.py$|multiprocessing/(?:connection|queues|synchronize)\.py$|concurrent/futures/_base\.py$"
)

CHILD_LIBRARIES = re.compile(
    r"(?:multiprocessing|joblib|torch/multiprocessing|torch/utils/data)/|concurrent/futures/process\.py$|"
    r"subprocess\.py$"
)
