import ast
import re
from collections.abc import Iterator

from ...code.deferred_calls import hooks
from ...code.ending_calls import EndingCall
from ...edits import EditRefusedError, import_as, replace, replace_by_lines
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...units import cell_name

_INTERRUPTS = "Interrupt the cell, not the kernel: a KeyboardInterrupt in its place"
_LEAVE_OUT = "Leave the exit out of the hook: the error is shown, and the kernel lives on"
_HOOK = "import os, threading\ndef fatal(args):\n    print(args)\n    os._exit(70)"
_GUARD = (
    "guard = subprocess.Popen('sleep 60 && kill -INT $PPID', shell=True)  # ends the cell that runs, and no more\n"
    "...  # the work\nguard.terminate()  # call it off"
)
_STOP = 'raise SystemExit("Stopped here")'
_RESTARTS = re.compile(r"(?i)restart|reboot")
_GUARDS = (ast.If, ast.Try, ast.For, ast.While, ast.Match)
_WATCHDOG = "import os, signal, threading\nthreading.Timer(60, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()"
_CHECK = "import os, signal\ndef check(n):\n    if n > 3:\n        os.kill(os.getpid(), signal.SIGABRT)"


class RaiseNotKill(Fix):
    """Stop the cell, not the kernel, where the code sends a signal or aborts.

    What it does: A program that sees no way to go on may end its process with a signal or `os.abort()`; in a notebook
    that is the kernel, with everything in its memory. `SystemExit` with a text stops the cell and shows the text. A
    timer or a thread cannot raise it in the cell: there `SIGINT`, the signal of the stop button, takes the place of the
    other. In a hook for errors, the one that Python has itself shows the error.

    When it is offered: The code ended the kernel with `os.abort()`, or with a signal that it sends on a condition, from
    a timer, a thread, a handler or a hook. Not where the cell restarts the kernel on purpose.

    What it costs: The notebook shows `SystemExit` or `KeyboardInterrupt` below the cell. Code that catches these goes
    on.
    """

    id, causes = "raise-not-kill", ("self-kill", "abort", "exit-call")
    title = "Stop the cell, not the kernel: raise SystemExit"
    edits_cure = True  # each call was replaced where it stands

    FIRES = [
        Case(
            _CHECK,
            "check(4)",
            signal="SIGABRT",
            becomes={1: _CHECK.replace("os.kill(os.getpid(), signal.SIGABRT)", _STOP)},
        ),
        Case("import os\nos.abort()", cause="abort", becomes=f"import os\n{_STOP}"),
        Case(_WATCHDOG, "work()", signal="SIGTERM", becomes={"SIGTERM": "SIGINT"}),
        Case(
            "import os, threading\nthreading.Timer(60, lambda: os._exit(1)).start()",
            "work()",
            cause="exit-call",
            exit_code=1,
            becomes={"os,": "signal\nimport os,", "_exit(1)": "kill(os.getpid(), signal.SIGINT)"},
        ),
        Case(
            "import os, signal\nsignal.signal(signal.SIGINT, lambda *_: os._exit(1))",
            "work()",
            cause="exit-call",
            exit_code=1,
            says=("default_int_handler",),
        ),
        Case(
            "import os, threading\nthreading.Timer(60, os._exit, [3]).start()",
            "work()",
            cause="exit-call",
            exit_code=3,
            says=("_thread.interrupt_main",),
        ),
        Case(
            _HOOK,
            "threading.excepthook = fatal\nfor t in threads: t.start()",
            cause="exit-call",
            exit_code=70,
            becomes={
                "import os,": "import signal\nimport os,",
                "os._exit(70)": "threading.__excepthook__(args)\n    os.kill(os.getpid(), signal.SIGINT)",
            },
        ),
        Case(
            "import os, sys\nsys.excepthook = lambda *error: os._exit(1)",
            "work()",
            cause="exit-call",
            exit_code=1,
            becomes={"os._exit(1)": "sys.__excepthook__(*error)"},
        ),
    ]
    SILENT = [
        Case("import os\nos.kill(os.getpid(), 9)", signal="SIGKILL"),
        Case("import os\ndef restart():\n    if x: os.kill(os.getpid(), 9)", "restart()"),
        Case("solver.run()", cause="abort"),
        Case("import os", "os._exit(3)", cause="exit-call", exit_code=3),
        Case(_HOOK + "\nthreading.excepthook = fatal", "lib.run()", cause="exit-call", exit_code=3),
        Case(_HOOK, "lib.run()", cause="exit-call", exit_code=70),
    ]

    def propose(self, death: Death) -> Proposals:
        if death.aims_at("group", "all"):
            return
        aborts = [one for one in death.calls if one.kind == "abort" and death.signal == "SIGABRT"]
        for call in (*death.own_signals, *aborts):
            for scope, node in _written(call, death):
                if call.kind == "abort" or _is_on_a_condition(scope, node):
                    yield _raising(scope, node, death)
        for cell, call in death.deferred_calls:
            what, name = quote(call.text), cell_name(cell.execution_count)
            why = (
                f"A timer, a thread or a handler runs {what} ({name}, line {call.line}), which ends the kernel. An "
                "interrupt ends only the cell that runs. Cancel a timer when the work is done."
            )
            written = [*_written(call, death)]
            of_hook = [(hook, *one) for one in written for hook, scope in hooks(death.code) if one[0] is scope]
            if of_hook:
                yield _showing(*of_hook[-1], death)
            elif "Popen(" in call.text:
                yield Proposal((), why, title=_INTERRUPTS, snippet=_GUARD)
            else:
                yield _interrupting(written, death, why)


def _written(call: EndingCall, death: Death) -> Iterator[tuple[Scope, ast.Call]]:
    """Yield the call itself, and where it stands."""
    cell, line = call.place or (None, None)
    for scope in () if cell is None else death.code.scopes(cell):
        for node in scope.calls:
            name = death.code.described(node.func, scope) or ""
            if node.lineno == line and re.search(r"kill|abort|_exit|raise_signal", name):
                yield scope, node


def _is_on_a_condition(scope: Scope, node: ast.Call) -> bool:
    """Whether it is a way out in need: what is done whatever comes restarts the kernel."""
    return any(isinstance(one, _GUARDS) for one in scope.around(node)) and not _RESTARTS.search(scope.function or "")


def _raising(scope: Scope, node: ast.Call, death: Death) -> Proposal:
    what = f"{quote(scope.segment(node))} ({death.code.cell_name(scope.cell)}, line {node.lineno})"
    why = (
        f"{what} ends the kernel and everything in its memory. {quote(_STOP)} stops only the cell; the kernel lives on."
    )
    statement = scope.statement_of(node)
    is_whole = isinstance(statement, ast.Expr) and statement.value is node
    return Proposal(replace(scope, node, _STOP) if is_whole else (), why, instead=_STOP)


def _showing(hook: str, scope: Scope, node: ast.Call, death: Death) -> Proposal:
    """Have Python's own hook show the error in the place of the exit; that of a thread interrupts the cell, too."""
    module, _, name = hook.rpartition(".")
    star = scope.arguments.vararg
    given = [f"*{one}" if star is not None and one == star.arg else one for one in scope.parameters]
    shown = f"{module}.__{name}__({', '.join(given)})"
    what = f"{quote(scope.segment(node))} ({death.code.cell_name(scope.cell)}, line {node.lineno})"
    of_thread, statement = module.endswith("threading"), scope.statement_of(node)
    when = "a thread ends with an error" if of_thread else "an error is not caught"
    why = (
        f"{quote(hook)} is set so that {what} ends the kernel as soon as {when}. {quote(shown)} shows the error in its "
        "place: that is what to mend."
    )
    is_whole = isinstance(statement, ast.Expr) and statement.value is node
    if statement is not None and is_whole and of_thread and isinstance(node.func, ast.Attribute):
        signal, imported = import_as(scope, death.code, "signal", "signal")
        known = scope.segment(node.func.value)
        interrupts = f"{known}.kill({known}.getpid(), {signal}.SIGINT)"
        title = "Show the error of the thread in place of the exit, and stop only the cell: a KeyboardInterrupt"
        return Proposal(
            imported + replace_by_lines(scope, statement, shown, interrupts), why, title=title, instead=shown
        )
    return Proposal(replace(scope, node, shown), why, title=_LEAVE_OUT)


def _handles_interrupts(death: Death) -> bool:
    """Whether a handler is set for the interrupt itself: who sends that from there calls itself for ever."""
    names = (
        death.code.described(call.node.args[0], call.scope) or ""
        for call in death.code.calls("signal.signal")
        if call.node.args
    )
    return any(name.endswith("SIGINT") for name in names)


def _interrupting(written: list[tuple[Scope, ast.Call]], death: Death, why: str) -> Proposal:
    title = _INTERRUPTS
    if _handles_interrupts(death):
        snippet = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)  # raises KeyboardInterrupt"
        return Proposal((), why, title=title, snippet=snippet)
    snippet = "import _thread\n_thread.interrupt_main()  # in place of the call that ends the kernel"
    if len(written) != 1:
        return Proposal((), why, title=title, snippet=snippet)
    (scope, node), arguments = written[0], written[0][1].args
    try:
        name, edits = import_as(scope, death.code, "signal", "signal")
        match node.func:
            case ast.Attribute(attr="kill") if len(arguments) == 2:
                edits += replace(scope, arguments[1], f"{name}.SIGINT")
            case ast.Attribute(value=module) if death.code.qualified(module, scope) == "os":
                known = scope.segment(module)
                edits += replace(scope, node, f"{known}.kill({known}.getpid(), {name}.SIGINT)")
            case _:
                edits = ()
    except EditRefusedError:
        edits = ()
    return Proposal(edits, why, title=title, instead=snippet)
