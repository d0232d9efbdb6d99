from collections.abc import Iterable

from jupyter_kerneldoctor.recording.events import Stack, ThreadStack
from jupyter_kerneldoctor.recording.model import Cell

from ..analysis.ending import FROM_OUTSIDE
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..code.ending_calls import EndingCall
from ..code.signal_targets import Sending
from ..examples import MIB, Group, cell_file, crash_report, recording
from ..examples.stuck import own_frame
from ..texts import evidence
from ..units import cell_name

_AT_ONCE_S = 0.5


_SERVERS = """\
import os, subprocess
class Server:
    def __init__(self):
        self.process = subprocess.Popen(['x'])
    def stop(self):
        os.killpg(os.getpgid(self.process.pid), 9)"""


class SelfKill(Cause):
    """The code in the cell sent the deadly signal to its own process.

    What it means: `os.kill(os.getpid(), ...)`, `signal.raise_signal(...)`, `!kill $PPID` and the like end the kernel as
    they end any other process. Some notebooks do it on purpose, to restart the kernel.

    How it is recognised: The running cell holds a call that sends a signal to the kernel's own process, and the process
    was ended by that signal. It is proven when nothing before the call takes time, when the cell ended as soon as it
    began, or when the crash report or a stack shows that line. A call within an `if` or a loop, or behind work that
    takes time, need not have run; it did not where the cell was seen in a later statement. A call that some cell gave
    to a timer, a thread or a handler is likely to be it as well, where nothing else sent the signal. It is less certain
    where the code does not show to which process a call sends the signal (`process.kill()`), and the kernel ended as
    soon as the cell ran. A child that was started without a session of its own is in the kernel's process group:
    `os.killpg` on that group ends both.

    What to do: To restart the kernel, use the Restart command of the Kernel menu. To end only a part of a program,
    leave the function with `return`, or raise an exception.

    Example: `os.kill(os.getpid(), signal.SIGKILL)`
    """

    id, title, family = "self-kill", "The cell ended its own kernel with a signal", Family.OWN_END

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.status.exit_code is not None:
            return None
        if death.cell is not None and death.own_signals:
            return self._by_its_own_calls(death, death.own_signals)
        if death.deferred_calls:
            return self._by_a_deferred_call(death, *death.deferred_calls[-1])
        certainty = _of_sendings(death)
        if certainty is None:
            return None
        sent = death.sendings[-1]
        return self._sent(death, certainty, f"with {quote(sent.text)}", (sends(sent),), sent.line)

    def _by_its_own_calls(self, death: Death, calls: tuple[EndingCall, ...]) -> CauseFinding | None:
        pieces = (_to_itself(call, call.signal or death.signal or "a signal") for call in calls)
        one = len(calls) == 1
        how, line = death.ended_by(calls[0]) if one else "with one of its calls that send a signal", calls[0].line
        return self._sent(death, max(_certainty(call, death) for call in calls), how, pieces, line if one else None)

    def _sent(
        self, death: Death, certainty: Certainty, how: str, pieces: Iterable[Evidence], line: int | None
    ) -> CauseFinding | None:
        if death.cell is None:
            return None
        ended = "ended" if certainty >= Certainty.STRONG else "probably ended"
        if certainty < Certainty.POSSIBLE:
            ended = "may have ended"
        return self.finding(
            death,
            certainty,
            f"The code in {cell_name(death.cell.execution_count)} {ended} its own kernel {how}.",
            (*pieces, *evidence.counts_of_kills(death)),
            line=line,
            summary=f"Ended by its own cell ({death.signal})" if death.signal else None,
        )

    def _by_a_deferred_call(self, death: Death, cell: Cell, call: EndingCall) -> CauseFinding:
        return self.finding(
            death,
            Certainty.WEAK if _was_memory(death) else Certainty.POSSIBLE,
            ended_by_deferred(death, cell, call),
            (gives_away(cell, call), *evidence.counts_of_kills(death)),
            line=call.line if cell is death.cell else None,
            summary=f"Ended by its own notebook ({death.signal})",
        )

    def fires_on(self) -> Recordings:
        """Every way to say it."""
        for cell in (
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            "from os import kill as k, getpid\nfrom signal import SIGKILL\nme = getpid()\nk(me, SIGKILL)",
            "import signal as s\ns.raise_signal(9)",
            "import os\nos.killpg(0, 9)",
            "import os, subprocess\nserver = subprocess.Popen(['x'])\nos.killpg(os.getpgid(server.pid), 9)",
            "import signal, threading\nsignal.pthread_kill(threading.main_thread().ident, 9)",
            "!kill -9 $PPID",
            "%%bash\nkill -KILL $PPID",
            "import os\nos.system(f'kill -9 {os.getpid()}')",
            "import psutil\npsutil.Process().kill()",
        ):
            yield recording("x = 1", cell, signal="SIGKILL", memory=(50 * MIB,), groups=[Group(1 << 30)])
        yield recording(_SERVERS, "for one in servers:\n    one.stop()", signal="SIGKILL", server="watched")
        yield recording("import os\nos.kill(os.getpid(), 15)", signal="SIGTERM", server="watched")
        yield recording("import os\ndef stop():\n    os.kill(os.getpid(), 9)", "stop()", signal="SIGKILL")
        cell = "work()\nos.kill(os.getpid(), 11)"
        crash = crash_report("Segmentation fault", (cell_file(cell), 2, "<module>"))
        yield recording("import os", cell, signal="SIGSEGV", crash=crash)
        watchdog = "import os, threading\nthreading.Timer(9, lambda: os.kill(os.getpid(), 15)).start()"
        yield recording(watchdog, "work()", signal="SIGTERM")
        yield recording(watchdog, signal="SIGTERM", idle=True, server="watched")
        watchdog = "import os\ndef stop(*_):\n    os.kill(os.getpid(), 9)\nsignal.signal(signal.SIGUSR1, stop)"
        yield recording(watchdog, "work()", signal="SIGKILL", server="watched")

    def silent_on(self) -> Recordings:
        """A signal to another process, another signal than the one that came, a definition that is never called."""
        thread = "import os\ndef stop():\n    os.kill(os.getpid(), 9)\nThread(target=stop)"
        yield recording(thread, "f()", signal="SIGTERM")
        worker = "import os\ndef work():\n    os.kill(os.getpid(), 9)\nProcess(target=work).start()"
        yield recording(worker, "f()", signal="SIGKILL")
        yield recording("import os\nos.kill(child.pid, 9)\nwait()", signal="SIGKILL")
        yield recording("import os\nos.kill(os.getpid(), 10)\nf()", signal="SIGKILL")
        yield recording("import os\ndef stop():\n    os.kill(os.getpid(), 9)\nf()", signal="SIGKILL")
        yield recording("text = 'os.kill(os.getpid(), 9)'\nf(text)", signal="SIGKILL")
        yield recording("import psutil\npsutil.Process(42).kill()\nf()", signal="SIGKILL")
        killed = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 50), usage_bytes=499 * MIB)
        yield recording("import os\nf()\nos.kill(os.getpid(), 9)", signal="SIGKILL", groups=[killed])
        for script in ("# stop me with: kill -9 $PPID", "echo 'kill -9 $PPID stops me'", "kill -9 $child"):
            yield recording(f"%%bash\n{script}\nsleep 99", signal="SIGKILL", server="watched")
        apart = _SERVERS.replace("['x']", "['x'], start_new_session=True")
        yield recording(apart, "for one in servers:\n    one.stop()", signal="SIGKILL", server="watched")
        own = "import os\npid = os.getpid()"
        for cell in (
            "pid, port = 4711, 8080\nos.kill(pid, 9)\nwait()",
            "def stop(pid):\n    os.kill(pid, 9)\nstop(4711)\nwait()",
            "for pid in workers:\n    os.kill(pid, 9)\nwait()",
            "pid = child.pid\nos.system(f'kill -9 {pid}')\nwait()",
        ):
            yield recording(own, cell, signal="SIGKILL", server="watched")
        passed = "import os\nif bad:\n    os.kill(os.getpid(), 9)\nf()"
        seen = ThreadStack((own_frame(passed, 4),), main=True)
        yield recording(passed, signal="SIGKILL", stacks=[Stack(-5, "asked", (seen,))])


def _to_itself(call: EndingCall, signal: str) -> Evidence:
    text = f"Line {call.line} of the cell sends {signal} to the kernel itself: {quote(call.text, 100)}."
    return Evidence(text, call.line, "line", "cell source")


def sends(one: Sending) -> Evidence:
    """Quote a call that sends a signal to a process that the code does not show."""
    text = f"Line {one.line} of the cell sends a signal; the code does not show to which process: {quote(one.text)}."
    return Evidence(text, one.line, "line", "cell source")


def ended_by_deferred(death: Death, cell: Cell, call: EndingCall) -> str:
    """Say that a timer, a thread or a handler made the call that a cell had given to it."""
    code = f"Code of {cell_name(cell.execution_count)} in a timer, thread or handler"
    return f"{code} probably ended the kernel {death.when()}: {quote(call.text)}."


def gives_away(cell: Cell, call: EndingCall) -> Evidence:
    """Quote a call that a cell gave to a timer, a thread or a handler."""
    where = f"Line {call.line} of {cell_name(cell.execution_count)}"
    text = f"{where} gives this call to a timer, a thread or a handler: {quote(call.text, 100)}."
    return Evidence(text, call.line, "line", "cell source")


def _of_sendings(death: Death) -> Certainty | None:
    """Say how sure it is that a signal which the cell sent to whichever process hit the kernel."""
    if death.cell is None or not death.sendings or death.own_signals or death.signal not in FROM_OUTSIDE:
        return None
    return Certainty.POSSIBLE if _at_once(death) and not _was_memory(death) and not death.deferred_calls else None


def _certainty(call: EndingCall, death: Death) -> Certainty:
    if _was_memory(death):
        return Certainty.WEAK
    if not death.status.known or call.signal is None:
        return Certainty.POSSIBLE
    seen = death.reached(call)
    if seen in ("shown", "elsewhere"):
        return Certainty.PROVEN if seen == "shown" else Certainty.WEAK
    if _at_once(death) or (call.prompt and call.certain):
        return Certainty.PROVEN if call.certain else Certainty.STRONG
    if death.signal in FROM_OUTSIDE:  # a call that may not have run yet proves nothing
        return Certainty.LIKELY if call.certain else Certainty.POSSIBLE
    return Certainty.STRONG if call.certain or call.prompt else Certainty.LIKELY


def _was_memory(death: Death) -> bool:
    """Return whether Linux killed for memory in the same moment."""
    return death.memory.kills is not None and bool(death.memory.kills.oom_kills)


def _at_once(death: Death) -> bool:
    end, cell = death.recording.end, death.cell
    return end is not None and cell is not None and 0 <= end.mono_s - cell.started_mono_s < _AT_ONCE_S
