import re
from collections.abc import Iterable

from jupyter_kerneldoctor.recording.events import Child

from ..analysis.failed_children import failed_children, how_they_ended
from ..analysis.last_look import written
from ..analysis.stuck_cell import BlockedChild, StuckCell
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote
from ..examples import recording
from ..examples.stuck import IN_JOIN, IN_MAP, IN_RUN, child, child_state, frame, own_frame, stuck_in
from ..texts import stuck_cell
from ..units import cell_name

_SAID = re.compile(r"^[^\n]*fork\(\) called from a process already using GNU OpenMP[^\n]*", re.MULTILINE)
_CUDA = re.compile(r"Cannot re-initialize CUDA in forked subprocess")
_SERIES = 3
"""So many workers in a row that end in the same way: they are started again and again."""


class ForkUnsafe(Cause):
    """Worker processes were made as copies of the running kernel (a fork), and the copies cannot work.

    What it means: A fork copies the memory of a process, but only one of its threads. If another thread held a lock at
    that moment, it is never released in the copy. A library with threads of its own (OpenMP in NumPy, PyTorch or numba,
    CUDA, gRPC, polars) believes that they are there. The worker waits or ends itself, and the kernel waits for the
    worker.

    How it is recognised: The cell does nothing, copies of the kernel below it wait for a lock, and the kernel waits for
    them. Or workers end themselves one after another, and GNU OpenMP says why. Workers that wait for their next task,
    or in the locks and queues of multiprocessing itself, do not count.

    What to do: Interrupt the kernel. Start the workers anew instead of as copies:
    `multiprocessing.get_context("spawn")` with the function in a file of its own (a module), or `joblib.Parallel`,
    which does that and takes functions of a cell, too. Do not start threads, and do not compute with such a library,
    before the workers are made.

    Example: `multiprocessing.get_context("fork").Pool(2).map(f, data)`, after PyTorch has computed something in the
    kernel.
    """

    id, title, family = "fork-unsafe", "Worker processes copied from a kernel with threads", Family.STUCK
    incidents = frozenset({"cuda-error"})
    last_words = (r"fork\(\) called from a process already using GNU OpenMP",)

    def judge(self, death: Death) -> CauseFinding | None:
        if death.ended is not False or death.recording.running_cell is None or death.stopped_early:
            return None
        still, failed, told = death.stuck_cell, failed_children(death.recording), _told(death)
        is_series = len(failed) >= _SERIES
        if told is not None and (is_series or still is not None):
            return self._stuck(death, Certainty.PROVEN, "end at once", (told, *how_they_ended(failed)))
        if still is not None and still.blocked_forks:
            name = still.name_of(still.blocked_forks[0])
            what = f"hang in {name}" if name is not None else "hang"
            return self._stuck(death, _certainty(still), what, (_blocked(still.blocked_forks),))
        if is_series and still is not None and _ended_themselves(failed, still):
            return self._stuck(death, Certainty.LIKELY, "end at once", how_they_ended(failed))
        return None

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Explain a worker that could not use the graphics card."""
        said = incident.signature or ""
        if not _CUDA.search(said):
            return None
        return self.finding(
            death,
            Certainty.PROVEN,
            f"A forked worker tried to use the graphics card {death.where()}; only the kernel may.",
            (Evidence(f"PyTorch said: {quote(said, 120)}.", None, None, incident.error),),
        )

    def _stuck(self, death: Death, certainty: Certainty, what: str, shown: Iterable[Evidence]) -> CauseFinding:
        cell, still = death.recording.running_cell, death.stuck_cell
        name = cell_name(cell.execution_count if cell is not None else None)
        at, line = (still.at(), still.line) if still is not None else ("", None)
        return self.finding(
            death,
            certainty,
            f"The kernel is stuck in {name}{at}: its forked worker processes {what}.",
            (*shown, *stuck_cell.evidence(still)),
            ruled_out=("Not slow work: none of the processes used any processor time.",) if still is not None else (),
            line=line,
            summary="Running, but stuck",
        )

    def fires_on(self) -> Recordings:
        """Copies that wait for a held lock, in an OpenMP library, in the log's lock; and those that end themselves."""
        source = "def work(x):\n    with lock: return x\nwith ctx.Pool(2) as p:\n    p.map(work, range(2))"
        worker = (frame("multiprocessing/pool.py", "mapstar"), frame("multiprocessing/pool.py", "worker"))
        forks = [child_state(901, own_frame(source, 2, "work"), *worker, waits_in="futex_wait_queue")]
        yield stuck_in(source, 4, *IN_MAP, waits_in="futex_wait_queue", children=forks)
        conv = (frame("torch/nn/modules/conv.py", "_conv_forward", library=True),)
        forks = [child_state(901, *conv, own_frame("train()", 1, "train"), waits_in="futex_do_wait")] * 2
        yield stuck_in("for p in ps: p.join()", 1, *IN_JOIN, waits_in="do_wait", children=forks)
        log = (frame("threading.py", "acquire"), frame("logging/__init__.py", "acquire"))
        forks = [child_state(9, *log, waits_in="futex_wait_queue")]
        yield stuck_in("p.join()", 1, *IN_JOIN, waits_in="do_wait", children=forks)
        # numba/np/ufunc/omppool.cpp writes this, and raises SIGTERM
        said = "Terminating: fork() called from a process already using GNU OpenMP, this is unsafe.\n"
        gone = [child(900 + number, signal="SIGTERM") for number in range(6)]
        yield stuck_in("p.map(g, x)", 1, *IN_MAP, waits_in="futex_wait_queue", gone=gone, output=said * 6)
        yield recording("p.map(g, x)", alive=True, children=gone, output=said * 6)

    def silent_on(self) -> Recordings:
        """Idle workers, workers at work, another program, and a queue that the workers wait for themselves."""
        idle = (frame("multiprocessing/synchronize.py", "__enter__"), frame("multiprocessing/queues.py", "get"))
        idlers = [child_state(901, *idle, frame("multiprocessing/pool.py", "worker"), waits_in="futex_wait_queue")]
        yield stuck_in("p.map(f, x)", 1, *IN_MAP, waits_in="futex_wait_queue", children=idlers)
        sleeping = [child_state(901, own_frame("def f(): time.sleep(99)", 1, "f"), waits_in="hrtimer_nanosleep")]
        yield stuck_in("p.map(f, x)", 1, *IN_MAP, waits_in="futex_wait_queue", children=sleeping)
        program = [child_state(901, forked=False, name="ffmpeg", waits_in="futex_wait_queue")]
        yield stuck_in("subprocess.run(c)", 1, *IN_RUN, waits_in="do_wait", children=program)
        full = (frame("threading.py", "join"), frame("multiprocessing/queues.py", "_finalize_join"))
        feeding = [child_state(901, *full, waits_in="futex_wait_queue")]
        yield stuck_in("p.join()", 1, *IN_JOIN, waits_in="do_wait", children=feeding)
        yield recording("p.map(g, x)", alive=True, idle=True)
        # Whoever closes a pool, or ends programs, sends the same signal as GNU OpenMP.
        ended = [child(900 + number, signal="SIGTERM") for number in range(4)]
        yield stuck_in("for p in ps: p.terminate()\ntime.sleep(600)", 2, waits_in="hrtimer_nanosleep", gone=ended)
        asking = (frame("ipykernel/kernelbase.py", "_input_request", library=True),)
        yield stuck_in("with Pool(4) as p: p.map(f, x)\ninput()", 2, *asking, waits_in="do_poll", gone=ended)
        yield stuck_in("q.map(f, x)", 1, *IN_MAP, waits_in="futex_wait_queue", children=sleeping, gone=ended)


def _ended_themselves(failed: tuple[Child, ...], still: StuckCell) -> bool:
    """Whether they may have sent themselves what ends them: a pool that is closed sends the same, and so do people."""
    waits = still.main.works_with_processes and not still.children_at_work
    return waits and all(one.signal == "SIGTERM" for one in failed)


def _told(death: Death) -> Evidence | None:
    """Return what GNU OpenMP writes in a copy before it ends it."""
    found = _SAID.search(written(death.recording))
    if found is None:
        return None
    return Evidence(f"The worker wrote: {quote(found[0], 120)}.", None, None, "the process's output")


def _certainty(still: StuckCell) -> Certainty:
    """Return how sure it is: most where the copy's stack shows the wait, the kernel waits for it and nobody works."""
    seen = any(one.waiting.frames for one in still.blocked_forks)
    waits_for_its_own_threads = all(one.waiting.waits_for_threads for one in still.blocked_forks)
    doubts = (not still.main.waits_for_processes, bool(still.children_at_work), waits_for_its_own_threads)
    return (Certainty.STRONG if seen else Certainty.LIKELY).lowered(sum(doubts))


def _blocked(blocked: tuple[BlockedChild, ...]) -> Evidence:
    count = len(blocked)
    who = "A copy of the kernel (a fork) waits" if count == 1 else f"{count} copies of the kernel (forks) wait"
    told = f"{who} for a lock. The thread that holds it does not exist in the copy, so it is never released."
    return Evidence(told, count, "processes", "stack")
