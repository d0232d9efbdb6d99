"""Finds the calls that end the kernel and that a timer, a thread, a handler or a hook makes later for a cell."""

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
_CALLS_BACK = frozenset(
    {"register", "add_done_callback", "set_exception_handler", "set_custom_exc", "finalize", "add_job", "call_soon"}
    | {"call_soon_threadsafe", "addaudithook", "on_click", "observe"}
)
"""The same of functions that have one called when something comes to pass: an error, an end, a click."""
HOOKS = frozenset({"excepthook", "unraisablehook"})
"""Attributes of `sys` and `threading` that hold the function which an error goes to."""
_THREADS = frozenset({"Thread", "Timer"})
_DUMPS = "dump_traceback_later"
_STARTS = "subprocess.Popen"
_MOST_ARGUMENTS = 8


def deferred_calls(code: Notebook) -> tuple[tuple[Cell, EndingCall], ...]:
    """Return the calls that a timer, a thread, a handler or the like may make later, and the cells they stand in.

    They are in a function or a `lambda` that a cell gives to such a function, makes a hook of or decorates so, in the
    `run` of a thread's class, or in a shell's command that runs in the background. Raises CodeTooLargeError.
    """
    if not may_end(code):
        return ()
    ends = EndingCalls(code)
    indices = reversed([*code.with_words(*_DEFER, *_CALLS_BACK, *HOOKS, _DUMPS, "Popen")])
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


def hooks(code: Notebook) -> Iterator[tuple[str, Scope]]:
    """Yield the functions of cells that are hooks for errors, each with what it is set as: "threading.excepthook"."""
    for scope in code.scopes_mentioning(*HOOKS):
        for hook, given in _set_hooks(scope):
            name, definition = scope.segment(hook), code.definition(given, scope)
            if isinstance(given, ast.Lambda):
                yield name, code.function_scope(given, scope.cell)
            elif definition is not None and isinstance(definition.definition, ast.FunctionDef):
                yield name, code.function_scope(definition.definition, definition.cell)


def _set_hooks(scope: Scope) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in scope.nodes:
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=attr) as hook], value=given) if attr in HOOKS:
                yield hook, given


def _given(scope: Scope, ends: EndingCalls, code: Notebook) -> Iterator[tuple[int, EndingCall]]:
    for call in scope.calls:
        name = last_name(call.func)
        arguments = given_to(call) if name in _DEFER | _CALLS_BACK else []
        for place, given in enumerate(arguments[:_MOST_ARGUMENTS]):
            found = [*_in_function(given, scope, ends, code)]
            yield from found
            if found or isinstance(given, ast.Lambda) or code.definition(given, scope) is not None:
                continue
            if (ending := ends.judge(_called(given, place, call), scope)) is not None:
                yield scope.cell, ending
        called = code.qualified(call.func, scope)
        if called == _STARTS and (ending := ends.judge(call, scope)) is not None:
            yield scope.cell, ending  # a shell in the background, which the cell does not wait for
        if called == f"faulthandler.{_DUMPS}" and _exits(call):
            yield scope.cell, EndingCall("exit", call.lineno, scope.segment(call), exit_code=1)

    for _, given in _set_hooks(scope):
        yield from _in_function(given, scope, ends, code)
    if _is_called_by_itself(scope):
        calls = (ends.judge(node, scope) or ends.of_function(node.func, scope) for node in scope.calls)
        yield from ((scope.cell if one.place is None else one.place[0], one) for one in calls if one is not None)


def _in_function(given: ast.expr, scope: Scope, ends: EndingCalls, code: Notebook) -> Iterator[tuple[int, EndingCall]]:
    """Yield what a function does that is given by its name, as a `lambda`, or with some of its arguments."""
    match given:
        case ast.Lambda():
            function = code.function_scope(given, scope.cell)
            yield from ((scope.cell, one) for node in function.calls if (one := ends.judge(node, function)))
        case ast.Call(func=function, args=[inner, *_]) if last_name(function) == "partial":
            yield from _in_function(inner, scope, ends, code)
        case ast.Name() | ast.Attribute():
            if (ending := ends.of_function(given, scope)) is not None:
                yield scope.cell if ending.place is None else ending.place[0], ending


def _is_called_by_itself(scope: Scope) -> bool:
    """Whether a function is a thread's `run`, or registered by its decorator: `@atexit.register`."""
    if not isinstance(scope.node, ast.FunctionDef):
        return False
    parts = [one.func if isinstance(one, ast.Call) else one for one in scope.node.decorator_list]
    if any(last_name(one) in _DEFER | _CALLS_BACK for one in parts):
        return True
    classes = scope.parent.nodes if scope.parent is not None and scope.function == "run" else ()
    bases = [base for one in classes if isinstance(one, ast.ClassDef) and one.name == scope.owner for base in one.bases]
    return any(last_name(one) in _THREADS for one in bases)


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
