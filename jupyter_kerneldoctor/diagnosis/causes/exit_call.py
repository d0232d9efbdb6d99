"""`exit-call`: the program ended itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.ending import FROM_OUTSIDE, signal_passed_on
from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause
from ..code.deferred_calls import names_an_exit
from ..examples import recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..units import cell_name, quote, sentence, statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_kerneldoctor.recording.evidence import Incident
    from jupyter_kerneldoctor.recording.model import Cell, Recording

    from ..code.ending_calls import EndingCall
    from ..death import Death

_AT_ONCE_S = 2.0


class ExitCall(Cause):
    """The program ended itself: with `exit()`, `quit()`, `os._exit()`, or a library's own exit.

    What it means
    -------------
    In a notebook, `exit()` and `quit()` end the kernel with all its variables, after the cell has run to its end.
    `os._exit()` ends it on the spot. Some native libraries call `exit()` where they should report an error.
    `sys.exit()` does not: in a notebook it ends only the cell.

    How it is recognised
    --------------------
    For `exit()` and `quit()`: the kernel noted that a cell asked for it. Otherwise: the process left with an exit code
    and no signal while a cell was running, and nobody had asked for a shutdown. Where the cell holds an `os._exit` with
    that code, it is named; without one, a library's exit is only likely, and the last line that was written while
    the cell ran is quoted. A timer, a thread or a handler to which a cell gave such a call may make it while no cell
    runs. Words that name a cause of their own, as of MKL or of the dynamic linker, make it that cause
    instead.

    What to do
    ----------
    To stop a cell early, put the code in a function and `return`, or raise an exception. Where a library exits, look
    at the message it printed last.

    Example
    -------
    `if done: exit()`
    """

    id = "exit-call"
    title = "The code ended the kernel itself"
    family = Family.OWN_END
    incidents = LOST_WORKER

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end:
            return None
        if death.told_to_exit:
            return None if death.cell is None else self._obeyed(death)
        return None if death.status.exit_code is None else self._left(death)

    def _obeyed(self, death: Death) -> CauseFinding:
        assert death.cell is not None
        call = _only([call for call in death.calls if call.kind == "ask"])
        name = quote(call.text) if call is not None else "`exit()` or `quit()`"
        cell = cell_name(death.cell.execution_count)
        return CauseFinding(
            self.id,
            self.title,
            0.97 if death.status.exit_code == 0 else 0.85,
            f"The code in {cell} asked the kernel to end with {name}, and the kernel {_how_it_left(death)}.",
            evidence=(
                Evidence(f"The kernel noted that {cell} asked it to end.", source="journal"),
                *evidence.exit_status(death),
            ),
            ruled_out=exclusions.known(exclusions.not_a_crash(death), exclusions.not_memory(death)),
            line=call.line if call is not None else death.sole_line,
            summary="Left after exit()",
        )

    def _left(self, death: Death) -> CauseFinding | None:
        code = death.status.exit_code
        calls = [call for call in _exits(death) if call.exit_code in (None, code) and death.reached(call) != "passed"]
        call = _only(calls)
        named = None if _exits(death) or death.cell is None else death.find(names_an_exit)
        others = death.deferred_calls[-1:] if not calls and named is None else ()
        if death.cell is None and not others:
            return None
        line = call.line if call is not None else None if calls else named or death.sole_line
        if call is not None and death.cell is not None:
            cell = cell_name(death.cell.execution_count)
            headline = f"The code in {cell} ended the kernel with {quote(call.text)} (exit code {code})."
        elif others:
            line = others[0][1].line if others[0][0] is death.cell else None
            headline = (
                f"The kernel was probably ended by its own code (exit code {code}), {death.when()}: "
                f"{cell_name(others[0][0].execution_count)} holds {quote(others[0][1].text)}, for a timer, a thread or "
                "a handler to call."
            )
        else:
            headline = _by_something(death, line, is_in_cell=bool(calls) or named is not None)
        return CauseFinding(
            self.id,
            self.title,
            0.75 if others else _confidence(calls, death, named),
            headline,
            evidence=(
                *evidence.exit_status(death),
                *_told_by(death, calls, named, others),
                *_last_words(death, calls),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(
                exclusions.not_a_crash(death),
                exclusions.not_asked_for(death),
                exclusions.not_memory(death),
            ),
            line=line,
            summary=f"Ended itself with exit code {code}",
            general=not calls and named is None and not others,
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that left by itself."""
        worker = death.lost_worker
        if worker is None or worker.child is None or worker.child.kind != "exit":
            return None
        told = (
            f"A worker process ended by itself with exit code {worker.exit_code} {death.where()}; the kernel lived on."
        )
        return self.finding(death, 0.85, told, worker.evidence(), title="A worker process ended by itself")

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """`exit()` that the kernel obeyed, also if it crashed on leaving, `os._exit`, and a library that leaves."""
        yield recording("x = 1", "if x: exit()", exit_code=0, request="cell")
        yield recording("x = 1\nquit", exit_code=0, request="cell", server="watched")
        yield recording("import vtk", "exit()", signal="SIGSEGV", request="cell")
        yield recording("exit()", signal="SIGKILL", request="cell", server="watched")
        yield recording("import os", "os._exit(1)", exit_code=1)
        yield recording("from os import _exit as leave\nleave(3)", exit_code=3, server="watched")
        yield recording("import os\ndef stop(code):\n    os._exit(code)", "stop(4)", exit_code=4)
        yield recording("import ctypes\nlibc = ctypes.CDLL(None)\nlibc.exit(3)", exit_code=3)
        yield recording("solver.run()", exit_code=3)
        yield recording("import os, threading\nthreading.Timer(1, os._exit, args=(5,)).start()\nf()", exit_code=5)
        yield recording("import os\ndef guard():\n    os._exit(3)\nThread(target=guard).start()", "f()", exit_code=3)
        yield recording("import faulthandler as f\nf.dump_traceback_later(9, exit=True)", "work()", exit_code=1)
        watchdog = "import os, threading\nthreading.Timer(60, os._exit, args=(3,)).start()"
        yield recording(watchdog, exit_code=3, idle=True, server="watched")

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """A shutdown that was asked for, a signal, and an exit between two cells."""
        yield recording("import os\nif bad: os._exit(0)", exit_code=0, request="message")
        yield recording("import os\nif bad: os._exit(0)", exit_code=0, server="shutdown")
        yield recording("import os\nif bad: os._exit(1)", signal="SIGKILL")
        yield recording("x = 1", exit_code=1, idle=True)
        yield recording("import sys\nsys.exit(1)", alive=True, idle=True)


def _how_it_left(death: Death) -> str:
    signal = death.status.signal
    if signal is None:
        return "left when the cell was done"
    if signal in FROM_OUTSIDE:
        return "was ended before it had left"
    return "crashed while it was leaving"


def _by_something(death: Death, line: int | None, *, is_in_cell: bool) -> str:
    """Blame the running cell only where it holds such a call: a thread that an earlier one started can leave, too."""
    code = death.status.exit_code
    if is_in_cell or death.cell is None:
        return f"Something that ran {death.where(line)} ended the kernel with exit code {code}."
    at = "" if line is None else f" {quote(statement(death.cell.source.split(chr(10))[line - 1]))}"
    return f"Something in the kernel's process ended it with exit code {code} {death.when()}{at}."


def _only(calls: list[EndingCall]) -> EndingCall | None:
    return calls[0] if len(calls) == 1 else None


def _exits(death: Death) -> list[EndingCall]:
    return [call for call in death.calls if call.kind in ("exit", "replace")]


def _confidence(calls: list[EndingCall], death: Death, named: int | None) -> float:
    if not calls and named is not None:
        return 0.75
    if not calls:
        # The kernel itself leaves with 1 when the program that started it is gone.
        return 0.45 if death.status.exit_code == 1 else 0.6
    call, end, cell = calls[0], death.recording.end, death.cell
    at_once = end is not None and cell is not None and 0 <= end.mono_s - cell.started_mono_s < _AT_ONCE_S
    if call.kind == "exit" and call.exit_code is not None and call.certain:
        return 0.97 if call.prompt or at_once else 0.92
    return 0.85


def _last_words(death: Death, calls: list[EndingCall]) -> Iterable[Evidence]:
    if not calls:
        yield from evidence.said_at_the_end(death)


def _told_by(
    death: Death, calls: list[EndingCall], named: int | None, others: tuple[tuple[Cell, EndingCall], ...]
) -> Iterable[Evidence]:
    for call in calls:
        yield Evidence(
            f"Line {call.line} of the cell ends the process: {quote(call.text, 100)}.", call.line, "line", "cell source"
        )
    if not calls and named is not None and death.cell is not None:
        code = quote(death.cell.source.split("\n")[named - 1].strip(), 100)
        yield Evidence(
            f"Line {named} of the cell names a call that ends the process, for a handler, a timer or another function "
            f"to make: {code}.",
            named,
            "line",
            "cell source",
        )
    elif not calls:
        yield from _held_by(death, others)
        if (signal := signal_passed_on(death.status.exit_code or 0)) is not None:
            yield Evidence(
                f"Programs that handle {signal}, or pass on that it ended another one, leave with 128 and its number, "
                f"which is {death.status.exit_code}.",
                death.status.exit_code,
                None,
                "sh(1p)",
            )
        if death.status.exit_code == 1:
            yield Evidence("A kernel also leaves with exit code 1 when the program that started it is gone.")


def _held_by(death: Death, others: tuple[tuple[Cell, EndingCall], ...]) -> Iterable[Evidence]:
    for cell, call in others:
        yield Evidence(
            f"Line {call.line} of {cell_name(cell.execution_count)} holds such a call: {quote(call.text, 100)}.",
            call.line,
            "line",
            "cell source",
        )
    if death.cell is not None and not death.cell.truncated and not _exits(death) and not others:
        yield Evidence(
            f"{sentence(cell_name(death.cell.execution_count))} itself holds no call that ends the process; a module "
            "or library it calls may, or a thread that was started before."
        )
