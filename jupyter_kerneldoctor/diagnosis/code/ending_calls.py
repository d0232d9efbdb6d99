"""Finds the statements with which a cell ends its own kernel: signals to itself, `os._exit`, `exit()`, `os.abort()`.

Names are followed through the imports and assignments of all cells that ran (`from os import kill as k`), and through
functions that are defined there (`def stop(): os._exit(1)`), also where one calls the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..units import signal_name
from .calls import given_to
from .cellsource import header_magics, line_of
from .notebook import Notebook
from .process_loops import sent_to_found
from .reachable_calls import reachable_calls, takes_no_time
from .scopes import Scope
from .shell import Aim, ShellKill, shell_kills
from .shell_commands import ShellCommands

Kind = Literal["signal", "exit", "ask", "abort", "replace"]

INTERESTING = re.compile(
    r"(?:\b|(?<=\\[nt]))(?:p?kill|killall|killpg|fuser|pthread_kill|_?exit|quit|abort|raise_signal|send_signal|terminate|"
    r"do_shutdown|ask_exit|exec[lv]p?e?|dump_traceback_later)\b"
)
"""Words of calls that end a process, also behind a line's end in a text: `\\nkill`."""
_TEXTS = (
    *("kill", "fuser", "exit", "quit", "abort", "raise_signal", "send_signal", "terminate", "do_shutdown", "exec"),
    "dump_trace",
)
"""At least one of these stands where `INTERESTING` fits: to look for them is quick."""
SHELLS = frozenset(
    {f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "getoutput", "Popen")}
    | {"os.system", "os.popen"}
)
NATIVE = re.compile(r"ctypes\.(?:C|Py)DLL\(.*\)\.(?:_?exit|abort)|ctypes\.cdll\..*\.(?:_?exit|abort)")
_ASKS = frozenset({"exit", "quit", "get_ipython().ask_exit", "get_ipython().exit"})
_APART = ("start_new_session", "process_group", "setsid", "setpgrp", "setpgid", "set -m")
"""Words by which a process gets a group of its own; without one it is in the group of who started it."""
_SCRIPT_FILE = re.compile(r"(?<![\w./-])[\w./-]+\.(?:sh|bash)\b")
_RUNS_MORE = ("!", "%run", "%pip", "%conda", "%mamba")
_SCRIPT_OF_A_SHELL = re.compile(r"\s*%%(?:bash|sh|script\b.*\b(?:ba|da|z)?sh)\b")


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
    aim: Aim = "itself"
    """At what a signal is aimed."""
    place: tuple[int, int] | None = None
    """The cell, by its place in the notebook, and the line of the call itself: `line` is where the cell makes it."""

    def reached(self, *, certain: bool, prompt: bool) -> EndingCall:
        """Return it as a part of what is reached like this."""
        return replace(self, certain=certain and self.certain, prompt=prompt and self.prompt)


class EndingCalls:
    """Tells which calls in a notebook's cells end the kernel. What a function does is worked out once."""

    def __init__(self, code: Notebook) -> None:
        self._code = code
        self._by_function: dict[Scope, EndingCall | None] = {}

    def of_cell(self, cell: Scope) -> Iterator[EndingCall]:
        """Yield those that the statements of a cell make, also by calling a function."""
        self._code.spend(4 * len(cell.nodes))
        prompt = True
        for statement in cell.body:
            for call, certain in reachable_calls(statement):
                ending = self.of_function(call.func, cell) if isinstance(call, ast.Call) else None
                ending = ending or self.judge(call, cell)
                if ending is not None:
                    yield replace(
                        ending.reached(certain=certain, prompt=prompt),
                        line=call.lineno,
                        text=cell.segment(call) if isinstance(call, ast.Call) else ending.text,
                        until=statement.end_lineno,
                    )
            runs_more = line_of(cell.tree.source, statement.lineno).lstrip().startswith(_RUNS_MORE)
            prompt = prompt and not runs_more and takes_no_time(statement)

    def of_function(self, name: ast.expr, scope: Scope) -> EndingCall | None:
        """Return the first that a function makes, or what it calls, given the name it is called by; None for none."""
        binding = self._code.definition(name, scope)
        if binding is None and isinstance(name, ast.Attribute):
            return self._of_method(name, scope)
        if binding is None or binding.definition is None or isinstance(binding.definition, ast.ClassDef):
            return None
        return self._of_scope(self._code.function_scope(binding.definition, binding.cell))

    def _of_method(self, name: ast.Attribute, scope: Scope) -> EndingCall | None:
        """Return the same of a method, if all of this name in the cells end the kernel: the object is not known."""
        if self._code.qualified(name, scope) is not None:
            return None  # a library's
        methods = [one for one in self._code.functions_named(name.attr) if one.owner or "self" in one.bindings]
        found = [self._of_scope(one) for one in methods]
        return found[0].reached(certain=False, prompt=True) if found and found[0] is not None and all(found) else None

    def _of_scope(self, function: Scope) -> EndingCall | None:
        if function not in self._by_function:
            self._by_function[function] = None  # while it is looked at: it may call itself
            self._by_function[function] = self._first(function)
        return self._by_function[function]

    def _first(self, function: Scope) -> EndingCall | None:
        self._code.spend(4 * len(function.nodes))
        prompt = True
        for statement in function.body:
            for call, certain in reachable_calls(statement):
                ending = self.judge(call, function)
                if ending is None and isinstance(call, ast.Call):
                    ending = self.of_function(call.func, function)
                if ending is not None:
                    return ending.reached(certain=certain, prompt=prompt)
            prompt = prompt and takes_no_time(statement)
        return None

    def judge(self, call: ast.expr, scope: Scope) -> EndingCall | None:
        """Say what a call, or `!…`, does to the kernel, if it ends it."""
        if isinstance(call, ast.Constant):
            return self._by_magic(call, scope)
        name = self._code.described(call.func if isinstance(call, ast.Call) else call, scope)
        if isinstance(call, ast.Call) and (signal := sent_to_found(call, scope, self._code)) is not None:
            place = (scope.cell, call.lineno)
            text = scope.segment(call)
            return EndingCall("signal", call.lineno, text, signal or None, certain=False, aim="all", place=place)
        if name is None or not (name in SHELLS or INTERESTING.search(name)):
            return None
        ending = EndingCall("exit", call.lineno, scope.segment(call), place=(scope.cell, call.lineno))
        if not isinstance(call, ast.Call):
            return replace(ending, kind="ask") if name in ("exit", "quit") else None
        arguments = given_to(call)
        if name in _ASKS:
            return replace(ending, kind="ask")
        if name in SHELLS:
            script = ShellCommands(scope, self._code).of_expression(call.args[0]) if call.args else ""
            found = self._by_shell(script, ending)
            apart = any(word.arg in _APART for word in call.keywords)
            return None if apart and found is not None and found.aim == "group" else found
        return _leaves(name, arguments, ending) or self._signal_to_itself(name, arguments, scope, ending)

    def _signal_to_itself(
        self, name: str, arguments: list[ast.expr], scope: Scope, ending: EndingCall
    ) -> EndingCall | None:
        kill = replace(ending, kind="signal")
        if name == "signal.raise_signal" and arguments:
            return replace(kill, signal=self._signal(arguments[0], scope))
        if name in ("os.kill", "os.killpg", "signal.pthread_kill") and len(arguments) == 2:
            kill = replace(kill, signal=self._signal(arguments[1], scope))
            if self._code.is_own_process(arguments[0], scope):
                return kill
            return replace(kill, aim="group") if self._is_childs_group(name, arguments[0], scope) else None
        if name in ("psutil.Process().kill", "psutil.Process().terminate"):
            return replace(kill, signal="SIGKILL" if name.endswith("kill") else "SIGTERM")
        if name == "psutil.Process().send_signal" and arguments:
            return replace(kill, signal=self._signal(arguments[0], scope))
        return None

    def _is_childs_group(self, name: str, target: ast.expr, scope: Scope) -> bool:
        """Whether it is the group of a process while none that the cells started got a group of its own."""
        asked = isinstance(target, ast.Call) and self._code.described(target.func, scope) == "os.getpgid"
        if name != "os.killpg" or not asked:
            return False
        return self._code.has_text("Popen", "Process(") and not self._code.has_text(*_APART)

    def _signal(self, node: ast.expr, scope: Scope) -> str | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return signal_name(node.value)
        name = (self._code.described(node, scope) or "").split(".")[-1]
        return name if name.startswith("SIG") else None

    def _by_magic(self, node: ast.Constant, scope: Scope) -> EndingCall | None:
        """`!kill $PPID`."""
        line = line_of(scope.tree.source, node.lineno).strip()
        if not line.startswith("!"):
            return None
        script = ShellCommands(scope, self._code).of_magic(line, node.lineno)
        found = self._by_shell(script, EndingCall("signal", node.lineno, line))
        return None if found is not None and found.aim == "group" else found  # IPython gives it a session of its own

    def _by_shell(self, script: str, ending: EndingCall) -> EndingCall | None:
        """The first command of a shell's that signals its parent, as a call of the kernel's."""
        self._code.spend(50 + 2 * len(script))
        first = next(shell_kills(script), None) or self._in_a_file(script)
        if first is None:
            return None
        sent = replace(ending, kind="signal", signal=first.signal, aim=first.aim)
        return replace(sent, certain=first.certain, prompt=first.prompt)

    def _in_a_file(self, script: str) -> ShellKill | None:
        """The first such command of a script that a cell has written to a file, and that a shell is given to run."""
        files = _SCRIPT_FILE.findall(script)
        for index in self._code.with_text(*files) if files else ():
            module = self._code.module(index)
            texts = [self._code.source(index)] if module is None else []
            for scope in () if module is None else self._code.scopes(index):
                texts += [
                    one.value for one in scope.nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ]
            for text in (one for one in texts if "kill" in one):
                self._code.spend(2 * len(text))
                if (found := next(shell_kills(text), None)) is not None:
                    return replace(found, certain=False, prompt=False)
        return None


def ending_calls(code: Notebook) -> tuple[EndingCall, ...]:
    """Return the calls that end the kernel in the cell that was running. Raises CodeTooLargeError."""
    # Most notebooks hold no such word anywhere, and this is asked for every death.
    if code.last < 0 or code.cells[code.last].truncated or not may_end(code):
        return ()
    cell = code.module(code.last)
    return tuple(_in_a_script(code.source(code.last)) if cell is None else EndingCalls(code).of_cell(cell))


def call_at(code: Notebook, cell: int, line: int) -> EndingCall | None:
    """Return the call at a line of any cell, also in a method, that ends the kernel. Raises CodeTooLargeError."""
    if not INTERESTING.search(code.source(cell)):
        return None
    calls = (
        (node, scope)
        for scope in code.scopes(cell)
        for node in scope.nodes
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or line)
    )
    judged = (EndingCalls(code).judge(node, scope) for node, scope in calls)
    return next((one for one in judged if one is not None), None)


def may_end(code: Notebook) -> bool:
    """Whether any cell that ran holds a word of calls that end a process."""
    return any(INTERESTING.search(code.source(index)) for index in code.with_text(*_TEXTS))


def _leaves(name: str, arguments: list[ast.expr], ending: EndingCall) -> EndingCall | None:
    native = NATIVE.fullmatch(name)
    if name == "os.abort" or (native and name.endswith("abort")):
        return replace(ending, kind="abort", signal="SIGABRT")
    if name == "os._exit" or native:
        return replace(ending, exit_code=_exit_code(arguments))
    if re.fullmatch(r"os\.exec[lv]p?e?", name):
        return replace(ending, kind="replace")
    return ending if name.endswith(".do_shutdown") else None


def _in_a_script(source: str) -> Iterator[EndingCall]:
    """`kill $PPID` in `%%bash`: the shell's parent is the kernel."""
    headers = header_magics(source)
    lines = source.split("\n")
    if any(_SCRIPT_OF_A_SHELL.match(lines[number - 1]) for number in headers):
        script = "\n".join("" if number in headers else line for number, line in enumerate(lines, 1))
        for one in shell_kills(script):
            sent = EndingCall("signal", one.line, one.text, one.signal, certain=one.certain, prompt=one.prompt)
            yield replace(sent, aim=one.aim)


def _exit_code(arguments: list[ast.expr]) -> int | None:
    """The exit status as the parent sees it: the low byte."""
    try:
        return int(ast.literal_eval(arguments[0])) & 0xFF
    except (IndexError, ValueError, TypeError, SyntaxError, OverflowError):
        return None
