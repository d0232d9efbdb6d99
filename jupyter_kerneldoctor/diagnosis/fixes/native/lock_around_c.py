import ast

from ...calls import native_calls
from ...edits import Changes, import_as, insert_before, wrap
from ...examples import cell_file, crash_report
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote

_POOLS = ("concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool", "threading.Thread")
_SMOOTH = "import ctypes\nlib = ctypes.CDLL('./smooth.so')\ndef smooth(x):\n    return lib.smooth(x)"
_MAPS = "from multiprocessing.pool import ThreadPool\nwith ThreadPool(8) as pool: pool.map(smooth, xs)"
_IN_A_THREAD = crash_report("Aborted", (cell_file(_SMOOTH), 4, "smooth"), ("/usr/lib/threading.py", 982, "run"))
_SNIPPET = "import threading\nlock = threading.RLock()\n\nwith lock:  # around each call of the library\n    {call}"


class LockAroundC(Fix):
    """Let one thread at a time call a C library that is not made for several.

    What it does: ctypes releases the interpreter's lock during a call, so that several threads are in the library at
    once. Where it keeps something in a static or global variable, they write over each other's memory. The edit holds a
    lock around the call.

    When it is offered: Native code crashed or damaged memory in a background thread, in a function that calls a library
    loaded with ctypes and that several threads run.

    What it costs: The calls run one after the other. Processes (`ProcessPoolExecutor`) run side by side, each with a
    copy of the library's variables.
    """

    id, title = "lock-around-c", "Let one thread at a time into the C library: a lock"
    causes = ("heap-corruption", "segfault")

    FIRES = [
        Case(
            _SMOOTH,
            _MAPS,
            crash=_IN_A_THREAD,
            signal="SIGABRT",
            becomes={
                1: "import threading\nimport ctypes\nlib = ctypes.CDLL('./smooth.so')\n"
                "lock_of_lib = threading.RLock()\ndef smooth(x):\n    with lock_of_lib:\n        return lib.smooth(x)"
            },
            says=("`lib.smooth(x)`",),
        )
    ]
    SILENT = [
        Case(_SMOOTH, "smooth(x)"),
        Case(_SMOOTH.replace("CDLL", "PyDLL"), _MAPS, crash=_IN_A_THREAD, signal="SIGABRT"),
    ]

    def propose(self, death: Death) -> Proposals:
        threads = any(death.code.calls(*_POOLS))
        for call in native_calls(death) if threads and death.background is not None else ():
            owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
            made = death.code.described(owner, call.scope) if owner is not None else None
            blocks = (one for one in call.scope.around(call.node) if isinstance(one, ast.With))
            if owner is None or not (made or "").startswith("ctypes.CDLL(") or any(blocks):
                continue
            why = (
                f"{quote(call.text)} runs in several threads at once, as ctypes releases the interpreter's lock. "
                "A library that keeps its data in static or global variables allows one thread at a time."
            )
            yield Proposal(_locked(call, owner, death), why, snippet=_SNIPPET.format(call=call.text))
            return


def _locked(call: Call, owner: ast.expr, death: Death) -> Changes:
    scope, function = call.scope, call.scope.node
    module = death.code.module(scope.cell)
    is_plain = isinstance(function, ast.FunctionDef) and module is not None and function in module.body
    if module is None or not is_plain or not isinstance(owner, ast.Name) or not isinstance(function, ast.FunctionDef):
        return ()
    name, imported = import_as(module, death.code, "threading", "threading")
    lock = f"lock_of_{owner.id}"  # one that a function which calls itself can take again
    made = insert_before(module, function, f"{lock} = {name}.RLock()")
    return imported + made + wrap(scope, [call.statement], f"with {lock}:")
