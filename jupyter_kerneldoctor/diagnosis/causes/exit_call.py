from collections.abc import Iterable, Iterator

from jupyter_kerneldoctor.recording.model import Cell

from ..analysis.ending import FROM_OUTSIDE, signal_passed_on
from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote
from ..code.deferred_calls import names_an_exit
from ..code.ending_calls import EndingCall
from ..examples import recording
from ..texts import evidence, exclusions, usual_reasons
from ..units import cell_name, sentence, statement
from .self_kill import ended_by_deferred, gives_away

_AT_ONCE_S = 2.0


class ExitCall(Cause):
    """The program ended itself: with `exit()`, `quit()`, `os._exit()`, or a library's own exit.

    What it means: In a notebook, `exit()` and `quit()` end the kernel with all its variables, after the cell has run to
    its end. `os._exit()` ends it on the spot. Some native libraries call `exit()` where they should report an error.
    `sys.exit()` does not: in a notebook it ends only the cell.

    How it is recognised: For `exit()` and `quit()`: the kernel noted that a cell asked for it. Otherwise: the process
    left with an exit code and no signal while a cell was running, and nobody had asked for a shutdown. An `os._exit` in
    the cell with that code is named. Without one, a library's exit is only likely, and the last line that was written
    while the cell ran is quoted. A timer, a thread or a handler may also make the call, while no cell runs. Last words
    that name a cause of their own, such as those of MKL or of the dynamic linker, make it that cause.

    What to do: To stop a cell early, put the code in a function and `return`, or raise an exception. Where a library
    exits, look at the message it printed last.

    Example: `if done: exit()`
    """

    id, title, family = "exit-call", "The code ended the kernel itself", Family.OWN_END
    incidents = LOST_WORKER

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end:
            return None
        if death.told_to_exit:
            return None if death.cell is None else self._obeyed(death, death.cell)
        code = death.status.exit_code
        if code is None:
            return None
        calls = [call for call in _exits(death) if call.exit_code in (None, code) and death.reached(call) != "passed"]
        if death.cell is not None and calls:
            return self._by_calls(death, death.cell, calls)
        is_named = death.cell is not None and not (_exits(death) or death.deferred_calls)  # who says more comes first
        named = death.find(names_an_exit) if is_named else None
        if death.cell is not None and named is not None:
            text = quote(statement(death.cell.source.split("\n")[named - 1]), 100)
            names = _in_line(named, f"names a call that ends the process: {text}")
            pieces = (names, *evidence.said_at_the_end(death))
            return self._left(death, Certainty.LIKELY, _something_in_the_cell(death, named), pieces, named)
        if death.deferred_calls:
            cell, call = death.deferred_calls[-1]
            pieces = (gives_away(cell, call), *_of_the_code(code), *evidence.said_at_the_end(death))
            line = call.line if cell is death.cell else None
            return self._left(death, Certainty.LIKELY, ended_by_deferred(death, cell, call), pieces, line)
        return None if death.cell is None else self._by_something(death, death.cell, code)

    def _obeyed(self, death: Death, cell: Cell) -> CauseFinding:
        calls = [call for call in death.calls if call.kind == "ask"]
        call = calls[0] if len(calls) == 1 else None
        how = "with `exit()` or `quit()`" if call is None else death.ended_by(call)
        name, signal = cell_name(cell.execution_count), death.status.signal
        left = "was ended before that" if signal in FROM_OUTSIDE else "crashed while it was leaving"
        if signal is None:
            left = "left after the cell"
        return self.finding(
            death,
            Certainty.PROVEN if death.status.exit_code == 0 else Certainty.STRONG,
            f"{sentence(name)} asked the kernel to end {how}; it {left}.",
            (Evidence(f"The kernel noted that {name} asked it to end.", source="journal"),),
            ruled_out=(exclusions.not_a_crash(death),),
            line=death.sole_line if call is None else call.line,
            summary="Left after exit()",
        )

    def _by_calls(self, death: Death, cell: Cell, calls: list[EndingCall]) -> CauseFinding:
        call, one, end = calls[0], len(calls) == 1, death.recording.end
        at_once = end is not None and 0 <= end.mono_s - cell.started_mono_s < _AT_ONCE_S
        certainty = Certainty.LIKELY if call.exit_code is None else Certainty.STRONG
        if call.kind == "exit" and call.exit_code is not None and call.certain:
            certainty = Certainty.PROVEN if call.prompt or at_once else Certainty.STRONG
        told = _something_in_the_cell(death, None)
        if one:
            told = f"The code in {cell_name(cell.execution_count)} ended the kernel {death.ended_by(call)}."
        pieces = (_in_line(each.line, f"ends the process: {quote(each.text, 100)}") for each in calls)
        return self._left(death, certainty, told, pieces, call.line if one else None)

    def _by_something(self, death: Death, cell: Cell, code: int) -> CauseFinding:
        """Say that something ended it: a library, or a thread that an earlier cell started."""
        line = death.sole_line
        at = "" if line is None else f" {quote(statement(cell.source.split(chr(10))[line - 1]))}"
        told = f"Something in the kernel's process ended it with exit code {code} {death.when()}{at}."
        pieces = (*evidence.said_at_the_end(death), *_not_the_cell(death, cell), *_of_the_code(code))
        return self._left(death, Certainty.POSSIBLE, told, pieces, line, general=True)

    def _left(
        self,
        death: Death,
        certainty: Certainty,
        headline: str,
        pieces: Iterable[Evidence],
        line: int | None,
        *,
        general: bool = False,
    ) -> CauseFinding:
        not_a_crash, summary = exclusions.not_a_crash(death), f"Ended itself with exit code {death.status.exit_code}"
        return self.finding(
            death,
            certainty,
            headline,
            pieces,
            ruled_out=(not_a_crash,),
            line=line,
            summary=summary,
            general=general,
            not_known="What ended the process is not known.",
            usual_reasons=usual_reasons.of_an_exit(death),
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that left by itself."""
        worker = death.lost_worker
        if worker is None or worker.child is None or worker.child.kind != "exit":
            return None
        code = worker.exit_code
        told = f"A worker process ended by itself with exit code {code} {death.where()}; the kernel lived on."
        return self.finding(death, Certainty.STRONG, told, worker.evidence(), title="A worker process ended by itself")

    def fires_on(self) -> Recordings:
        """`exit()` that the kernel obeyed, also if it crashed on leaving, `os._exit`, and a library that leaves."""
        yield recording("x = 1", "if x: exit()", exit_code=0, request="cell")
        yield recording("x = 1\nquit", exit_code=0, request="cell", server="watched")
        yield recording("import vtk", "exit()", signal="SIGSEGV", request="cell")
        yield recording("exit()", signal="SIGKILL", request="cell", server="watched")
        yield recording("import os", "os._exit(1)", exit_code=1)
        yield recording("from os import _exit as leave\nleave(3)", exit_code=3, server="watched")
        yield recording("import os\ndef stop(code):\n    os._exit(code)", "stop(4)", exit_code=4)
        helpers = (
            "import os\ndef fail(why, code=3):\n    os._exit(code)\ndef read(path):\n    if not path: fail('none')"
        )
        yield recording(helpers, "for path in paths:\n    rows = read(path)", exit_code=3)
        yield recording("import ctypes\nlibc = ctypes.CDLL(None)\nlibc.exit(3)", exit_code=3)
        yield recording("solver.run()", exit_code=3)
        yield recording("import os, threading\nthreading.Timer(1, os._exit, args=(5,)).start()\nf()", exit_code=5)
        yield recording("import os\ndef guard():\n    os._exit(3)\nThread(target=guard).start()", "f()", exit_code=3)
        yield recording("import faulthandler as f\nf.dump_traceback_later(9, exit=True)", "work()", exit_code=1)
        watchdog = "import os, threading\nthreading.Timer(60, os._exit, args=(3,)).start()"
        yield recording(watchdog, exit_code=3, idle=True, server="watched")

    def silent_on(self) -> Recordings:
        """A shutdown that was asked for, a signal, and an exit between two cells."""
        yield recording("import os\nif bad: os._exit(0)", exit_code=0, request="message")
        yield recording("import os\nif bad: os._exit(0)", exit_code=0, server="shutdown")
        yield recording("import os\nif bad: os._exit(1)", signal="SIGKILL")
        yield recording("x = 1", exit_code=1, idle=True)
        yield recording("import sys\nsys.exit(1)", alive=True, idle=True)


def _in_line(line: int, text: str) -> Evidence:
    return Evidence(f"Line {line} of the cell {text}.", line, "line", "cell source")


def _exits(death: Death) -> list[EndingCall]:
    return [call for call in death.calls if call.kind in ("exit", "replace")]


def _something_in_the_cell(death: Death, line: int | None) -> str:
    return f"Something that ran {death.where(line)} ended the kernel with exit code {death.status.exit_code}."


def _not_the_cell(death: Death, cell: Cell) -> Iterator[Evidence]:
    if not cell.truncated and not _exits(death):
        name = sentence(cell_name(cell.execution_count))
        yield Evidence(f"{name} has no call that ends the process; a library or another thread may have ended it.")


def _of_the_code(code: int) -> Iterator[Evidence]:
    """Say what programs mean by this exit code."""
    if (signal := signal_passed_on(code)) is not None:
        text = f"Programs leave with exit code {code} (128 and the signal's number) after {signal}."
        yield Evidence(text, code, None, "sh(1p)")
    if code == 1:
        yield Evidence("A kernel also leaves with exit code 1 when the program that started it is gone.")
