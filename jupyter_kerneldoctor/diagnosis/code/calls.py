"""Finds the statements with which a cell ends its own kernel: signals to itself, `os._exit`, `exit()`, `os.abort()`.

Names are followed through the imports and plain assignments of all cells that ran before (`from os import kill as k`),
and through functions defined there (`def stop(): os._exit(1)`). Nothing is run.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..analysis.ending import signal_name
from .cellsource import header_magics, mask
from .commands import of_expression, of_magic
from .names import Names, ran_before
from .shell import shell_kills

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_kerneldoctor.recording.model import Cell

    from .cellsource import MaskedCell

Kind = Literal["signal", "exit", "ask", "abort", "replace"]

INTERESTING = re.compile(
    r"\b(?:kill|killpg|pthread_kill|_?exit|quit|abort|raise_signal|send_signal|terminate|do_shutdown|ask_exit|"
    r"exec[lv]p?e?|dump_traceback_later)\b"
)
"""Words of calls that end a process."""
_TEACHES = re.compile(INTERESTING.pattern + r"|\bimport\b|getpid|get_ident|Process|Popen|CDLL|cdll")
SHELLS = frozenset(
    {f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "getoutput", "Popen")}
    | {"os.system", "os.popen"}
)
NATIVE = re.compile(r"ctypes\.(?:C|Py)DLL\(.*\)\.(?:_?exit|abort)|ctypes\.cdll\..*\.(?:_?exit|abort)")
_ASKS = frozenset({"exit", "quit", "get_ipython().ask_exit", "get_ipython().exit"})
_QUICK = frozenset(
    {"print", "flush", "getpid", "getppid", "getpgrp", "getpgid", "get_ident", "main_thread", "current_thread"}
    | {"Process", "CDLL", "dict"}
)
"""Calls by the last part of their name: what is written before, and what finds the own process."""
_RUNS_MORE = ("!", "%run", "%pip", "%conda", "%mamba")
_SCRIPT_OF_A_SHELL = re.compile(r"\s*%%(?:bash|sh|script\b.*\b(?:ba|da|z)?sh)\b")
_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.AsyncFor, ast.AsyncWith, ast.IfExp, ast.BoolOp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class EndingCall:
    """A call that ends the kernel, in the cell that makes it."""

    kind: Kind
    line: int
    text: str
    """The call as the user wrote it."""
    signal: str | None = None
    exit_code: int | None = None
    """None: not known before it runs."""
    certain: bool = True
    """It is reached whenever the cell runs so far: not under an `if`, in a loop, or in a `try`."""
    prompt: bool = True
    """Nothing before it takes time: imports, definitions, plain values and words on the screen only."""
    until: int | None = None
    """The last line of the cell's statement that holds it: code beyond that line runs after it. None: not known."""

    def reached(self, *, certain: bool, prompt: bool) -> EndingCall:
        """Return it as a part of what is reached like this."""
        return replace(self, certain=certain and self.certain, prompt=prompt and self.prompt)


class Known:
    """What the cells that ran have taught: what names stand for, and which functions end the kernel."""

    def __init__(self) -> None:
        self.names = Names()
        self.functions: dict[str, EndingCall] = {}
        """By name, those that end the kernel when they are called."""
        self._marked: re.Pattern[str] | None = None

    def concerns(self, source: str) -> bool:
        """Whether a cell may end the kernel: it holds such a word, or a name that is known to stand for one."""
        return bool(INTERESTING.search(source)) or (self._marked is not None and bool(self._marked.search(source)))

    def learn(self, source: str) -> MaskedCell | None:
        """Take in a cell; None for one that can teach nothing of interest: to parse a day of cells takes a second."""
        if not (_TEACHES.search(source) or self.concerns(source)):
            return None
        masked = mask(source)
        if masked is not None:
            self.names.learn(masked.tree)
            self._learn_functions(masked.tree, source)
            marked = {*self.functions, *self.names.standing_for(INTERESTING)}
            self._marked = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(marked)))})\b") if marked else None
        return masked

    def _learn_functions(self, tree: ast.Module, source: str) -> None:
        """Note the functions that end the kernel when they are called; one that is defined again is another."""
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            self.functions.pop(node.name, None)
            names, prompt = self.names.within(node), True
            for statement in node.body:
                for call, certain in _reachable(statement, certain=True):
                    if (ending := judge(call, names, source)) is not None:
                        self.functions.setdefault(node.name, ending.reached(certain=certain, prompt=prompt))
                prompt = prompt and _takes_no_time(statement)


def ending_calls(cells: Sequence[Cell], cell: Cell) -> tuple[EndingCall, ...]:
    """Return the calls in `cell` that end the kernel, given all cells in the order they ran."""
    # Most notebooks hold no such word anywhere, and this is asked for every death.
    if cell.truncated or not any(INTERESTING.search(some.source) for some in (cell, *cells)):
        return ()
    known = Known()
    for earlier in ran_before(cells, cell):
        known.learn(earlier.source)
    if not known.concerns(cell.source):
        return ()
    masked = known.learn(cell.source)
    return tuple(_in_a_script(cell.source) if masked is None else _calls_in(masked.tree, known, cell.source))


def _calls_in(tree: ast.Module, known: Known, source: str) -> Iterator[EndingCall]:
    prompt, lines = True, source.split("\n")
    for statement in tree.body:
        for call, certain in _reachable(statement, certain=True):
            name = known.names.resolve(call.func) if isinstance(call, ast.Call) else None
            function = known.functions.get(name or "")
            ending = function or judge(call, known.names, source)
            if ending is not None:
                yield replace(
                    ending.reached(certain=certain, prompt=prompt),
                    line=call.lineno,
                    text=ast.get_source_segment(source, call) or ending.text,
                    until=statement.end_lineno,
                )
        runs_more = lines[statement.lineno - 1].lstrip().startswith(_RUNS_MORE)
        prompt = prompt and not runs_more and _takes_no_time(statement)


def _reachable(node: ast.AST, *, certain: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The calls that run when the statement runs, each with whether it always does. Functions are not entered."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name | ast.Constant):
        yield node.value, certain  # `exit` alone on a line: IPython calls it; and `!…`, which is masked as a number
    if isinstance(node, ast.Call):
        yield node, certain
    inner = certain and not isinstance(node, _COMPOUND)
    for child in ast.iter_child_nodes(node):
        yield from _reachable(child, certain=inner)


def _takes_no_time(statement: ast.stmt) -> bool:
    """Imports, definitions and plain values; of calls only those that are known to be quick."""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    slow = (ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.comprehension)
    return not any(
        isinstance(node, slow) or (isinstance(node, ast.Call) and not _is_quick(node)) for node in ast.walk(statement)
    )


def _is_quick(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _QUICK


def judge(call: ast.expr, names: Names, source: str) -> EndingCall | None:
    """Say what a call, or `!…`, does to the kernel, if it ends it."""
    if isinstance(call, ast.Constant):
        return _by_magic(call, names, source)
    name = names.resolve(call.func if isinstance(call, ast.Call) else call)
    if name is None or not (name in SHELLS or INTERESTING.search(name)):
        return None
    ending = EndingCall("exit", call.lineno, ast.get_source_segment(source, call) or "")
    if not isinstance(call, ast.Call):
        return replace(ending, kind="ask") if name in ("exit", "quit") else None
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if name in _ASKS:
        return replace(ending, kind="ask")
    if name in SHELLS:
        return _by_shell(of_expression(call.args[0], names), ending) if call.args else None
    return _leaves(name, arguments, ending) or _signal_to_itself(name, arguments, names, ending)


def _leaves(name: str, arguments: list[ast.expr], ending: EndingCall) -> EndingCall | None:
    native = NATIVE.fullmatch(name)
    if name == "os.abort" or (native and name.endswith("abort")):
        return replace(ending, kind="abort", signal="SIGABRT")
    if name == "os._exit" or native:
        return replace(ending, exit_code=_exit_code(arguments))
    if re.fullmatch(r"os\.exec[lv]p?e?", name):
        return replace(ending, kind="replace")
    return ending if name.endswith(".do_shutdown") else None


def _signal_to_itself(name: str, arguments: list[ast.expr], names: Names, ending: EndingCall) -> EndingCall | None:
    kill = replace(ending, kind="signal")
    if name == "signal.raise_signal" and arguments:
        return replace(kill, signal=_signal(arguments[0], names))
    if name in ("os.kill", "os.killpg", "signal.pthread_kill") and len(arguments) == 2:
        return replace(kill, signal=_signal(arguments[1], names)) if names.is_own(arguments[0]) else None
    if name in ("psutil.Process().kill", "psutil.Process().terminate"):
        return replace(kill, signal="SIGKILL" if name.endswith("kill") else "SIGTERM")
    if name == "psutil.Process().send_signal" and arguments:
        return replace(kill, signal=_signal(arguments[0], names))
    return None


def _by_shell(script: str, ending: EndingCall) -> EndingCall | None:
    """The first command of a shell's that signals its parent, as a call of the kernel's."""
    kills = shell_kills(script)
    return next(
        (replace(ending, kind="signal", signal=one.signal, certain=one.certain, prompt=one.prompt) for one in kills),
        None,
    )


def _by_magic(node: ast.Constant, names: Names, source: str) -> EndingCall | None:
    """`!kill $PPID`."""
    line = source.split("\n")[node.lineno - 1].strip()
    if not line.startswith("!"):
        return None
    return _by_shell(of_magic(line, names), EndingCall("signal", node.lineno, line))


def _in_a_script(source: str) -> Iterator[EndingCall]:
    """`kill $PPID` in `%%bash`: the shell's parent is the kernel."""
    headers = header_magics(source)
    lines = source.split("\n")
    if any(_SCRIPT_OF_A_SHELL.match(lines[number - 1]) for number in headers):
        script = "\n".join("" if number in headers else line for number, line in enumerate(lines, 1))
        for one in shell_kills(script):
            yield EndingCall("signal", one.line, one.text, one.signal, certain=one.certain, prompt=one.prompt)


def _signal(node: ast.expr, names: Names) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return signal_name(node.value)
    name = (names.resolve(node) or "").split(".")[-1]
    return name if name.startswith("SIG") else None


def _exit_code(arguments: list[ast.expr]) -> int | None:
    """The exit status as the parent sees it: the low byte."""
    try:
        return int(ast.literal_eval(arguments[0])) & 0xFF
    except (IndexError, ValueError, TypeError, SyntaxError, OverflowError):
        return None
