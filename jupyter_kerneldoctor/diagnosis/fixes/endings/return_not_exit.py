import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...code.calls import last_name
from ...code.child_processes import FORKS, run_in_children
from ...code.literals import number
from ...code.notebook import Notebook
from ...code.trees import walk
from ...edits import replace
from ...examples.stuck import child
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote

_ASKS = ("builtins.exit", "builtins.quit")
_ENDS_AT_ONCE = ("os._exit", "posix._exit")
_NATIVE = "ctypes."
_CATCH_ALL = frozenset({"BaseException", "SystemExit"})
_LEFT_OUT = "Without it the kernel lives on, and an error is shown."
_STOP = 'raise SystemExit("Stopped here")'  # with a text, IPython prints it and nothing else; without, a warning


_RAISE = 'raise RuntimeError("Stopped in a worker")'
_WORKER = "import os\ndef work(n):\n    if n == 3:\n        os._exit(2)\n    return n"


@dataclass(frozen=True)
class _Exit:
    """A place in the running code that ends the kernel."""

    node: ast.expr
    scope: Scope
    name: str


class ReturnNotExit(Fix):
    """Stop the cell, not the kernel.

    What it does: In a script `exit()` ends the program; in a notebook the program is the kernel, and everything in
    memory goes with it. `exit()` does not even stop the cell: the lines below it still run. The edit raises
    `SystemExit` with a text instead: the cell (and a "Run All") stops there and the kernel lives on. In a function that
    is the last thing the cell calls, a plain `return` does the same without an error. A worker of a pool raises an
    exception that the cell gets.

    When it is offered: The kernel ended because the program asked for it, and the cell that ran, or a function it
    calls, has `exit()`, `quit()` or `os._exit()`; or a worker of a pool has ended itself so. Not for `sys.exit()`,
    which IPython catches.

    What it costs: The notebook shows `SystemExit: Stopped here` below the cell. An exit status gets lost; nobody reads
    it here.
    """

    id, title, causes = "return-not-exit", "Stop the cell, not the kernel: return, or raise SystemExit", ("exit-call",)
    unless_offered = frozenset({"raise-not-kill"})

    FIRES = [
        Case(
            "rows = []",
            "if not rows: exit()\nprint('ready')",
            becomes="if not rows: raise SystemExit(\"Stopped here\")\nprint('ready')",
        ),
        Case(
            "import os as system",
            "!ls\nsystem._exit(3)  # über",
            becomes="!ls\nraise SystemExit(3)  # über",
        ),
        Case(
            "from os import _exit\ndef main():\n\tif not data:\n\t\t_exit(0)\n\tplot()",
            "data = []\nmain()",
            becomes={"_exit(0)": "return"},
        ),
        Case(  # what comes after the call must not run, so a return is not enough
            "def check(rows):\n    if not rows:\n        quit()",
            "check([])\nprint('going on')",
            becomes={1: 'def check(rows):\n    if not rows:\n        raise SystemExit("Stopped here")'},
        ),
        Case("x = 0", "x or exit()", says=("raise SystemExit",)),
        Case(
            "import ctypes\nlibc = ctypes.CDLL('./solver.so')",
            "libc.run(4)",
            exit_code=3,
            says=("`libc.run(4)`", "a process of its own", "inputs"),
        ),
        Case(
            _WORKER,
            "from joblib import Parallel, delayed\nParallel(2)(delayed(work)(n) for n in range(8))",
            alive=True,
            children=[child(901, exit_code=2)],
            becomes={1: _WORKER.replace("os._exit(2)", _RAISE)},
        ),
        Case(  # in `finally` a return would lose the error
            "import os\ndef main():\n    try:\n        work()\n    finally:\n        os._exit(0)",
            "main()",
            becomes={"os._exit(0)": "pass"},
        ),
        Case(  # SystemExit in a task ends the event loop, and with it the kernel
            "import asyncio, os\nasync def watch():\n    if late: os._exit(1)",
            "await asyncio.gather(watch(), work())",
            exit_code=1,
            becomes={"os._exit(1)": 'raise RuntimeError("Stopped here")'},
        ),
        Case("import os\nos._exit(main() or 0)", becomes="import os\nraise SystemExit(main() or 0)"),
        Case(  # the loop would go on for ever
            "import os\nwhile True:\n    try:\n        if get() == 'stop': os._exit(0)\n    except:\n        pass",
            says=("except Exception:",),
        ),
    ]
    SILENT = [
        Case("from sys import exit", "exit()"),
        Case("def exit(): print('bye')", "exit()"),
        Case("import os", "if os.fork() == 0:\n    os._exit(0)\nos.wait()"),
        Case(  # it is the worker that ends so
            "import os, multiprocessing as mp\ndef work(): os._exit(0)",
            "mp.Process(target=work).start()\nlibrary.close()",
        ),
        Case(  # so does what the worker calls, and the run() of a process of one's own
            "import os, multiprocessing as mp\ndef stop(): os._exit(0)\ndef work(x):\n    stop()\n"
            "class Own(mp.Process):\n    def run(self): os._exit(0)",
            "ctx = mp.get_context('fork')\nctx.Process(target=work, args=(1,)).start()\nOwn().start()\nlibrary.close()",
        ),
        Case(
            "import os\nfrom functools import partial\nfrom concurrent.futures import ProcessPoolExecutor\n"
            "def work(x): os._exit(0)",
            "with ProcessPoolExecutor(2) as pool:\n    pool.submit(partial(work, 1))\nlibrary.close()",
        ),
        Case("x = 1", "if x: exit()", cause="oom-cgroup"),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        if death.recording.alive or death.incident is not None:
            yield from _in_a_worker({one.exit_code for one in death.recording.children if one.kind == "exit"}, code)
            return
        of_children = run_in_children(code)
        found = [one for scope in code.running if scope not in of_children for one in _exits(scope, code)]
        found = [one for one in found if _gives_status(one, death.status.exit_code)]
        if not found:
            yield from _in_a_library(death)
        if not any(code.is_at_line(one.node, one.scope) for one in found):
            return
        what = quote(found[0].scope.segment(found[0].node))
        where = code.place_of(found[0].node, found[0].scope)
        first = "" if found[0].name in _ENDS_AT_ONCE else "lets the rest of the cell run, then "
        why = f"{what} ({where}) {first}ends the kernel and everything in its memory. "
        if any(map(_is_caught, found)):
            why += "The `except` around it catches SystemExit, too, and would go on: write `except Exception:` there."
            yield Proposal(why=why, snippet=f"try:\n    ...\n    {_STOP}\nexcept Exception:  # not SystemExit\n    ...")
            return
        if any(_is_part(one) for one in found):
            why += (
                "Use an if statement with raise SystemExit in its place: that stops the cell and the kernel lives on."
            )
            yield Proposal(why=why, snippet=f"if …:  # what {what} depends on\n    {_STOP}")
            return
        for one in found:
            new = _statement(one, code)
            what = "function" if new == "return" else "cell"
            told = f"{quote(new)} stops only the {what}; the kernel lives on." if new != "pass" else _LEFT_OUT
            yield Proposal(replace(one.scope, one.node, new), why + told)


def _exits(scope: Scope, code: Notebook) -> Iterator[_Exit]:
    for node in scope.nodes:
        match node:
            case ast.Call(func=function):
                name = code.qualified(function, scope)
            case ast.Expr(value=ast.Name() as node) if scope.is_cell:
                name = code.qualified(node, scope)  # IPython calls a bare `exit`
                name = name if name in _ASKS else None
            case _:
                continue
        if name in _ASKS or name in _ENDS_AT_ONCE:
            yield _Exit(node, scope, name)


def _in_a_worker(exit_codes: set[int | None], code: Notebook) -> Proposals:
    """Raise an exception where a worker ends itself: whoever waits for its result gets that."""
    functions = [one for one in code.running.functions if not any(code.calls_in([one], *FORKS))]
    found = [one for scope in functions for one in _exits(scope, code)]
    for one in found:
        if one.name not in _ENDS_AT_ONCE or not any(_gives_status(one, status) for status in exit_codes - {None}):
            continue
        what = quote(one.scope.segment(one.node))
        why = (
            f"{what} ({code.place_of(one.node, one.scope)}) ends the worker, and its pool only finds it gone. "
            "An exception reaches the cell, and says why."
        )
        edits = () if _is_part(one) else replace(one.scope, one.node, _RAISE)
        yield Proposal(
            edits,
            why,
            title="Raise a RuntimeError in the worker, not `os._exit`: the cell gets it",
            instead=_RAISE,
        )


def _in_a_library(death: Death) -> Proposals:
    """Advise where no Python code ends the kernel, but the cell calls a library that may: C's exit, Fortran's STOP."""
    code = death.code
    for scope in code.running:
        for node in scope.calls:
            home = node.func.value if isinstance(node.func, ast.Attribute) else None
            name = None if home is None else code.described(home, scope)
            if name is not None and name.startswith(_NATIVE) and code.is_at_line(node, scope):
                what = quote(scope.segment(node))
                yield Proposal(
                    why=f"{what} runs native code, and that code ended the process: C's exit(), or STOP in Fortran. "
                    "Check the inputs that make it give up, or run the library in a process of its own.",
                    title="Run the native library in a process of its own",
                    snippet="import subprocess, sys\n"
                    "done = subprocess.run([sys.executable, 'solve.py', 'inputs.json'])\n"
                    "print(done.returncode)  # solve.py calls the library; this kernel lives, whatever it does",
                )
                return


def _gives_status(found: _Exit, exit_code: int | None) -> bool:
    """Whether the kernel may have ended by this call: not with another status than is written there."""
    match found.node:
        case ast.Call(args=[status]) if found.name in _ENDS_AT_ONCE and exit_code is not None:
            return number(status) in (None, exit_code)
    return True


def _is_part(found: _Exit) -> bool:
    """Whether it is part of an expression, where no statement can stand."""
    statement = found.scope.tree.statements[found.node]
    return not (isinstance(statement, ast.Expr) and statement.value is found.node)


def _is_caught(found: _Exit) -> bool:
    """Whether a handler around it catches SystemExit and goes on: `except:`."""
    statement = found.scope.tree.statements[found.node]
    for one in found.scope.around(found.node):
        for handler in one.handlers if isinstance(one, ast.Try) and _holds(one.body, statement) else ():
            caught = {last_name(part) for part in walk(handler.type)} if handler.type is not None else {"BaseException"}
            if caught & _CATCH_ALL and not any(isinstance(part, ast.Raise) for part in walk(handler)):
                return True
    return False


def _is_in_finally(found: _Exit) -> bool:
    statement = found.scope.tree.statements[found.node]
    tries = (one for one in found.scope.around(found.node) if isinstance(one, ast.Try))
    return any(_holds(one.finalbody, statement) for one in tries)


def _holds(body: list[ast.stmt], statement: ast.stmt) -> bool:
    return any(statement in walk(one) for one in body)


def _statement(found: _Exit, code: Notebook) -> str:
    if _is_in_finally(found):
        return "pass"  # `return` would lose the error, and nothing else is to be stopped
    if isinstance(found.scope.node, ast.AsyncFunctionDef):
        return _STOP.replace("SystemExit", "RuntimeError")  # of a task, SystemExit ends the loop, and so the kernel
    if not found.scope.is_cell and _is_called_last(found.scope, code):
        return "return"
    match found.node:
        case ast.Call(args=[ast.Constant(value=int() | str() as value) as status]) if value:
            return f"raise SystemExit({found.scope.segment(status)})"
        case ast.Call(args=[status]) if any(isinstance(one, ast.Call) for one in walk(status)):
            return f"raise SystemExit({found.scope.segment(status)})"
    return _STOP


def _is_called_last(scope: Scope, code: Notebook) -> bool:
    """Whether the only call of a function is the last statement of the cell, so that nothing runs after it returns."""
    names = (node for reached in code.running for node in reached.names)
    uses = [node for node in names if scope.function == last_name(node)]
    match code.running.scopes[0].body[-1:]:
        case [ast.Expr(value=ast.Call(func=function))]:
            return uses == [function]
    return False
