"""Finds the statements with which a cell ends its own kernel: signals to itself, `os._exit`, `exit()`, `os.abort()`.

Names are followed through the imports and plain assignments of all cells that ran before (`from os import kill as k`),
and through functions defined there (`def stop(): os._exit(1)`). Nothing is run.
"""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..signs.ending import signal_name
from .cellsource import header_magics, mask, parse
from .names import Names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_kerneldoctor.recording.model import Cell

Kind = Literal["signal", "exit", "ask", "abort", "replace"]

_INTERESTING = re.compile(
    r"kill|exit|quit|abort|raise_signal|send_signal|terminate|shutdown|exec[lv]|suicide|dump_traceback_later"
)
_TEACHES = re.compile(_INTERESTING.pattern + r"|import|def |getpid|Process")
_SHELL_KILL = re.compile(r"\bkill\s+(?:-(?:s\s*)?(?P<signal>\w+)\s+)?[^;|&]*?(?:\$+PPID|getpid\(\)|\$pid\b|\{pid\})")
_SHELLS = frozenset({"os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.Popen"})
_NATIVE = re.compile(r"ctypes\.(?:C|Py)DLL\(.*\)\.(?:_?exit|abort)|ctypes\.cdll\..*\.(?:_?exit|abort)")
_ASKS = frozenset({"exit", "quit", "get_ipython().ask_exit", "get_ipython().exit"})
_QUICK = frozenset(
    {"print", "flush", "getpid", "getppid", "getpgrp", "getpgid", "get_ident", "main_thread", "current_thread"}
    | {"Process", "CDLL", "dict"}
)
"""Calls by the last part of their name: what is written before, and what finds the own process."""
_CALL_LATER = frozenset(
    {"Thread", "Timer", "start_new_thread", "signal", "add_signal_handler", "call_later", "call_at", "add_timeout"}
    | {"PeriodicCallback", "run_in_executor", "to_thread"}
)
"""Functions by the last part of their name that have a function called by a thread, a timer or a signal's handler."""
_HANDS_OVER = re.compile(rf"\b(?:{'|'.join(sorted(_CALL_LATER))}|dump_traceback_later)\s*\(")
_RUNS_MORE = ("!", "%run", "%pip", "%conda", "%mamba")
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
    prompt: bool = False
    """Nothing before it takes time: imports, definitions, plain values and words on the screen only."""
    until: int | None = None
    """The last line of the cell's statement that holds it: code beyond that line runs after it. None: not known."""


def ending_calls(cells: Sequence[Cell], cell: Cell) -> tuple[EndingCall, ...]:
    """Return the calls in `cell` that end the kernel, given all cells in the order they ran."""
    # Most notebooks hold no such word anywhere, and this is asked for every death.
    if cell.truncated or not any(_INTERESTING.search(some.source) for some in (cell, *cells)):
        return ()
    names = Names()
    functions: dict[str, EndingCall] = {}
    for earlier in cells:
        if earlier is cell:
            break
        masked = mask(earlier.source) if _TEACHES.search(earlier.source) else None
        if masked is not None:
            names.learn(masked.tree)
            _learn_functions(functions, masked.tree, names, earlier.source)
    masked = mask(cell.source)
    shell = tuple(_shell_lines(cell.source))
    if masked is None:
        return shell
    names.learn(masked.tree)
    _learn_functions(functions, masked.tree, names, cell.source)
    return shell + tuple(_calls_in(masked.tree, names, functions, cell.source))


def handed_over(cells: Sequence[Cell], cell: Cell) -> tuple[tuple[Cell, EndingCall], ...]:
    """Return the calls that a timer, a thread, a handler or the like may make later, and the cells they stand in.

    They are in a function or a `lambda` that a cell, this one or an earlier one, gives to such a function.
    """
    ran = [*itertools.takewhile(lambda one: one is not cell, cells), cell]
    if not any(_HANDS_OVER.search(one.source) for one in ran) or not any(
        _INTERESTING.search(one.source) for one in ran
    ):
        return ()  # parsing the cells of a day takes a second
    names, found = Names(), []
    functions: dict[str, EndingCall] = {}
    homes: dict[str, Cell] = {}
    for one in ran:
        masked = mask(one.source) if not one.truncated and _TEACHES.search(one.source) else None
        if masked is not None:
            names.learn(masked.tree)
            _learn_functions(functions, masked.tree, names, one.source)
            defined = [node.name for node in masked.tree.body if isinstance(node, ast.FunctionDef)]
            homes.update(dict.fromkeys(defined, one))
        tree = masked.tree if masked is not None else parse(one.source) if functions else None
        for call in ast.walk(tree) if tree is not None else ():
            for given in _arguments(call):
                if isinstance(given, ast.Name) and given.id in functions and given.id in homes:
                    found.append((homes[given.id], functions[given.id]))
                elif isinstance(given, ast.Lambda):
                    inner = (_judge(node, names, one.source) for node in ast.walk(given) if isinstance(node, ast.Call))
                    found.extend((one, ending) for ending in inner if ending is not None)
            if isinstance(call, ast.Call) and names.resolve(call.func) == "faulthandler.dump_traceback_later":
                found.extend(_exit_after(call, one))
    return tuple(found)


def _arguments(call: ast.AST) -> list[ast.expr]:
    """What is given to a function that calls it later, in this process: what a worker process does ends only that."""
    if not isinstance(call, ast.Call):
        return []
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return [*call.args, *(keyword.value for keyword in call.keywords)] if name in _CALL_LATER else []


def _exit_after(call: ast.Call, cell: Cell) -> Iterator[tuple[Cell, EndingCall]]:
    """With `exit=True`, faulthandler leaves with 1 when the time is up (faulthandler.dump_traceback_later)."""
    if any(word.arg == "exit" and isinstance(word.value, ast.Constant) and word.value.value for word in call.keywords):
        text = ast.get_source_segment(cell.source, call) or ""
        yield cell, EndingCall("exit", call.lineno, text, exit_code=1)


def names_an_exit(cells: Sequence[Cell], cell: Cell) -> int | None:
    """Return the first line of `cell` that names `os._exit` or a native exit, also within functions; None without one.

    A handler of a signal, a timer or another thread may run it, where no statement of the cell calls it.
    """
    masked = mask(cell.source)
    if cell.truncated or masked is None:
        return None
    names = Names()
    for earlier in (*cells, cell):
        if "exit" in earlier.source and (tree := parse(earlier.source)) is not None:
            names.learn(tree)
        if earlier is cell:
            break
    found = [
        node.lineno
        for node in ast.walk(masked.tree)
        if isinstance(node, ast.Name | ast.Attribute) and _is_exit(names.resolve(node) or "")
    ]
    return min(found, default=None)


def _is_exit(name: str) -> bool:
    return name == "os._exit" or (bool(_NATIVE.fullmatch(name)) and name.endswith("exit"))


def _learn_functions(functions: dict[str, EndingCall], tree: ast.Module, names: Names, source: str) -> None:
    """Note the functions that end the kernel when they are called; one that is defined again is another."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        functions.pop(node.name, None)
        prompt = True
        for statement in node.body:
            for call, certain in _reachable(statement, certain=True):
                if (ending := _judge(call, names, source)) is not None:
                    functions.setdefault(node.name, replace(ending, certain=certain, prompt=prompt))
            prompt = prompt and _takes_no_time(statement)


def _calls_in(tree: ast.Module, names: Names, functions: dict[str, EndingCall], source: str) -> Iterator[EndingCall]:
    prompt, lines = True, source.split("\n")
    for statement in tree.body:
        for call, certain in _reachable(statement, certain=True):
            name = names.resolve(call.func) if isinstance(call, ast.Call) else None
            known = functions.get(name or "")
            ending = known or _judge(call, names, source)
            if ending is not None:
                yield replace(
                    ending,
                    line=call.lineno,
                    text=ast.get_source_segment(source, call) or ending.text,
                    certain=certain and ending.certain,
                    prompt=prompt and (known is None or known.prompt),
                    until=statement.end_lineno,
                )
        runs_more = lines[statement.lineno - 1].lstrip().startswith(_RUNS_MORE)
        prompt = prompt and not runs_more and _takes_no_time(statement)


def _reachable(node: ast.AST, *, certain: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The calls that run when the statement runs, each with whether it always does. Functions are not entered."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name):
        yield node.value, certain  # `exit` alone on a line: IPython calls it
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


def _judge(call: ast.expr, names: Names, source: str) -> EndingCall | None:
    """Say what a call does to the kernel, if it ends it."""
    text = ast.get_source_segment(source, call) or ""
    if isinstance(call, ast.Name):
        return EndingCall("ask", call.lineno, text) if names.resolve(call) in ("exit", "quit") else None
    name = names.resolve(call.func) if isinstance(call, ast.Call) else None
    if name is None or not isinstance(call, ast.Call):
        return None
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    ending = EndingCall("exit", call.lineno, text)
    if name == "os._exit":
        return replace(ending, exit_code=_exit_code(arguments))
    if name in _ASKS:
        return replace(ending, kind="ask")
    native = _NATIVE.fullmatch(name)
    if name == "os.abort" or (native and name.endswith("abort")):
        return replace(ending, kind="abort", signal="SIGABRT")
    if name.endswith(".do_shutdown"):
        return ending
    if re.fullmatch(r"os\.exec[lv]p?e?", name):
        return replace(ending, kind="replace")
    if native:
        return replace(ending, exit_code=_exit_code(arguments))
    if name in _SHELLS:
        return next((replace(line, line=call.lineno, text=text) for line in _shell_kills(text)), None)
    return _signal_to_itself(name, arguments, names, ending)


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


def _shell_lines(source: str) -> Iterator[EndingCall]:
    """`!kill $PPID`, and the same in `%%bash`: a shell's parent is the kernel."""
    in_shell = any(magic in ("bash", "sh", "script") for magic in header_magics(source).values())
    if not in_shell and "!" not in source:
        return
    for number, line in enumerate(source.split("\n"), 1):
        if in_shell or re.match(r"\s*!", line):
            yield from (replace(ending, line=number, prompt=number <= 2) for ending in _shell_kills(line))


def _shell_kills(text: str) -> Iterator[EndingCall]:
    """The same in the arguments of `os.system` or `subprocess.run`, as a string or as a list of words."""
    if found := _SHELL_KILL.search(re.sub(r"[\"',\[\]]", " ", text)):
        name = found["signal"] or "TERM"
        signal = signal_name(int(name)) if name.isdecimal() else "SIG" + name.upper().removeprefix("SIG")
        yield EndingCall("signal", 1, text.strip(), signal)


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
