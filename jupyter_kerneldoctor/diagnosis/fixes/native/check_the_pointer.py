import ast

from ...calls import library_of, native_calls
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...edits import Changes, indent_unit, insert_after, insert_before
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote
from ._own_library import declared

_FINDS = frozenset(
    {"getenv", "fopen", "strchr", "strrchr", "strstr", "strtok", "bsearch", "dlopen", "dlsym", "realpath"}
)
"""Functions of the C library that give NULL where they find nothing."""
_TABLE = (
    "import ctypes\nlib = ctypes.CDLL('./t.so')\nlib.find.restype = ctypes.c_void_p\nlib.find.argtypes = []\n"
    "lib.value.restype = ctypes.c_int\nlib.value.argtypes = [ctypes.c_void_p]\n"
)
_GET = "def get(key):\n    entry = lib.find(key)\n    return lib.value(entry)"


class CheckThePointer(Fix):
    """Check the pointer that a C function gave before it is used.

    What it does: C functions return NULL when they find nothing, or fail. Python gets None for it, and hands it on to
    the next function, which reads at address 0. The edit raises an error before that, which names the function.

    When it is offered: Native code crashed in a call that is given what another function of the library returned, and
    nothing in between asks whether there was a result.

    What it costs: Nothing.
    """

    id, title, causes = "check-the-pointer", "Check for NULL what C gave: a ValueError, no crash", ("segfault",)
    unless_offered = frozenset({"keep-buffer-alive", "keep-cffi-memory", "check-allocation"})

    FIRES = [
        Case(
            _TABLE + _GET,
            "get(b'x')",
            becomes={
                1: (_TABLE + _GET).replace(
                    "    return",
                    "    if not entry:\n        raise ValueError('lib.find returned NULL')\n    return",
                )
            },
            says=("`lib.find(key)`", "NULL"),
        ),
        Case("import ctypes\nc = ctypes.CDLL(None)", "c.strlen(c.getenv(b'x'))", says=("if not pointer",)),
        Case(_TABLE, "lib.value(lib.find(b'x'))", says=("pointer = lib.find(b'x')", "if not pointer")),
    ]
    SILENT = [
        Case(_TABLE + "entry = lib.find(b'x')\nwhile entry and lib.value(entry): step()", cause="segfault"),
        Case(_TABLE + _GET.replace("    return", "    if entry is None: return 0\n    return"), "get(3)"),
        Case(_TABLE, "lib.value(buffer)"),
        Case("import ctypes\nc = ctypes.CDLL(None)", "c.memset(c.malloc(9), 0, 9)"),  # the address may be half of one
        Case(_TABLE + _GET, "get(b'x')", cause="abort"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in native_calls(death):
            for given in call.node.args:
                maker = _maker(given, call, death)
                if maker is None or _is_asked(given, call) or _is_cut_off(maker, death):
                    continue
                text = maker.scope.segment(maker.node)
                why = (
                    f"{quote(call.text)} is given what {quote(text)} returned: NULL, if that found nothing or failed. "
                    "Nothing checks it, and what is behind NULL is no memory."
                )
                name = call.scope.segment(given) if isinstance(given, ast.Name | ast.Attribute) else "pointer"
                function = maker.scope.segment(maker.node.func)
                lines = (f"if not {name}:", f"raise ValueError({function + ' returned NULL'!r})")
                first = "" if name != "pointer" else f"{name} = {text}\n"
                yield Proposal(_edit(given, call, maker, lines), why, snippet=f"{first}{lines[0]}\n    {lines[1]}")
                return


def _maker(given: ast.expr, call: Call, death: Death) -> Call | None:
    """Return the call of the same library that an argument comes from."""
    library = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    for one, where in all_origins(given, call.scope, death.code):
        match one:
            case ast.Call(func=ast.Attribute(value=owner)) if library is not None:
                if unparse(owner) == unparse(library):
                    return Call(one, where, "")
    return None


def _is_cut_off(maker: Call, death: Death) -> bool:
    """Whether ctypes takes the address for a C int: a declaration comes first, unless NULL is as likely."""
    function = maker.node.func
    if not isinstance(function, ast.Attribute) or function.attr in _FINDS:
        return False
    is_of_ctypes = library_of(function.value, maker.scope, death.code).startswith("ctypes.")
    return is_of_ctypes and "restype" not in declared({function.attr}, death.code)


def _is_asked(given: ast.expr, call: Call) -> bool:
    """Whether the function asks for the pointer in a condition: not where it only gives it to functions there."""
    text = unparse(given)
    tests = [one.test for one in call.scope.nodes if isinstance(one, ast.If | ast.IfExp | ast.Assert | ast.While)]
    handed = {id(part) for test in tests for one in walk(test) if isinstance(one, ast.Call) for part in one.args}
    return any(unparse(part) == text and id(part) not in handed for test in tests for part in walk(test))


def _edit(given: ast.expr, call: Call, maker: Call, lines: tuple[str, str]) -> Changes:
    """Return the question before the call; behind what gave the pointer, where a loop's condition uses it."""
    if not isinstance(given, ast.Name | ast.Attribute):
        return ()
    if not isinstance(call.statement, ast.While | ast.If):
        return insert_before(call.scope, call.statement, lines[0], indent_unit(call.scope, call.statement) + lines[1])
    match maker.statement:
        case ast.Assign(targets=[target], value=value) if maker.scope is call.scope and value is maker.node:
            if unparse(target) == unparse(given):
                unit = indent_unit(call.scope, maker.statement)
                return insert_after(call.scope, maker.statement, lines[0], unit + lines[1])
    return ()
