from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ..analysis.environment import Environment
from ..analysis.incident_site import that_it_was_raised
from ..analysis.memory_refusals import without_room_for_a_stack
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, size
from ..conflicts import by_words
from ..examples import cell_file, crash_report, recording
from ..units import of_size

_NEAR = 0.9
_LARGE_STACK_BYTES = 1 << 30


class ThreadLimit(Cause):
    """No more threads or processes could be started, because a limit was reached.

    What it means: Containers and batch systems limit how many threads and processes may exist at once. Those of the
    Jupyter server and of all its kernels count, too. Numerical libraries start a thread for each processor of the
    machine, even where the container may not use it. The error often looks like something else: "can't start new
    thread", a `KeyboardInterrupt` that nobody pressed (OpenBLAS interrupts the program), or an abort.

    How it is recognised: By the last words: "pthread_create failed", "Thread creation failed", "Resource temporarily
    unavailable" with a thread (pthread_create(3), EAGAIN). Or an error of that kind was raised, which the kernel
    survives. The limit is named where it is known: that of the container (the control group's pids.max), that of the
    user (getrlimit(2), RLIMIT_NPROC, `ulimit -u`). Where the address space (RLIMIT_AS, `ulimit -v`) is nearly full, in
    which each thread reserves its stack, and no number is reached, "can't start new thread" is memory that was refused.

    What to do: Start fewer threads: `ThreadPoolExecutor(max_workers=8)`, and join those that are done. Limit the
    libraries before you import them: `OPENBLAS_NUM_THREADS`, `OMP_NUM_THREADS`, `POLARS_MAX_THREADS`. Shut down kernels
    that you do not use. Have the limit raised (`docker run --pids-limit`, `ulimit -u`).

    Example: 400 threads in a container that allows 60.
    """

    id, title, family = "thread-limit", "No more threads could be started", Family.LIMIT
    incidents = frozenset({"no-threads", "interrupted-by-openblas", "no-memory-for-process"})
    warnings = (r"OpenBLAS blas_thread_init: pthread_create failed",)
    last_words = (
        r"libgomp: Thread creation failed",
        r"OMP: (?:Error #34: System unable to allocate|System error #11)",
        r"Check failed: re[ts] == 0 \(11 vs\. 0\).*pthread_create",
        r"terminate called after throwing .*'std::system_error'\s+what\(\):.*Resource temporarily unavailable",
        r"(?:failed to spawn thread|ThreadPoolBuildError).*(?:code: 11|WouldBlock)",
        r"(?<!blas_thread_init: )pthread_create(?:\(\))? failed.*(?:Resource temporarily unavailable|EAGAIN|error 11)",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        words = death.said(self.id)
        if not death.is_unasked_end or words is None:
            return None
        reached = _reached(death.environment)
        # Libraries that give up abort or leave; OpenBLAS goes on after its words, and may crash of something else.
        said = Certainty.POSSIBLE if death.signal == "SIGSEGV" else Certainty.STRONG
        otherwise = Certainty.LIKELY if reached else Certainty.WEAK
        return self.finding(
            death,
            by_words(death, Certainty.PROVEN if reached else said, otherwise),
            _headline(death),
            (words.evidence, *_counts(death.environment)),
            summary="Ended: no more threads",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Name the limit behind a thread that could not be started."""
        reached = _reached(death.environment)
        if incident.kind == "no-memory-for-process" and not reached:
            return None
        if incident.kind == "no-threads" and without_room_for_a_stack(death.environment):
            reached = _counted(death.environment)
            if not reached:
                return None  # memory was refused to it
        by_openblas = " by the numerical library OpenBLAS (nobody pressed a key)"
        raised = that_it_was_raised(incident, by_openblas if incident.kind == "interrupted-by-openblas" else "")
        return self.finding(
            death,
            Certainty.PROVEN if reached else Certainty.STRONG,
            _headline(death),
            (raised, *_counts(death.environment)),
            summary="No more threads could be started",
        )

    def fires_on(self) -> Recordings:
        """TensorFlow, the C++ library, GNU's OpenMP which leaves, and Rust."""
        cell = "import tensorflow as tf\ndata.map(f, num_parallel_calls=64)"
        report = crash_report("Aborted", (cell_file(cell), 2, "<module>"))
        tf = "F env.cc:74] Check failed: ret == 0 (11 vs. 0)Thread tf_data creation via pthread_create() failed.\n"
        full = SystemState(-0.2, "changed", pids_current=100, pids_limit=100, threads=88)
        yield recording(cell, signal="SIGABRT", crash=report, output=tf, system_states=[full])
        thrown = "terminate called after throwing an instance of 'std::system_error'\n  what():  "
        cpp = thrown + "Resource temporarily unavailable\n"
        limited = SystemState(-0.2, "changed", rlimits={"NPROC": Rlimit(64, 64)}, threads=64)
        yield recording("model.fit(x)", signal="SIGABRT", output=cpp, system_states=[limited])
        gnu = "\nlibgomp: Thread creation failed: Resource temporarily unavailable\n"
        yield recording("model.fit(x)", exit_code=1, output=gnu, server="watched")
        rust = "failed to spawn thread: Os { code: 11, kind: WouldBlock }\n"
        yield recording("pl.read_csv(p)", signal="SIGABRT", output=rust)

    def silent_on(self) -> Recordings:
        """The limit reached beside a crash of another kind, another exception, and a run that went on for a while."""
        full = SystemState(-0.2, "changed", pids_current=100, pids_limit=100)
        yield recording("f()", signal="SIGSEGV", system_states=[full])
        other = "terminate called after throwing an instance of 'std::system_error'\n  what():  Permission denied\n"
        yield recording("f()", signal="SIGABRT", output=other, system_states=[full])
        warned = "OpenBLAS blas_thread_init: pthread_create failed: Resource temporarily unavailable\n"
        yield recording("f()", signal="SIGABRT", output=f"{warned}python: a.cpp:8: step(): Assertion `n > 0' failed.\n")


def _headline(death: Death) -> str:
    """Name the limit that was reached; else one that may have been reached a moment after the last look."""
    allowed = death.environment.known.pids_limit
    limit = _reached(death.environment) or ("" if allowed is None else f"{allowed} may exist here")
    return f"No more threads or processes could be started {death.where()}{limit and f': {limit}'}."


def _reached(state: Environment) -> str:
    """Name the limit that was seen to be reached; "" where none was."""
    space = _full_address_space(state)
    return _counted(state) or ("" if space is None else f"its address space of {size(space)} was nearly full")


def _counted(state: Environment) -> str:
    """Name the limit on the number of threads that was seen to be reached; "" where none was."""
    current, allowed = state.known.pids_current, state.known.pids_limit
    if current is not None and allowed is not None and current >= _NEAR * allowed:
        return f"only {allowed} may exist here"
    limit, threads = state.soft_limit("NPROC"), state.known.threads
    if limit is not None and threads is not None and threads >= _NEAR * limit:
        return f"this user may have only {limit}"
    return ""


def _full_address_space(state: Environment) -> int | None:
    """Return the limit of the address space, if what is left below it can be too little for another thread's stack."""
    limit, used = state.soft_limit("AS"), state.known.address_space_bytes
    if limit is None or used is None:
        return None
    return limit if used >= max(_NEAR * limit, limit - _LARGE_STACK_BYTES) else None


def _counts(state: Environment) -> Iterator[Evidence]:
    space, current, limit = _full_address_space(state), state.known.pids_current, state.known.pids_limit
    if space is not None:
        used = of_size(state.known.address_space_bytes or 0, space)
        text = f"The kernel had taken {used} of address space (`ulimit -v`, RLIMIT_AS)."
        yield Evidence(text, space, "bytes", "/proc/PID/limits and /proc/PID/status")
        yield Evidence("Each thread reserves address space for its stack, 8 MiB as a rule.", source="pthread_create(3)")
    if current is not None and limit is not None:
        text = f"{current} processes and threads existed here at the last measurement, of {limit} allowed."
        yield Evidence(text, current, "processes", "pids.current and pids.max")
    limit_of_user, threads = state.soft_limit("NPROC"), state.known.threads
    if limit_of_user is not None and (limit is None or limit_of_user <= limit):
        text = f"This user may have {limit_of_user} processes and threads (`ulimit -u`, RLIMIT_NPROC)."
        yield Evidence(text, limit_of_user, "processes", "/proc/PID/limits")
    if threads is not None:
        yield Evidence(f"The kernel itself had {threads} threads.", threads, "threads", "/proc/PID/status")
