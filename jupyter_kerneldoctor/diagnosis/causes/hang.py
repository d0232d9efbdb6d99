"""`hang`: alive, and never to be done."""

import re
from collections.abc import Iterable, Iterator

from jupyter_kerneldoctor.recording.events import Child
from jupyter_kerneldoctor.recording.model import Recording

from ..analysis.failed_children import failed_children, how_they_ended
from ..analysis.stuck_cell import StuckCell, written
from ..cause import Cause
from ..certainty import Certainty
from ..code.timers import timers
from ..death import Death
from ..examples import recording
from ..examples.stuck import IN_JOIN, IN_MAP, IN_RUN, child, child_state, frame, own_frame, stuck_in, thread
from ..family import Family
from ..postmortem import CauseFinding
from ..units import cell_name

_NOT_FOUND = re.compile(r"AttributeError: Can't get attribute '(\w+)' on <module '__main__'")
"""What a process that was started anew says of a function that is defined in a cell (multiprocessing/spawn.py)."""

_PYTHON = re.compile(r"(?i)python|pypy|ipykernel|loky|^pt_")
"""What a worker is called: as the program it runs, or as PyTorch names its processes."""

_SWITCHED_OFF = re.compile(r"[(,]\s*0(?:\.0*)?\s*\)")
_HANDLES_A_SIGNAL = re.compile(r"\bsignal\s*\(\s*[\w.]*SIG(?!INT|TERM)|\badd_signal_handler\s*\(")

_POOL_WORKER = (frame("multiprocessing/queues.py", "get"), frame("multiprocessing/pool.py", "worker"))
_IDLE = child_state(901, frame("multiprocessing/connection.py", "_recv"), *_POOL_WORKER, waits_in="pipe_read")
_WAITS = (frame("threading.py", "wait"), frame("threading.py", "wait"))


class Hang(Cause):
    """The cell waits for something that will not come; the kernel is alive, but does not answer.

    What it means
    -------------
    Two parts of a program wait for each other, or for a part that has ended: a lock that nobody releases, a result of a
    worker process that is gone, an empty queue that nobody fills. No error is raised, and nothing is computed. It would
    stay so for ever.

    How it is recognised
    --------------------
    For at least ten seconds the cell and all processes it started used no processor time and wrote nothing. The stacks
    of all threads show what each waits for: nobody is left who could end the wait. A `sleep`, an `input()`, a slow
    network or a program at work is no hang: there, somebody is left. A kernel that is asked to end in this state, as by
    a runner that gives up, ends in the ordinary way; the report then lists the hang as survived.

    What to do
    ----------
    Interrupt the kernel (the stop button): most such waits end with a KeyboardInterrupt, and your variables stay. Then
    give the wait a time limit (`queue.get(timeout=60)`, `thread.join(60)`), and look at the line that is named. If a
    worker process has failed, its error stands in the output of the Jupyter server. Functions for processes that are
    started anew (`spawn`) belong in a file of their own, not in a cell.

    Example
    -------
    `results = [queue.get() for _ in workers]`, where each worker failed at its start.
    """

    id = "hang"
    title = "The cell waits for something that will not come"
    family = Family.STUCK

    def judge(self, death: Death) -> CauseFinding | None:
        still = death.stuck_cell
        found = _judge(still, death) if still is not None else None
        if still is None or found is None:
            return None
        certainty, why = found
        cell = still.recording.running_cell
        name = cell_name(cell.execution_count if cell is not None else None)
        return self.finding(
            death,
            certainty,
            f"The kernel is stuck in {name}{still.at()}: {why}.",
            (*how_they_ended(_failed_workers(still)), *still.evidence()),
            ruled_out=_ruled_out(still),
            line=still.line,
            summary="Running, but stuck",
        )

    def fires_on(self) -> Iterable[Recording]:
        """A lock nobody holds any more, an empty queue, workers that are gone, a stopped process, a locked file."""
        yield stuck_in("lock = threading.Lock()\nlock.acquire()\nlock.acquire()", 3, waits_in="futex_wait_queue")
        source = "q = queue.Queue()\nq.get()"
        plumbing = (frame("threading.py", "wait"), frame("queue.py", "get"))
        yield stuck_in(source, 2, *plumbing, waits_in="futex_do_wait")
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

    def silent_on(self) -> Iterable[Recording]:
        """Patience: sleep, input, network, a program or a thread at work, a time limit, a timer; and it went on."""
        yield stuck_in("time.sleep(600)", 1, waits_in="hrtimer_nanosleep")
        yield stuck_in("time.sleep(600)", 1, waits_in=None)
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
        yield stuck_in("lock.acquire()", 1, waits_in="futex_wait_queue", over=True)
        yield recording("f()", alive=True)
        yield recording("f()", signal="SIGKILL")


_Judgement = tuple[Certainty, str]
"""How sure, and why: the rest of the headline."""


def _judge(still: StuckCell, death: Death) -> _Judgement | None:
    """Return how sure it is and why; None where somebody can still end the wait."""
    kind = still.main.kind
    if kind == "stopped":
        return Certainty.PROVEN, "the process was stopped, as by `kill -STOP` or a debugger"
    if _failed_workers(still):
        if (missing := _NOT_FOUND.search(written(still.recording))) is not None:
            why = f"its worker processes failed, as they cannot find `{missing[1]}`, which is only in this notebook"
            return Certainty.PROVEN, why
        return Certainty.STRONG, "it waits for worker processes that have failed"
    if kind in ("memory", "running", "sleep", "input"):
        return None
    if kind == "file-lock":
        return Certainty.LIKELY, "it waits for a file that another process has locked"
    if kind == "disk":
        return Certainty.POSSIBLE, "it waits for a disk or a network drive that does not answer"
    return None if still.main.has_a_timeout or _a_timer_runs(death) else _of_each_other(still)


def _of_each_other(still: StuckCell) -> _Judgement | None:
    if still.main.kind in ("child", "pipe") and still.held_up_by_pipes:
        return _of_pipes(still)
    if not still.nobody_can_end_it:
        return None
    if still.waits_for_what_nobody_reads:
        return (
            Certainty.STRONG,
            "it waits for processes that cannot end before their queue is read, and nobody reads it",
        )
    if still.blocked_by_each_other:
        sure = Certainty.STRONG if still.all_were_seen_to_wait else Certainty.LIKELY
        return sure, "its processes wait for each other"
    return _of_a_lock(still)


def _of_pipes(still: StuckCell) -> _Judgement | None:
    """A pipe holds 64 KiB: who writes more must be read from, and `wait()` does not read (subprocess, Popen.wait)."""
    waits = (still.main, *(child.waiting for child in still.held_up_by_pipes))
    writing = any(one.writes_to_a_pipe for one in waits)
    if still.main.kind == "pipe":
        return Certainty.LIKELY, "it and the process it talks to wait for each other, at the ends of their pipes"
    if writing:
        return Certainty.STRONG, "it waits for a process to end that has filled a pipe, and nobody reads from that pipe"
    if not any("stdin" in cell.source for cell in still.recording.cells):
        return None  # a pipe that the code did not make: somebody else may write to it
    return (
        Certainty.LIKELY,
        "it waits for a process to end that itself waits for input from a pipe, and nobody writes any",
    )


def _of_a_lock(still: StuckCell) -> _Judgement | None:
    kind = still.main.kind
    if still.main.writes_to_a_pipe:
        return Certainty.LIKELY, "it has filled a pipe that nobody reads"
    if kind == "pipe" and not (still.stuck.children or still.main.works_with_processes):
        return None  # a pipe with a name in the file system may be written to by anybody
    if kind == "pipe" and still.main.works_with_processes and still.children_have_ended:
        return Certainty.STRONG, "it waits for data from a pipe, and no process is left that could send any"
    if kind == "pipe" or (kind == "child" and still.stuck.children):
        return Certainty.LIKELY, "it waits for data from a process that sends none"
    if kind != "lock":
        return None
    if still.has_idle_workers:
        return Certainty.LIKELY, "it waits for a result of its worker processes, and these wait for work"
    if still.main.is_native:
        return Certainty.POSSIBLE, f"native code in {still.innermost()} waits for a thread that does nothing"
    if still.main.may_have_a_timeout and not still.others:
        return None
    is_open = still.main.is_guessed or still.main.may_have_a_timeout or _handles_signals(still)
    sure = Certainty.POSSIBLE if is_open else Certainty.STRONG
    if still.others:
        return sure, "it waits for another thread, which waits as well"
    return sure, "it waits for a lock or a signal, and no other thread is left to give it"


def _a_timer_runs(death: Death) -> bool:
    """Whether the signal of a timer will come, which a handler may end the wait on."""
    started = death.find(timers) or ()
    return bool(started) and not _SWITCHED_OFF.search(started[-1].text)


def _handles_signals(still: StuckCell) -> bool:
    """Whether a signal may come that the code has a use for: who sends it, and when, is not known."""
    return any(_HANDLES_A_SIGNAL.search(cell.source) for cell in still.recording.cells)


def _failed_workers(still: StuckCell) -> tuple[Child, ...]:
    """Return the workers that have ended badly, if the kernel waits for workers, and none is at work any more.

    A program that a cell runs may end with an error, as `grep` does where it finds nothing: that is no worker.
    """
    if not still.main.works_with_processes or still.children_at_work:
        return ()
    return tuple(one for one in failed_children(still.recording) if one.name is None or _PYTHON.search(one.name))


def _ruled_out(still: StuckCell) -> Iterator[str]:
    if still.main.kind != "memory":
        yield "Not a shortage of memory: nothing in the kernel waits for memory to become free."
    if not still.blocked_forks:
        yield "Not a fork with a lock held: no copy of the kernel waits for a lock."
