from collections.abc import Iterator
from itertools import islice
from typing import Any

from jupyter_kerneldoctor.recording.events import Frame, ThreadError
from jupyter_kerneldoctor.recording.model import Recording

from ..analysis.busy_cell import BusyCell
from ..analysis.cluster_tasks import wanted_resources
from ..analysis.failed_children import how_they_ended
from ..analysis.failed_thread import failed_threads
from ..analysis.observed_calls import observed_calls
from ..analysis.stuck_cell import StuckCell
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..code.lossy_exceptions import lossy_exception
from ..endless_wait import failed_workers, judged
from ..examples import MIB, recording
from ..examples.stuck import IN_JOIN, IN_MAP, IN_RUN, at_work, child, child_state, frame, own_frame, stuck_in, thread
from ..texts import stuck_cell
from ..units import cell_name, duration

_POOL_WORKER = (frame("multiprocessing/queues.py", "get"), frame("multiprocessing/pool.py", "worker"))
_IDLE = child_state(901, frame("multiprocessing/connection.py", "_recv"), *_POOL_WORKER, waits_in="pipe_read")
_WORKERS = (child_state(900, waits_in="anon_pipe_read"), child_state(901, waits_in="futex_do_wait"))
_LOOPS = ("while not q.qsize():", "for n in range(9):", "while not rows:\n    if late(): break")
_FIB = "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(60)"
_COUNTS = "while i < n:\n    f()"
_BUSY = ((_COUNTS, at_work(_COUNTS, 2)), (_FIB, at_work(_FIB, 3, *(own_frame(_FIB, 2, "fib"),) * 5)))
_MOST_THREADS = 2
_OF_LOOPS = {
    **dict.fromkeys(("unchanged", "away"), Certainty.STRONG),
    **dict.fromkeys(("settles", "turns", "drifts", "near", "errors"), Certainty.POSSIBLE),
}
_STEADY = (100 * MIB,) * 3
_AT_REST: dict[str, Any] = {"children": _WORKERS, "state": "S", "waits_in": "futex_do_wait"}
_WAITS = (frame("threading.py", "wait"), frame("threading.py", "wait"))


class Hang(Cause):
    """The cell waits for something that will not come; the kernel is alive, but does not answer.

    What it means: Two parts of a program wait for each other, or for a part that has ended: a lock that nobody
    releases, a result of a worker process that is gone, an empty queue that nobody fills. No error is raised, and
    nothing is computed. It would stay so for ever.

    How it is recognised: For at least ten seconds the cell and all processes it started used hardly any processor time
    and wrote nothing. The stacks of all threads show what each waits for: nobody is left who could end the wait. A
    `sleep`, an `input()`, a slow network or a program at work is no hang: there, somebody is left. A cell at work hangs
    where it goes round in a loop that cannot end: nothing in the loop changes what its condition asks. Where values
    decide that, which are not recorded, thousands of rounds without an end tell it: of a draw until something is free,
    of Newton's steps, of rounds until nothing changes any more, of a debt that is paid off more slowly than it grows. A
    kernel that is asked to end in this state, as by a runner that gives up, ends in the ordinary way; the report then
    lists the hang as survived, like one that was interrupted.

    What to do: Interrupt the kernel (the stop button): most such waits end with a KeyboardInterrupt, and your variables
    stay. Then give the wait a time limit (`queue.get(timeout=60)`, `thread.join(60)`), and look at the line that is
    named. If a worker process has failed, its error stands in the output of the Jupyter server. Functions for processes
    that are started anew (`spawn`) belong in a file of their own, not in a cell.

    Example: `results = [queue.get() for _ in workers]`, where each worker failed at its start.
    """

    id, title, family = "hang", "The cell waits for something that will not come", Family.STUCK

    def judge(self, death: Death) -> CauseFinding | None:
        if death.busy_cell is not None:
            return self._of_busy(death, death.busy_cell)
        still = death.stuck_cell
        found = judged(still, death) if still is not None else None
        if still is None or found is None:
            return None
        certainty, why = found
        cell = still.recording.running_cell
        name = cell_name(cell.execution_count if cell is not None else None)
        return self.finding(
            death,
            certainty,
            f"The kernel is stuck in {name}{still.at()}: {why}.",
            (*how_they_ended(failed_workers(still)), *_failed_threads(still), *stuck_cell.evidence(still)),
            ruled_out=_ruled_out(still),
            line=still.line,
            summary="Running, but stuck",
        )

    def _of_busy(self, death: Death, busy: BusyCell) -> CauseFinding | None:
        """Judge a cell at work that nobody would wait for: it does nothing for the user, and will not for long."""
        name = cell_name(death.cell.execution_count if death.cell is not None else None)
        if (lasted_s := busy.formats_traceback_s) is not None:
            found = Certainty.STRONG, f"{name} has ended with an error, and IPython has been formatting a traceback"
            tip = "A traceback of thousands of calls takes minutes to format. Interrupt the kernel: the error is lost."
        elif (lasted_s := busy.backtracks_s) is not None:
            found = Certainty.LIKELY, f"{name} has been matching the regular expression {quote(busy.pattern)}"
            tip = "In a repeated group something is repeated, too: each further character doubles the ways to try."
        elif (lasted_s := busy.waits_for_group_s) is not None:
            found = Certainty.LIKELY, f"{name} has been looking for the other processes of its group"
            tip = "The notebook has started none of them, and the call returns only when they have joined."
        elif (lasted_s := busy.waits_for_tasks_s) is not None and (
            wanted := wanted_resources(death.recording, busy.looks[-1].children)
        ) is not None:
            found = Certainty.LIKELY, f"{name} has been waiting for tasks of its cluster, and no process runs one"
            tip = f"They wait until a node has what they ask for ({quote(wanted)}), or for ever."
        elif (lasted_s := busy.waits_for_idle_workers_s) is not None and (
            lossy := death.find(lossy_exception)
        ) is not None:
            found = Certainty.LIKELY, f"{name} has been waiting for results of workers that have nothing to do"
            tip = f"A pool gives up at an error that cannot be unpickled: {quote(lossy.definition.name)} is such a one."
        elif (lasted_s := busy.asks_s) is not None:
            found = Certainty.STRONG, f"the program that {name} runs has been asking for an answer"
            tip = "Nobody can type one there. Interrupt the kernel, and have the program not ask, as with `-y`."
        elif (loop := death.endless_loop) is not None:
            first = loop.node.lineno
            lasted_s = busy.within_s(death.code.cells[loop.scope.cell], first, loop.last_line)
            where = f"{death.code.cell_name(loop.scope.cell)}, line {first}"
            sure = _OF_LOOPS.get(loop.kind, Certainty.LIKELY)
            found = sure, f"{name} has been going round in {quote(loop.head)} ({where})"
            tip = f"{loop.why[:1].upper()}{loop.why[1:]}."
        elif (again := observed_calls(death.look_frames, busy, death.find)) is not None:
            node = again.node
            lasted_s = busy.within_s(death.code.cells[again.scope.cell], node.lineno, node.end_lineno or node.lineno)
            found = Certainty.POSSIBLE, f"{name} has been in the calls of {quote(again.scope.function)}"
            tip = "Each call makes several more, which ask for the same again and again. Nothing keeps the results."
        else:
            return None
        headline = f"The kernel is busy: {found[1]} for {duration(lasted_s)}."
        evidence = (Evidence(tip, round(lasted_s, 1), "s", "stack"),)
        return self.finding(death, found[0], headline, evidence, line=busy.line, summary="Running, but stuck")

    def fires_on(self) -> Recordings:
        """A lock nobody holds any more, an empty queue, workers that are gone, a stopped process, a locked file."""
        yield stuck_in("lock = threading.Lock()\nlock.acquire()\nlock.acquire()", 3, waits_in="futex_wait_queue")
        source = "q = queue.Queue()\nq.get()"
        plumbing = (frame("threading.py", "wait"), frame("queue.py", "get"))
        yield stuck_in(source, 2, *plumbing, waits_in="futex_do_wait")
        # The thread that was to fill the queue has failed.
        yield _failed("q.put(float(x))", "q.get()", *plumbing, waits_in="futex_do_wait")
        yield _failed("q.put(float(x))", "while not q.qsize(): time.sleep(1)")
        # A second thread waits for the lock that this one holds.
        source = "def other():\n    with b:\n        with a: pass\nt.start()\nwith a:\n    with b: pass"
        other = thread(own_frame(source, 3, "other"), waits_in="futex_wait_queue", main=False)
        yield stuck_in(source, 6, waits_in="futex_wait_queue", threads=[other])
        # The workers of a spawned context failed at their start: the function is not in any module.
        gone = [child(900 + number, exit_code=1) for number in range(2)]
        plumbing = (frame("multiprocessing/connection.py", "_recv"), frame("multiprocessing/queues.py", "get"))
        yield stuck_in("results = [q.get() for _ in ps]", 1, *plumbing, waits_in="pipe_read", gone=gone)
        # A worker of a Pool was killed: its task is lost, and map() waits for it.
        killed = [child(900, signal="SIGKILL")]
        yield stuck_in("pool.map(f, x)", 1, *IN_MAP, waits_in="futex_wait_queue", children=[_IDLE], gone=killed)
        # A program that writes more than a pipe holds, before wait(); and two that both write, or both read.
        writer = child_state(900, forked=False, name="du", waits_in="anon_pipe_write")
        yield stuck_in("code = p.wait()", 1, *IN_RUN, waits_in="do_wait", children=[writer])
        shell = child_state(901, forked=False, name="sh", waits_in="do_wait")
        yield stuck_in("code = p.wait()", 1, *IN_RUN, waits_in="do_wait", children=[shell, writer])
        asks = child_state(900, forked=False, name="sort", waits_in="pipe_read")
        yield stuck_in("p = Popen(c, stdin=PIPE)\np.wait()", 2, *IN_RUN, waits_in="do_wait", children=[asks])
        yield stuck_in("p.stdin.write(rows)", 1, waits_in="pipe_write", children=[writer])
        yield stuck_in("p.stdout.read()", 1, waits_in="pipe_read", children=[asks])
        yield stuck_in("os.mkfifo(path)\nout = open(path, 'w')", 2, waits_in="wait_for_partner")
        opening = frame("h5py/_hl/files.py", "make_fid", library=True)
        yield stuck_in("h5py.File(p)", 1, opening, waits_in="flock_lock_inode_wait")
        yield stuck_in("work()", 1, state="T", waits_in="do_signal_stop")
        yield stuck_in("with self.lock: save()", 1, waits_in="0")
        yield stuck_in("signal.alarm(9)\nf()\nsignal.alarm(0)\ndone.wait()", 4, *_WAITS, waits_in="futex_wait_queue")
        # A process does not end before all it put into a queue has been taken out, and join() takes nothing.
        feeding = (frame("threading.py", "join"), frame("multiprocessing/queues.py", "_finalize_join"))
        child_full = child_state(900, *feeding, waits_in="futex_wait_queue")
        yield stuck_in("p.join()\nrows = q.get()", 1, *IN_JOIN, waits_in="do_wait", children=[child_full])
        # The kernel holds the other end of the pipe itself: the end of the process is no end of the data.
        plumbing = (frame("multiprocessing/connection.py", "_recv"), frame("multiprocessing/connection.py", "recv"))
        yield stuck_in("rows.append(r.recv())", 1, *plumbing, waits_in="pipe_read")
        # Workers that were started anew show no stack: one reads the pipe of tasks, the others wait for their turn.
        anew = [child_state(900, forked=False, waits_in="pipe_read"), child_state(901, forked=False, waits_in="futex")]
        yield stuck_in("pool.map(f, x)", 1, *IN_MAP, waits_in="futex_wait_queue", children=anew)

        # The thread that takes the results of a pool in has ended; the others go on.
        loops = [frame("multiprocessing/pool.py", name) for name in ("_handle_workers", "_handle_tasks")]
        left = [thread(one, waits_in="futex_wait_queue", main=False) for one in loops]
        gets: dict[str, Any] = {"waits_in": "futex_wait_queue", "children": [_IDLE]}
        yield stuck_in("pool.map(f, x)", 1, *IN_MAP, threads=left, **gets)
        bad = "class Bad(Exception):\n    def __init__(self, row, why):\n        super().__init__(f'{row}: {why}')\n"
        looks = at_work(bad + "pool.map(f, x)", 4, *IN_MAP, **_AT_REST)
        yield recording(bad + "pool.map(f, x)", alive=True, memory=_STEADY, stacks=looks)
        yield from (recording(one, alive=True, memory=_STEADY, stacks=looks) for one, looks in _BUSY)
        sends = frame("multiprocessing/connection.py", "_send")
        both: dict[str, Any] = {
            "waits_in": "sock_alloc_send_pskb",
            "children": [child_state(900, sends, waits_in="sock_alloc_send_p")],
        }
        yield stuck_in("there.send(rows)", 1, sends, **both)
        opened = "import sqlite3\na, b = sqlite3.connect(p), sqlite3.connect(p, timeout=900)"
        written = f"{opened}\na.execute('delete from t')\nb.execute('create table u (x)')"  # noqa: S608
        yield stuck_in(written, 4, waits_in="hrtimer_nanosleep")

    def silent_on(self) -> Recordings:
        """Patience: sleep, input, network, a program or a thread at work, a time limit, a timer; and it went on."""
        yield stuck_in("time.sleep(600)", 1, waits_in="hrtimer_nanosleep")
        yield stuck_in("time.sleep(600)", 1, waits_in=None)
        yield recording(
            "pool.map(f, x)", alive=True, memory=_STEADY, stacks=at_work("pool.map(f, x)", 1, *IN_MAP, **_AT_REST)
        )
        waits = "a.execute('create table u (x)')"
        for first in (
            "a = sqlite3.connect(p)\n",
            "a, b = connect(), connect()\nb.execute('delete from t')\nb.commit()\n",
        ):
            source = f"import sqlite3\n{first}{waits}"
            yield stuck_in(source, source.count("\n") + 1, waits_in="hrtimer_nanosleep")
        sends = frame("multiprocessing/connection.py", "_send")
        reads = child_state(900, frame("socket.py", "recv"), waits_in="wait_woken")
        yield stuck_in("there.send(rows)", 1, sends, waits_in="sock_alloc_send_pskb", children=[reads])
        asking = frame("ipykernel/kernelbase.py", "_input_request", library=True)
        poll = frame("zmq/sugar/poll.py", "poll", library=True)
        yield stuck_in("name = input()", 1, poll, asking, waits_in="do_poll")
        yield stuck_in("requests.get(url)", 1, frame("socket.py", "readinto"), waits_in="wait_woken")
        program = child_state(900, forked=False, name="rsync", waits_in="do_select")
        yield stuck_in("subprocess.run(command)", 1, *IN_RUN, waits_in="do_wait", children=[program])
        reader = child_state(901, forked=False, name="sort", waits_in="pipe_read")
        yield stuck_in("subprocess.run(command)", 1, *IN_RUN, waits_in="do_wait", children=[program, reader])
        writer = child_state(900, forked=False, name="du", waits_in="pipe_write")
        yield stuck_in("p.wait(timeout=900)", 1, *IN_RUN, waits_in="do_wait", children=[writer])
        yield stuck_in("size = load(page)", 1, frame("socket.py", "recv"), waits_in="wait_woken", children=[writer])
        source = "def fetch():\n    time.sleep(99)\nt.start()\nt.join()"
        fetching = thread(own_frame(source, 2, "fetch"), waits_in="hrtimer_nanosleep", main=False)
        yield stuck_in(source, 4, frame("threading.py", "join"), waits_in="futex_wait_queue", threads=[fetching])
        # The tasks come from a generator of the cell, which the pool runs in a thread of its own.
        source = "def rows():\n    time.sleep(99)\n    yield 1\nlist(pool.imap(f, rows()))"
        handler = frame("multiprocessing/pool.py", "_handle_tasks")
        fetching = thread(own_frame(source, 2, "rows"), handler, waits_in="hrtimer_nanosleep", main=False)
        getting = (frame("threading.py", "wait"), frame("multiprocessing/pool.py", "next"))
        yield stuck_in(source, 4, *getting, waits_in="futex_wait_queue", threads=[fetching], children=[_IDLE])
        yield stuck_in("stop.wait(600)", 1, *_WAITS, waits_in="futex_wait_queue")
        # A timer, a scheduler, or the signal of a timer may end the wait: nobody has seen for how long they sleep.
        timer = thread(*_WAITS, frame("threading.py", "run"), waits_in="futex_wait_queue", main=False)
        scheduler = (*_WAITS, frame("apscheduler/schedulers/blocking.py", "_main_loop", library=True))
        other = thread(*scheduler, waits_in="futex_wait_queue", main=False)
        for one in (timer, other):
            yield stuck_in("done.wait()", 1, *_WAITS, waits_in="futex_wait_queue", threads=[one])
        yield stuck_in("scheduler.start()", 1, *scheduler, waits_in="futex_wait_queue")
        source = "import signal\nsignal.signal(signal.SIGALRM, tell)\nsignal.alarm(900)\ndone.wait()"
        yield stuck_in(source, 4, *_WAITS, waits_in="futex_wait_queue")
        # A thread that failed has to do with something else, or the loop has an end of its own.
        yield from (_failed("rows.append(float(x))", f"{loop}\n    time.sleep(1)") for loop in _LOOPS)
        # Where Linux does not say what it waits for, the code has to: this is a database's, a file's.
        for source in ("with db.cursor() as c: c.execute(q)", "rows = store.get('x')", "with open(f) as h: h.read()"):
            yield stuck_in(source, 1, waits_in="0")
        # A program with threads that waits for the network, one that failed before, one that reads a named pipe.
        java = child_state(900, forked=False, name="java", waits_in="futex_wait_queue")
        yield stuck_in("run(job)", 1, *IN_RUN, waits_in="do_wait", children=[java])
        nothing_found = [child(901, exit_code=1)]
        yield stuck_in("run(grep); run(job)", 1, *IN_RUN, waits_in="do_wait", children=[java], gone=nothing_found)
        yield stuck_in("run(grep); p.wait()", 1, *IN_RUN, waits_in="do_wait", gone=nothing_found)
        cat = child_state(902, forked=False, name="cat", waits_in="anon_pipe_read")
        yield stuck_in("subprocess.run(['cat', fifo])", 1, *IN_RUN, waits_in="do_wait", children=[cat])
        yield stuck_in("rows = open(fifo).read()", 1, waits_in="anon_pipe_read")
        yield stuck_in("rows = open(fifo).read()", 1, waits_in="wait_for_partner")
        yield stuck_in("lock.acquire()", 1, waits_in="futex_wait_queue", over=True)
        yield from (recording("f()", alive=True), recording("f()", signal="SIGKILL"))


def _failed(does: str, waits: str, *inner: Frame, waits_in: str = "hrtimer_nanosleep") -> Recording:
    """Make the recording of a cell that waits after a thread of its own has failed."""
    source = f"def read():\n    {does}\nt = threading.Thread(target=read)\n{waits}"
    error = ThreadError(-40.0, "ValueError", (own_frame(source, 2, "read"),))
    return stuck_in(source, source.count("\n") + 1, *inner, waits_in=waits_in, thread_errors=[error])


def _failed_threads(still: StuckCell) -> Iterator[Evidence]:
    for one in islice(failed_threads(still.recording, still.frames), _MOST_THREADS):
        yield Evidence(f"The thread of {one.told(still.frames)}.", one.error, None, "threading.excepthook")


def _ruled_out(still: StuckCell) -> Iterator[str]:
    if still.main.kind != "memory":
        yield "Not a shortage of memory: nothing in the kernel waits for memory to become free."
    if not still.blocked_forks:
        yield "Not a fork with a lock held: no copy of the kernel waits for a lock."
