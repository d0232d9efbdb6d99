"""The usual reasons for an end of which only the way is known, each with the check that would tell.

They name what this user has: the call, its arguments, the library, the process, the second.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from ..code.trees import unparse, walk
from ..death import Death
from ..pasted_commands import distribution
from ..postmortem import Reason
from ..units import quote

_MOST = 3
_AROUND = timedelta(seconds=30)
_IMPORTED = re.compile(r"\bimport\s+([^\n;]+)")

_MEMORY_SERVICE = "A service that watches over memory (systemd-oomd, earlyoom) may have ended it: memory was short."
_UNCOUNTED = "Linux may have killed it because memory ran out. Nothing here counts such kills."
_RESTARTED = "You, or what runs the notebook, may have restarted or stopped it. Nothing records that here."
_DAMAGE = Reason(
    "Code that ran before may have damaged the memory. With these checks it stops where that happens.",
    "PYTHONMALLOC=debug MALLOC_CHECK_=3 jupyter lab",
)
_BATCH = Reason("A batch system may have sent it before the job's time ended.", "scontrol show job $SLURM_JOB_ID")

_OF_SIGNALS = {
    "SIGALRM": (Reason("A library may have started a timer.", "import signal; signal.getitimer(signal.ITIMER_REAL)"),),
    "SIGVTALRM": (
        Reason("A library may have started a timer.", "import signal; signal.getitimer(signal.ITIMER_VIRTUAL)"),
    ),
    "SIGPROF": (Reason("A profiler may still be on.", "import signal; signal.getitimer(signal.ITIMER_PROF)"),),
    "SIGPIPE": (
        Reason(
            "A library may have set the signal back to its default; Python ignores it.",
            "import signal; signal.getsignal(signal.SIGPIPE)  # Handlers.SIG_DFL after which import?",
        ),
    ),
    "SIGXFSZ": (Reason("A file may have reached the limit of its size.", "!ulimit -f"),),
    "SIGSYS": (Reason("A sandbox may forbid this system call.", "!grep Seccomp /proc/self/status  # 2: a filter"),),
    "SIGTRAP": (
        Reason("Compiled code may have reached what its compiler held impossible.", "gdb -p PID -ex continue"),
    ),
    "SIGXCPU": (_BATCH, Reason("A limit for processor time may be set.", "!ulimit -t")),
    "SIGUSR1": (_BATCH,),
    "SIGUSR2": (_BATCH,),
}


def log_around(death: Death) -> str | None:
    """Return a command that shows what the system's log says around the end; None where the time is not known."""
    window = _window(death)
    pid = death.recording.kernel.process.pid
    return None if window is None else f'journalctl {window} | grep -iE "{pid}|kill|oom|evict"'


def of_a_crash(death: Death) -> tuple[Reason, ...]:
    """Return why native code may have used an invalid address, or may have given up on itself."""
    return tuple(dict.fromkeys(_of_a_crash(death)))[:_MOST]


def of_an_abort(death: Death) -> tuple[Reason, ...]:
    """Return why a program may have aborted itself."""
    found = []
    if death.farewell is None and death.recording.kernel.loaded_by == "server":
        told = "The library may have said why; only a kernel that loads KernelDoctor keeps that."
        found.append(Reason(told, "%load_ext kerneldoctor  # in the first cell, then run the notebook again"))
    return (*found, *of_a_crash(death))[:_MOST]


def of_a_signal_from_outside(death: Death) -> tuple[Reason, ...]:
    """Return who may have sent the signal."""
    return tuple(_senders(death))[:_MOST]


def of_an_unhandled_signal(death: Death) -> tuple[Reason, ...]:
    """Return who may have sent a signal that nothing handled."""
    known = _OF_SIGNALS.get(death.signal or "", ())
    pid = str(death.recording.kernel.process.pid)
    own = tuple(Reason(one.text, one.check.replace("PID", pid)) for one in known)
    log = log_around(death)
    if log is None or (known and _BATCH not in known):
        return own
    return (*own, Reason("A person, a script or a service may have sent it.", log))


def of_an_exit(death: Death) -> tuple[Reason, ...]:
    """Return what may have ended the process without a call in the cell."""
    trace = "import os, traceback; os._exit = lambda code: traceback.print_stack()"
    found = [
        Reason("Python code of a library may have called `os._exit`. This shows where.", trace),
        Reason(
            "Native code may have called `exit`. This shows where; it needs strace.",
            "!strace -f -k -e trace=exit_group -o exit.txt -p $PPID &  # in the first cell",
        ),
    ]
    if death.status.exit_code == 1:
        gone = "The program that had started the kernel may have been gone: a kernel then leaves with exit code 1."
        found.insert(0, Reason(gone, "ps -eo pid,lstart,cmd | grep -i [j]upyter"))
    return tuple(found)


def of_an_illegal_instruction(death: Death) -> tuple[Reason, ...]:
    """Return why a processor that knows the usual instructions may have met one that it does not."""
    package = _package(death)
    found = [
        Reason(
            "The library may be built for a newer processor than this one.",
            "!grep -o -w -E 'avx|avx2|fma|avx512[a-z]*' /proc/cpuinfo | sort -u",
        )
    ]
    if (name := distribution(package)) is not None:
        again = f"%pip install --force-reinstall --no-cache-dir {name}"
        found.append(Reason(f"The files of {package} may be damaged.", again))
    trap = "Compiled code may have reached what its compiler held impossible, as after damage to the memory."
    return (*found, Reason(trap, _DAMAGE.check))


def _of_a_crash(death: Death) -> Iterator[Reason]:
    package, names, code = _package(death), _arguments(death), _code(death)
    called, is_by_hand = _called(death), package is None or package in ("numba", "llvmlite")
    if is_by_hand and called is not None and death.find(lambda read: read.imports("ctypes")):
        names = [name for name in names if name != called.partition(".")[0]]
        yield _of_ctypes(called, names, is_declared=f"{called.rpartition('.')[2]}.argtypes" in code)
    if is_by_hand and death.find(lambda read: read.imports("numba")):
        bounds = "An index may have been beyond the end of an array; compiled code does not check that."
        yield Reason(bounds, "%env NUMBA_BOUNDSCHECK=1  # in the first cell: the line then raises IndexError")
    if death.background is not None:
        yield Reason("Two threads may have used the library at the same time.", "max_workers=1  # or one thread")
    if "as_strided" in code:
        view = names[0] if names else "view"
        told = "A view made with `as_strided` may reach beyond its array."
        yield Reason(told, f"print({view}.shape, {view}.strides, {view}.base.nbytes)")
    if re.search(r"\b(?:frombuffer|from_buffer|memoryview|from_address)\s*\(", code):
        view = names[0] if names else "view"
        yield Reason("The memory under a buffer may have been freed or moved.", f"print({view}.base)  # who keeps it?")
    if names:
        caller = f"{package} does" if package is not None else "native code does"
        checks = ", ".join(f'type({name}), getattr({name}, "shape", None)' for name in names[:2])
        yield Reason(f"An argument may be one that {caller} not check.", f"print({checks})")
    if package is not None:
        told = f"This version of {package} may have a fault, or not fit the packages beside it."
        name = distribution(package)
        then = f"  # then: %pip install --upgrade {name}" if name is not None else ""
        yield Reason(told if then else f"{told} Upgrade {package}.", f"%pip check{then}")
    yield _DAMAGE


def _of_ctypes(called: str, names: list[str], *, is_declared: bool) -> Reason:
    if called.startswith("ctypes."):
        address = f"print(hex({names[0]}))" if names else "print(hex(ctypes.addressof(buffer)))"
        return Reason("The address may be that of no living object.", f"{address}  # compare with what was passed")
    if is_declared:
        told = "A pointer may be NULL, which prints as 0 or None: C functions return it when they fail."
        return Reason(told, f"print({', '.join(names[:2]) or '...'})")
    told = f"{quote(called)} may have arguments or a result of other types than int, and they are not declared."
    return Reason(told, f"print({called}.argtypes, {called}.restype)  # None: not declared")


def _senders(death: Death) -> Iterator[Reason]:
    kills, pressure, log = death.memory.kills, death.memory_pressure, log_around(death)
    pid, host = death.recording.kernel.process.pid, death.recording.kernel.hostname or ""
    if death.signal == "SIGKILL" and kills is None:
        yield Reason(_UNCOUNTED, f'sudo dmesg -T | grep -i "killed process {pid}"')
    if pressure.is_low or pressure.is_pressed:
        yield Reason(_MEMORY_SERVICE, f"journalctl -u systemd-oomd -u earlyoom {_window(death) or ''}".rstrip())
    if death.signal == "SIGHUP":
        yield Reason("A terminal or a login session may have been closed.", "last -F -n 5")
    if not death.server_watched:
        yield Reason(_RESTARTED, "jupyter server extension list  # is jupyter_kerneldoctor enabled?")
    groups = " ".join(limit.source for limit in death.recording.limits)
    if job := re.search(r"slurm.{0,200}?/job_(\d+)", groups):
        told = "The batch system may have ended the job at its time or memory limit."
        yield Reason(told, f"sacct -j {job[1]} -o JobID,State,Elapsed,MaxRSS")
    elif "kubepods" in groups:
        pod = host if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", host) else ""
        yield Reason("The cluster may have moved or stopped the pod.", f"kubectl describe pod {pod}".rstrip())
    if log is not None:
        yield Reason("A person, a script or a service may have sent it.", log)
    told = "What starts your kernels may have a time limit, as `timeout`, a runner or a scheduler has."
    yield Reason(told, "!ps -o cmd= -p $(ps -o ppid= -p $PPID)  # in a new kernel")


def _window(death: Death) -> str | None:
    end = death.recording.end
    try:
        died = None if end is None else datetime.fromtimestamp(end.wall_s, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return None
    if died is None:
        return None
    since, until = (f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in (died - _AROUND, died + _AROUND))
    return f'--since "{since}" --until "{until}"'


def _package(death: Death) -> str | None:
    """Return the library in whose function it crashed, else a known one that made what the line works with."""
    frame = death.innermost
    if frame is not None and "-packages" in frame.file:
        return frame.module
    types = (death.recorded_types.get(name, "").partition(".")[0] for name in _arguments(death))
    return next((one for one in types if distribution(one) is not None), None)


def _code(death: Death) -> str:
    return "\n".join(cell.source for cell in death.recording.cells)


def _statement(death: Death) -> ast.AST | None:
    at = death.find(lambda _: death.statement_at(death.line))
    try:
        return None if at is None else ast.parse(textwrap.dedent(at.source or ""))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _called(death: Death) -> str | None:
    """Return the function that the line calls, as the user writes it: `lib.total`."""
    tree = _statement(death)
    calls = [node for node in walk(tree) if isinstance(node, ast.Call)] if tree is not None else []
    own = [call.func for call in calls if isinstance(call.func, ast.Attribute | ast.Name)]
    try:
        return unparse(own[0]) if own else None
    except RecursionError:
        return None


def _arguments(death: Death) -> list[str]:
    """Return the variables in the line, in their order: no functions, no modules."""
    tree = _statement(death)
    if tree is None:
        return []
    nodes = list(walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    imported = {name for found in _IMPORTED.findall(_code(death)) for name in re.findall(r"\w+", found)}
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    names.sort(key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(one.id for one in names if id(one) not in called and one.id not in imported))
