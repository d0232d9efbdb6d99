import ast
import re
from collections.abc import Iterator

from ...code.origins import all_origins
from ...edits import replace
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote

_OF_PYTHON = re.compile(r"_?Py(?:[A-Z]\w*|_(?!GetVersion|IsInitialized|GetPlatform|GetCopyright|GetCompiler)\w+)")
"""Names of Python's C API (c-api, "Introduction"), but for the few functions that need no lock."""


class PythonApiWithItsLock(Fix):
    """Call Python's own C functions through PyDLL, which keeps the interpreter's lock.

    What it does: `CDLL` releases the interpreter's lock (the GIL) before each call, and functions of Python's C API may
    be called only with it. `PyDLL` and `ctypes.pythonapi` keep it. The edit takes `PyDLL`.

    When it is offered: Native code crashed, and the line calls a `Py...` function of a library loaded with `CDLL`.

    What it costs: Other threads wait during such a call.
    """

    id, title = "python-api-with-its-lock", "Call Python's C API through PyDLL, which keeps the interpreter's lock"
    causes = ("segfault", "abort")

    FIRES = [
        Case(
            "import ctypes\nlib = ctypes.CDLL(None)\nlib.PyList_New.restype = ctypes.py_object",
            "x = lib.PyList_New(0)",
            line=1,
            becomes={"CDLL": "PyDLL"},
            says=("`lib.PyList_New(0)`",),
        ),
        Case(
            "import ctypes\nclass Api:\n    def __init__(self): self.lib = ctypes.CDLL(None)\n"
            "    def make(self): return self.lib.PyList_New(0)",
            "x = Api().make()",
            becomes={"CDLL": "PyDLL"},
        ),
        Case("from ctypes import CDLL\nlib = CDLL(None)", "lib.PyErr_Clear()", says=("pythonapi",)),
    ]
    SILENT = [
        Case("import ctypes\nlib = ctypes.PyDLL(None)", "lib.PyList_New(0)"),
        Case("import ctypes", "ctypes.pythonapi.PyList_New(0)"),
        Case("import ctypes\nlib = ctypes.CDLL('./a.so')", "lib.make(0)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in _calls(death):
            owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else call.node.func
            for one, where in all_origins(owner, call.scope, death.code):
                if isinstance(one, ast.Call) and death.code.qualified(one.func, where) == "ctypes.CDLL":
                    text = where.segment(one.func)
                    edits = replace(where, one.func, "ctypes.PyDLL") if text == "ctypes.CDLL" else ()
                    why = (
                        f"{quote(call.text)} is a function of Python itself, and {quote(where.segment(one))} releases "
                        "the interpreter's lock before it is called. Nothing of Python may be used without that lock."
                    )
                    name = call.scope.segment(call.node).replace(call.scope.segment(owner), "ctypes.pythonapi", 1)
                    yield Proposal(edits, why, snippet=f"{name}  # pythonapi is a PyDLL of Python itself")
                    return


def _calls(death: Death) -> Iterator[Call]:
    """Yield the calls with such a name that may have been running."""
    for node, scope in death.code.running.nodes(ast.Call):
        match node.func:
            case ast.Attribute(attr=name) if _OF_PYTHON.fullmatch(name) and death.was_running(node, scope):
                yield Call(node, scope, name)
