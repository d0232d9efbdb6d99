import ast

from ...calls import native_calls
from ...code.notebook import Notebook
from ...code.origins import all_origins
from ...edits import Changes, set_argument
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, Scope, quote

_TYPES = {
    **{f"ctypes.c_{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"ctypes.c_{name}": f"int{bits}" for name, bits in (("short", 16), ("int", 32), ("long", 64), ("longlong", 64))},
    "ctypes.c_double": "float64",
    "ctypes.c_float": "float32",
    "ctypes.c_uint": "uint32",
    "ctypes.c_ubyte": "uint8",
}
_LIKE = tuple(f"numpy.{one}" for one in ("ascontiguousarray", "asarray", "array", "empty_like", "zeros_like"))
"""What takes the type of what it is given, where it is not told another one."""
_FLOATS = tuple(f"numpy.{one}" for one in ("zeros", "ones", "empty", "linspace", "random."))
_MOST_STEPS = 6
_SMOOTH = (
    "import ctypes, numpy as np\nlib = ctypes.CDLL('./f.so')\nP = ctypes.POINTER(ctypes.c_double)\n"
    "def smooth(x):\n    x = np.ascontiguousarray(x)\n    y = np.empty_like(x)\n"
    "    lib.f(x.ctypes.data_as(P), y.ctypes.data_as(P), len(x))\n    return y"
)


class ArrayOfTheCType(Fix):
    """Give C an array of the type that its pointer says.

    What it does: `data_as(POINTER(c_double))` takes the address of an array whatever type its values have. C then reads
    and writes eight bytes for each value: of a float32 array twice as much as there is. The edit gives the array the
    type of the pointer where it is made.

    When it is offered: Native code crashed or damaged memory at a call that is given the data of an array by a typed
    pointer, and the array has values of another type, or of one that the code does not show.

    What it costs: Where the type is another one, the values are copied.
    """

    id, title = "array-of-the-c-type", "Give C an array of the type that its pointer says"
    causes, broad = ("segfault", "heap-corruption"), True

    FIRES = [
        Case(
            _SMOOTH,
            "clean = smooth(ecg.astype(np.float32))",
            becomes={1: _SMOOTH.replace("ray(x)", "ray(x, dtype=np.float64)")},
            says=("float32", "float64"),
        ),
        Case(_SMOOTH.replace("x = np.asc", "z = np.asc"), "smooth(load())", says=("x = np.asc",)),
    ]
    SILENT = [
        Case(_SMOOTH, "clean = smooth(np.zeros(9))"),
        Case(_SMOOTH.replace("ray(x)", "ray(x, np.float64)"), "smooth(ecg)"),
        Case("lib.f(x.ctypes.data_as(P))"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in native_calls(death):
            for given in call.node.args:
                match given:
                    case ast.Call(
                        func=ast.Attribute(
                            attr="data_as", value=ast.Attribute(attr="ctypes", value=ast.Name() as array)
                        ),
                        args=[kind],
                    ):
                        wanted, known = _wanted(kind, call.scope, death.code), _known(array, call.scope, death.code)
                        if wanted is None or known == wanted:
                            continue
                        name, has = array.id, "of another type" if known is None else f"of type {known}"
                        may = "may be" if known is None else "is"
                        why = (
                            f"{quote(name)} {may} an array {has}, and {quote(call.scope.segment(kind))} says {wanted}: "
                            f"{quote(call.text)} reads and writes as if it were that."
                        )
                        snippet = f"{name} = np.ascontiguousarray({name}, dtype=np.{wanted})  # before the call"
                        yield Proposal(_made(array, call.scope, wanted, death.code), why, snippet=snippet)
                        return


def _wanted(kind: ast.expr, scope: Scope, code: Notebook) -> str | None:
    """Return NumPy's name of what `POINTER(c_double)`, or a name for it, points to."""
    for one, where in all_origins(kind, scope, code):
        if isinstance(one, ast.Call) and len(one.args) == 1 and code.qualified(one.func, where) == "ctypes.POINTER":
            return _TYPES.get(code.qualified(one.args[0], where) or "")
    return None


def _known(array: ast.expr, scope: Scope, code: Notebook, depth: int = 0) -> str | None:
    """Return the type of an array's values, as far as the code shows it."""
    for one, where in all_origins(array, scope, code):
        if not isinstance(one, ast.Call):
            continue
        name = code.qualified(one.func, where) or ""
        is_cast = isinstance(one.func, ast.Attribute) and one.func.attr == "astype"
        told = [word.value for word in one.keywords if word.arg == "dtype"]
        told += one.args[:1] if is_cast else one.args[1:2] if name in _LIKE else []
        if told:
            text = told[0].value if isinstance(told[0], ast.Constant) else code.qualified(told[0], where) or ""
            return {"builtins.float": "float64", "builtins.int": "int64"}.get(
                str(text), str(text).rpartition(".")[2]
            ) or None
        if name in _LIKE and one.args and depth < _MOST_STEPS:
            return _known(one.args[0], where, code, depth + 1)
        if name.startswith(_FLOATS):
            return "float64"
    return None


def _made(array: ast.Name, scope: Scope, wanted: str, code: Notebook) -> Changes:
    """Return the edit of the call that makes the array in the same function, if one does."""
    binding = code.lookup(array.id, scope, array)
    made = None if binding is None or binding.scope is not scope else binding.value
    if not isinstance(made, ast.Call) or (code.qualified(made.func, scope) or "") not in _LIKE:
        return ()
    module = scope.segment(made.func).rpartition(".")[0]
    return set_argument(Call(made, scope, ""), "dtype", f"{module}.{wanted}" if module else f"'{wanted}'")
