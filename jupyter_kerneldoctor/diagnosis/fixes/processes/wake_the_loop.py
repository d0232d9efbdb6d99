import ast
from collections.abc import Iterator
from dataclasses import replace as changed

from ...code.attributes import Origin
from ...code.origins import all_origins
from ...edits import Changes, import_as, insert_before, replace
from ...examples.stuck import frame, look, thread
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, Scope, quote

_TELLS = frozenset({"put_nowait", "set", "set_result", "set_exception", "cancel"})
_THREADS = ("threading", "ThreadPoolExecutor", "run_in_executor", "to_thread")
_LOOP = "notebook_loop"
_FILLS = "def fill(q):\n    for n in range(3): q.put_nowait(n)"
_READS = "q = asyncio.Queue()\nthreading.Thread(target=fill, args=(q,)).start()\nx = await q.get()"


def _case(fills: str, reads: str, **more: object) -> Case:
    idle = thread(frame("asyncio/base_events.py", "_run_once"), waits_in="do_epoll_wait")
    stuck = changed(look(reads, 3), threads=(changed(idle, has_limit=False, wakers=()),))
    recorded = {"cause": "hang", "line": 3, "stuck": [stuck], **more}
    return Case("import asyncio, threading", fills, reads, **recorded)  # type: ignore[arg-type]


class WakeTheLoop(Fix):
    """Tell the event loop from a thread in the way that wakes it.

    What it does: `put_nowait` of an asyncio queue, `set` of its event and `set_result` of its future are for the thread
    of the event loop. Called in another thread they do not wake the loop: it sleeps on, with the answer there.
    `call_soon_threadsafe` has the loop call them, and wakes it.

    When it is offered: The cell awaits what nothing is left to bring, and a function that is no coroutine tells such an
    object in a notebook with threads.

    What it costs: Nothing.
    """

    id, title, causes = "wake-the-loop", "Tell the loop from a thread with call_soon_threadsafe", ("hang",)

    FIRES = [
        _case(
            _FILLS,
            _READS,
            becomes={
                2: "notebook_loop = asyncio.get_running_loop()  # wakes it from a thread\n"
                + _FILLS.replace("q.put_nowait(n)", "notebook_loop.call_soon_threadsafe(q.put_nowait, n)")
            },
            says=("`q.put_nowait(n)`", "call_soon_threadsafe(q.put_nowait, n)"),
        )
    ]
    SILENT = [
        _case(_FILLS.replace("q.put_nowait", "loop.call_soon_threadsafe(q.put_nowait, n); print"), _READS),
        _case("async " + _FILLS, _READS),
        _case(_FILLS, _READS.replace("asyncio.Queue()", "janus.Queue()")),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or not still.main.needs_an_event or not death.code.has_text(*_THREADS):
            return
        for scope in death.code.scopes_mentioning(*_TELLS):
            for node in () if scope.is_cell or isinstance(scope.node, ast.AsyncFunctionDef) else scope.calls:
                if not isinstance(node.func, ast.Attribute) or not _is_told(node.func, scope, death):
                    continue
                call = Call(node, scope, node.func.attr)
                given = ", ".join(scope.segment(one) for one in (node.func, *node.args))
                safe = f"{_LOOP}.call_soon_threadsafe({given})"
                why = (
                    f"{quote(call.text)} runs in a thread, and asyncio's objects are for the thread of their loop: "
                    "it does not wake the loop, which sleeps on."
                )
                snippet = (
                    f"{_LOOP} = asyncio.get_running_loop()  # in a cell, or in a coroutine\n"
                    f"{safe}  # in the thread, in place of {call.text}"
                )
                yield Proposal(_edit(call, safe, death), why, snippet=snippet)
                return


def _is_told(function: ast.Attribute, scope: Scope, death: Death) -> bool:
    """Whether it tells a queue, an event or a future of asyncio."""
    if function.attr not in _TELLS:
        return False
    origins = [*all_origins(function.value, scope, death.code), *_handed_over(function.value, scope, death)]
    made = (death.code.qualified(one.func, where) or "" for one, where in origins if isinstance(one, ast.Call))
    return any(one.startswith("asyncio.") or one.endswith(".create_future") for one in made)


def _handed_over(value: ast.expr, function: Scope, death: Death) -> Iterator[Origin]:
    """Yield what a parameter was given with the function: `Thread(target=fill, args=(q,))`, `pool.submit(fill, q)`."""
    if not isinstance(value, ast.Name) or value.id not in function.parameters:
        return
    at = function.parameters.index(value.id)
    for scope in death.code.scopes_mentioning(function.function):
        for call in scope.calls:
            words = {word.arg: word.value for word in call.keywords}
            given = words.get("args")
            is_target = isinstance(given, ast.Tuple | ast.List) and _is_named(words.get("target"), function)
            after = [n for n, one in enumerate(call.args) if _is_named(one, function)]
            rest = given.elts if is_target and isinstance(given, ast.Tuple | ast.List) else []
            rest = call.args[after[0] + 1 :] if after else rest
            yield from all_origins(rest[at], scope, death.code) if at < len(rest) else ()


def _is_named(node: ast.expr | None, function: Scope) -> bool:
    return isinstance(node, ast.Name) and node.id == function.function


def _edit(call: Call, safe: str, death: Death) -> Changes:
    """Return the edit that keeps the notebook's loop beside the function or class, and uses it."""
    module = death.code.module(call.cell)
    top = None if module is None else next((one for one in module.body if _holds(one, call.node)), None)
    if module is None or top is None or call.node.keywords:
        return ()
    name, imported = import_as(module, death.code, "asyncio", "asyncio")
    kept = insert_before(module, top, f"{_LOOP} = {name}.get_running_loop()  # wakes it from a thread")
    return imported + kept + replace(call.scope, call.node, safe)


def _holds(statement: ast.stmt, node: ast.expr) -> bool:
    return statement.lineno <= node.lineno <= (statement.end_lineno or 0)
