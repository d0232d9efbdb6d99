import ast
import re

from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_BORROWED = frozenset(
    {"PyDict_GetItem", "PyDict_GetItemString", "PyDict_GetItemWithError", "PyDict_SetDefault", "PyList_GetItem"}
    | {"PyTuple_GetItem", "PyImport_AddModule", "PyModule_GetDict", "PySys_GetObject", "PyErr_Occurred"}
    | {"PyEval_GetBuiltins", "PyEval_GetGlobals", "PyEval_GetLocals", "PyWeakref_GetObject", "PyFunction_GetCode"}
    | {"PyThreadState_GetDict", "PyStructSequence_GetItem", "PyMethod_Function"}
)
"""What returns a reference that the caller does not own (c-api, "Return value: Borrowed reference")."""
_REFCOUNT = re.compile(r"deallocating (?:None|True|False)|refcount error|negative refcount|_Py_NegativeRefcount")
_GET = "import ctypes\nget = ctypes.pythonapi.PyDict_GetItem\nget.restype = ctypes.py_object"
_KEEP = (
    "value = {call}(...)\n"
    "ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))  # ctypes gives back a reference that it was not given\n"
    "# or without C: value = rows.get(key)"
)
_DEBUG = (
    "# name the extension: run the cells one by one in a new kernel, with this after each\n"
    "import sys; print(sys.getrefcount(None))  # falls only with the extension that gives back too much\n"
    "# then update it, or in its C code: Py_INCREF(Py_None) before `return Py_None` (Py_RETURN_NONE does both)"
)


class BorrowedReferences(Fix):
    """Keep a reference to what C only lends.

    What it does: Some functions of Python's C API return an object without giving a reference to it away. ctypes gives
    one back all the same for `restype = py_object`, so with each call the object has one reference less, until it is
    destroyed while it is still in use. `Py_IncRef` makes up for it.

    When it is offered: Python stopped itself with the words that an object such as None was destroyed, or native code
    crashed; and the cells call such a function, or the words tell of the references.

    What it costs: Nothing.
    """

    id, title = "borrowed-references", "Keep a reference to what C only lends: Py_IncRef"
    causes = ("segfault", "abort", "heap-corruption")

    FIRES = [
        Case(_GET, "get(rows, 1)", cause="abort", says=("`PyDict_GetItem`", "Py_IncRef")),
        Case(
            "import fast",
            "fast.run()",
            cause="abort",
            crash="Fatal Python error: none_dealloc: deallocating None: bug likely caused by a refcount error in a C "
            'extension\n\nCurrent thread 0x00007f (most recent call first):\n  File "a.py", line 1 in run\n',
            says=("getrefcount(None)",),
        ),
    ]
    SILENT = [
        Case(_GET.replace("py_object", "c_void_p"), "get(rows, 1)", cause="abort"),
        Case("import fast", "fast.run()", cause="abort"),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        is_object = code.has_text("py_object") and not code.has_text("IncRef")
        for module in code.mentioning(*_BORROWED) if is_object else ():
            names = (one for scope in code.scopes(module.cell) for one in scope.names if isinstance(one, ast.Attribute))
            lent = next((one.attr for one in names if one.attr in _BORROWED), None)
            if lent is not None:
                place = code.cell_name(module.cell)
                called = next(iter(re.findall(rf"\b(\w+)\s*=\s*[\w.]*\b{lent}\b", code.source(module.cell))), lent)
                why = f"{quote(lent)} ({place}) only lends what it returns, and ctypes gives a reference back."
                why += " In the end the object is destroyed while it is in use."
                yield Proposal((), why, snippet=_KEEP.format(call=called))
                return
        if _REFCOUNT.search(death.recording.crash_text):
            why = "An extension module has given back more references to an object than it was given, again and again."
            title = "Find the extension that gives back too many references"
            yield Proposal((), why, title=title, snippet=_DEBUG)
