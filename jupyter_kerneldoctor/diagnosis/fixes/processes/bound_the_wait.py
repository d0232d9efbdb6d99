import re
from dataclasses import replace
from typing import Any

from ...analysis.stuck_cell import StuckCell
from ...examples.stuck import frame, look, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck
from ...units import statement

_EVENT = "waits for something that is to be told, and nobody tells it."
_TOLD = "waits to be told, and what was told before it began to wait is lost: `wait_for` asks first."
_WAYS = (
    (
        r"torch/utils/data/dataloader",
        "Load the batches without worker processes: num_workers=0",
        "waits for a worker of the DataLoader, and none sends a batch.",
        (
            "loader = DataLoader(dataset, num_workers=0)  # the kernel loads by itself, and shows what goes wrong\n"
            "loader = DataLoader(dataset, num_workers=4, timeout=60)  # or an error where no batch comes in a minute"
        ),
    ),
    (
        r"\brun_coroutine_threadsafe\(",
        "Await the coroutine, or run its event loop in a thread first",
        "waits for a coroutine, and nobody runs the event loop it was given to.",
        (
            "value = await main()  # in a cell: its own loop runs already\n\n"
            "threading.Thread(target=loop.run_forever, daemon=True).start()  # before the coroutine is handed over"
        ),
    ),
    (
        r"\bcondition\b|\bCondition\(",
        "Notify also after an error, and give the wait an end",
        _TOLD,
        (
            "with {condition}:  # in the thread, also after an error\n    {condition}.notify_all()\n\n"
            "with {condition}:\n    if not {condition}.wait_for(lambda: ready, timeout=60):\n"
            "        raise TimeoutError('nobody has told it')"
        ),
    ),
    (
        r"\bwith\s.{0,200}?(?:ThreadPoolExecutor|ProcessPoolExecutor|Pool)\(",
        "Tell the tasks to end before the with block does: an end mark for each",
        "waits at its end until every task has ended, and one of them waits for more to do.",
        (
            "for _ in range(workers):\n    queue.put(None)  # in the block: one end mark for each task\n\n"
            "while (item := queue.get()) is not None:  # in the task\n    ..."
        ),
    ),
    (
        r"\bbarrier|Barrier\b",
        "Let as many threads run as the barrier waits for",
        "waits until as many threads are there as the barrier was made for.",
        (
            "barrier = threading.Barrier(len(threads))  # a pool needs max_workers of that many, too\n"
            "barrier.wait(timeout=60)  # raises BrokenBarrierError"
        ),
    ),
    (
        r"\.(?:map|starmap|imap|imap_unordered|apply|map_async|apply_async)\(",
        "Hear of workers that end, and give the wait an end: ProcessPoolExecutor",
        "waits for the results of workers. A pool of multiprocessing never tells of a worker that was ended.",
        (
            "from concurrent.futures import ProcessPoolExecutor\n\nwith ProcessPoolExecutor() as workers:\n"
            "    results = list(workers.map(function, items, timeout=600))  # BrokenProcessPool, or TimeoutError"
        ),
    ),
    (
        r"\.(?:result|as_completed)\(.*|concurrent/futures",
        "Let no task wait for a task of the same pool, and give the wait an end",
        "waits for a task. A task that itself waits for another one of its pool holds a worker that the other needs.",
        (
            "value = {future}.result(timeout=60)  # raises TimeoutError\n"
            "inner = ThreadPoolExecutor(4)  # a second pool for what tasks submit themselves"
        ),
    ),
    (
        r"\bwith\s.{0,200}?(?:lock|mutex|sem)",
        "Ask for the lock with an end, and see who keeps it",
        "waits for a lock that somebody keeps.",
        (
            "if not {lock}.acquire(timeout=60):  # in place of with\n"
            "    raise TimeoutError('somebody has kept the lock')\n"
            "try:\n    ...\nfinally:\n    {lock}.release()"
        ),
    ),
    (
        r"\.(?:acquire)\(",
        "Give the lock back whatever happens: with",
        "waits for a lock that nobody gives back.",
        (
            "with {lock}:  # in place of acquire() and release(): an error or a return gives it back, too\n    ...\n\n"
            "if not {lock}.acquire(timeout=60):\n    raise TimeoutError('somebody has kept the lock')"
        ),
    ),
    (
        r"\.(?:stdout|stderr)\.read",
        "Read what the program writes with communicate, and give it an end",
        "waits for output of a program that neither writes nor ends.",
        "output, errors = {program}.communicate(timeout=60)  # raises TimeoutExpired; then {program}.kill()",
    ),
    (
        r"\.(?:recv|recv_bytes|accept|readline|read|get_message)\(",
        "Say when there is no more: close the other end, or send an end mark",
        "waits for data, and the other side neither sends any nor closes its end.",
        (
            "connection.settimeout(60)  # a socket; `if pipe.poll(60): pipe.recv()` for a Pipe\n"
            "connection.shutdown(socket.SHUT_WR)  # the other side, when all is sent: read() then comes to its end"
        ),
    ),
    (
        r"\.get\(",
        "Put an end mark into the queue for each reader",
        "waits for one more item, and nobody puts any.",
        (
            "{queue}.put(None)  # when all is put in, once for each reader\n\n"
            "while (item := {queue}.get(timeout=60)) is not None:  # raises Empty after a minute\n    ..."
        ),
    ),
    (
        r"\.join\(",
        "Tell the threads to end before you join them, and give the wait an end",
        "waits for a thread or process that does not end.",
        (
            "stop.set()  # a threading.Event, which the thread's loop asks: while not stop.is_set()\n"
            "{worker}.join(timeout=60)\nprint({worker}.is_alive())"
        ),
    ),
    (
        r"\.wait\(|\.wait_for\(",
        "Set the event also after an error, and give the wait an end",
        _EVENT,
        (
            "try:\n    ...\nfinally:\n    {event}.set()  # also after an error\n\n"
            "if not {event}.wait(timeout=60):\n    raise TimeoutError('nobody has set the event')"
        ),
    ),
    (
        r"\bFile\(|HDFStore\(|_hdf\(|open_dataset\(|\bDataset\(",
        "Close the file where it is still open: h5py locks it",
        "waits until nobody else has the file open for writing.",
        (
            "!lslocks  # tells the process that has it: another kernel, or a program that was left behind\n"
            "file.close()  # there, or shut that kernel down; from now on: with h5py.File(path, 'a') as file:\n\n"
            "import os\nos.environ['HDF5_USE_FILE_LOCKING'] = 'FALSE'  # before h5py is imported: no lock"
        ),
    ),
    (
        r"(?:flock|lockf|FileLock)\b",
        "Ask for the file's lock without waiting",
        "waits until another process gives the lock of the file back.",
        "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises BlockingIOError; FileLock(path, timeout=60)",
    ),
    (
        r"subprocess|os\.system|check_output|Popen|(?<![\w.])run\(|\.communicate\(|\.wait\(",
        "Let the program ask nobody, and give it an end",
        "waits for a program that does not end.",
        "subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60)  # raises TimeoutExpired",
    ),
)
"""What a line that waits looks like, and what gives the wait an end."""


_OWNER = re.compile(
    r"(?<![\w.])([\w.]+)\.(?:get|acquire|wait|wait_for|join|result|communicate)\(|\bwith\s+([\w.]+)\s*:"
    r"|(?<![\w.])([\w.]+)\.(?:stdout|stderr)\.read"
)


def _name(owner: re.Match[str]) -> str:
    return next(one for one in owner.groups() if one)


def _texts(death: Death) -> str:
    return "\n".join(one.source for one in death.recording.cells)


def _hangs(source: str, says: str, *inner: Any, line: int = 1) -> Case:
    return stuck(source, inner=inner, line=line, says=(says,))


_READ = re.compile(r"\bawait\s+([\w.]+)\.get\(\)")
_WAIT_FOR = "value = await asyncio.wait_for(..., timeout=60)  # raises TimeoutError"
_END_MARK = (
    "await {queue}.put(None)  # when all is put in: once for each reader\n\n"
    "while (item := await {queue}.get()) is not None:\n    ...\n\n"
)


def _awaits(source: str, says: str) -> Case:
    loop = frame("asyncio/base_events.py", "_run_once")
    waiting = replace(
        look(source, 1), threads=(replace(thread(loop, waits_in="do_epoll_wait"), has_limit=False, wakers=()),)
    )
    return Case(source, cause="hang", line=1, stuck=[waiting], says=(says,))


class BoundTheWait(Fix):
    """Let somebody end the wait, and give it an end of its own.

    What it does: For each way of waiting it shows what wakes it: an end mark in the queue, a lock that `with` gives
    back, an event that is set in `finally`; and the `timeout` with which it ends in an error that says where.

    When it is offered: The kernel is stuck, and the line at which it waits is known. It comes after fixes that know
    what is wrong.

    What it costs: A timeout that is too short ends work that would have been done.
    """

    id, title, causes, general = "bound-the-wait", "Let somebody end the wait", ("hang",), True

    unless_offered = frozenset(
        {"let-the-wait-end", "spawn-target-in-module", "spawn-not-fork", "picklable-exceptions", "await-in-coroutines"}
        | {
            "read-the-queue-first",
            "task-done-for-each-item",
            "end-mark-for-each",
            "read-both-pipes",
            "detach-the-program",
            "share-between-processes",
            "limit-the-request",
            "wake-the-loop",
            "end-the-loop",
            "hand-on-the-error",
            "a-place-for-each-task",
            "wait-without-the-permit",
            "bring-what-it-waits-for",
            "wait-for-what-ends",
        }
    )

    FIRES = [
        _hangs("start.barrier.wait()", "len(threads)"),
        _hangs("r = pool.map(f, xs)", "BrokenProcessPool"),
        _hangs("x = future.result()", "result(timeout=60)"),
        _hangs("lock.acquire()", "with lock"),
        _hangs("with journal_lock: save()", "lock.acquire(timeout=60)"),
        _hangs("rows = p.stdout.read()", "communicate(timeout=60)"),
        _hangs("answer = sock.recv(10)", "SHUT_WR"),
        _hangs("item = q.get()", "q.put(None)"),
        _hangs("with ThreadPoolExecutor(4) as pool: start(pool)", "one end mark for each"),
        _hangs("t.join()", "stop.set()", frame("threading.py", "join")),
        _hangs("done.wait()", "finally"),
        _hangs("fcntl.flock(f, 2)", "LOCK_NB"),
        _hangs("subprocess.run(c)", "DEVNULL"),
        _hangs("done = threading.Event()\nready = 1\ndone.wait()", "done.set()", line=3),
        _hangs("b = threading.Barrier(3)\nb.wait()", "threading.Barrier(len", line=2),
        _hangs("c = threading.Condition()\nwith c: c.wait()", "c.notify_all()", line=2),
        _hangs("f = asyncio.run_coroutine_threadsafe(g(), loop)\nf.result()", "loop.run_forever", line=2),
        _hangs("f = h5py.File(p, 'a')", "lslocks"),
        _hangs(
            "for x in batches: f(x)", "num_workers=0", frame("torch/utils/data/dataloader.py", "_get", library=True)
        ),
        _awaits("item = await tell(x)", "asyncio.wait_for(..., timeout=60)"),
        _awaits("jobs = asyncio.Queue()\nwhile True:\n    x = await jobs.get()", "await jobs.put(None)"),
    ]
    SILENT = [
        _hangs("x = solve(y)", ""),
        _hangs("x = ray.get(tasks)", "", frame("ray/_private/worker.py", "get_objects", library=True)),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is not None and still.main.needs_an_event:
            yield from _awaited(still, death)
            return
        of_others = still is not None and still.main.kind in ("cluster", "group")  # no queue or lock of this process
        code = "" if still is None or of_others else still.main.code.strip()
        owner = _OWNER.search(code)
        made = re.findall(rf"(?m)^[ \t]*{re.escape(_name(owner))}\s*=\s*([\w.]+\()", _texts(death)) if owner else []
        files = () if still is None else (one.short_file for one in still.main.frames)
        about = " ".join((code, *made[-1:], *files))
        for pattern, title, waits, snippet in _WAYS if code else ():
            is_child = still is not None and still.main.kind == "child"
            if re.search(pattern, about) is not None and not (is_child and waits in (_EVENT, _TOLD)):
                shown = re.sub(r"\{(\w+)\}", lambda word: _name(owner) if owner else word[1], snippet)
                yield Proposal((), f"{quote(code)} {waits}", title=title, snippet=shown)
                return


def _awaited(still: StuckCell, death: Death) -> Proposals:
    """Say what ends an `await` in the event loop of the cells."""
    cell, line = still.recording.running_cell, still.line
    if cell is None or line is None:
        return
    why = f"{quote(statement(cell.source.split(chr(10))[line - 1]))} awaits what nobody brings."
    code = _texts(death)
    read = _READ.search(code) if "Queue(" in code else None
    if read is None:
        yield Proposal((), why, title="Give the await an end: asyncio.wait_for", snippet=_WAIT_FOR)
        return
    snippet = _END_MARK.format(queue=read[1]) + _WAIT_FOR
    yield Proposal((), why, title="Put an end mark into the queue for each reader", snippet=snippet)
