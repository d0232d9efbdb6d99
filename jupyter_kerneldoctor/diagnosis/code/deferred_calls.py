"""Finds the calls that end the kernel and that a timer, a thread or a handler makes later for a cell."""

import ast
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.model import Cell

from .calls import given_to, last_name
from .ending_calls import NATIVE, EndingCall, EndingCalls, may_end
from .notebook import Notebook
from .scopes import Scope
from .stores import Store, stores

_DEFER = frozenset(
    {"Thread", "Timer", "start_new_thread", "signal", "add_signal_handler", "call_later", "call_at", "add_timeout"}
    | {"PeriodicCallback", "run_in_executor", "to_thread"}
)
"""Functions by the last part of their name that have a function called by a thread, a timer or a signal's handler."""
_DUMPS = "dump_traceback_later"
_STARTS = "subprocess.Popen"
_MOST_ARGUMENTS = 8


def deferred_calls(code: Notebook) -> tuple[tuple[Cell, EndingCall], ...]:
    """Return the calls that a timer, a thread, a handler or the like may make later, and the cells they stand in.

    They are in a function or a `lambda` that a cell gives to such a function, or in a shell's command that runs in the
    background. Raises CodeTooLargeError.
    """
    if not may_end(code):
        return ()
    ends = EndingCalls(code)
    indices = reversed([*code.with_words(*_DEFER, _DUMPS, "Popen")])
    scopes = (scope for index in indices for scope in code.scopes(index))
    return tuple((code.cells[at], ending) for scope in scopes for at, ending in _given(scope, ends, code))


def deferred_functions(code: Notebook) -> Iterator[Scope]:
    """Yield the functions and methods that a cell gives to a timer, a thread or a handler. Raises CodeTooLargeError."""
    for index in reversed([*code.with_words(*_DEFER)]):
        for scope in code.scopes(index):
            for call in scope.calls:
                name = last_name(call.func)
                arguments = given_to(call) if name in _DEFER else []
                for given in arguments[:_MOST_ARGUMENTS]:
                    binding = code.definition(given, scope)
                    if binding is not None and isinstance(binding.definition, ast.FunctionDef | ast.AsyncFunctionDef):
                        yield code.function_scope(binding.definition, binding.cell)
                    elif isinstance(given, ast.Attribute):
                        yield from code.functions_named(given.attr)


def deferred_store(code: Notebook) -> Store | None:
    """Return the one statement with which a thread or timer fills a container again and again; None without one."""
    found = [one for one in stores(deferred_functions(code)) if one.scope.loops_around(one.statement)]
    return found[0] if len({one.container for one in found}) == 1 else None


def _given(scope: Scope, ends: EndingCalls, code: Notebook) -> Iterator[tuple[int, EndingCall]]:
    for call in scope.calls:
        name = last_name(call.func)
        arguments = given_to(call) if name in _DEFER else []
        for place, given in enumerate(arguments[:_MOST_ARGUMENTS]):
            if isinstance(given, ast.Lambda):
                function = code.function_scope(given, scope.cell)
                yield from ((scope.cell, one) for node in function.calls if (one := ends.judge(node, function)))
            elif (binding := code.definition(given, scope)) is not None:
                if (ending := ends.of_function(given, scope)) is not None:
                    yield binding.cell, ending
            elif (ending := ends.judge(_called(given, place, call), scope)) is not None:
                yield scope.cell, ending
        called = code.qualified(call.func, scope)
        if called == _STARTS and (ending := ends.judge(call, scope)) is not None:
            yield scope.cell, ending  # a shell in the background, which the cell does not wait for
        if called == f"faulthandler.{_DUMPS}" and _exits(call):
            yield scope.cell, EndingCall("exit", call.lineno, scope.segment(call), exit_code=1)


def _called(given: ast.expr, place: int, call: ast.Call) -> ast.expr:
    """The call that will be made of `Timer(9, os._exit, args=(3,))` or `call_later(9, os._exit, 3)`."""
    behind = call.args[place + 1 : _MOST_ARGUMENTS]
    arguments = next((word.value for word in call.keywords if word.arg == "args"), behind[0] if behind else None)
    inner = arguments.elts if isinstance(arguments, ast.Tuple | ast.List) else behind
    return ast.copy_location(ast.Call(given, inner, []), call)


def _exits(call: ast.Call) -> bool:
    """Whether faulthandler leaves with 1 when the time is up (faulthandler.dump_traceback_later)."""
    return any(
        word.arg == "exit" and isinstance(word.value, ast.Constant) and word.value.value for word in call.keywords
    )


def names_an_exit(code: Notebook) -> int | None:
    """Return the first line of the running cell that names `os._exit` or a native exit; None without one.

    A handler of a signal, a timer or another thread may run it, where no statement of the cell calls it. Raises
    CodeTooLargeError.
    """
    if code.last < 0 or not code.has_words("exit", "_exit"):
        return None
    scopes = code.scopes(code.last)
    named = [(node.lineno, code.described(node, scope) or "") for scope in scopes for node in scope.names]
    exits = (line for line, name in named if name == "os._exit" or (name.endswith("exit") and NATIVE.fullmatch(name)))
    return min(exits, default=None)
