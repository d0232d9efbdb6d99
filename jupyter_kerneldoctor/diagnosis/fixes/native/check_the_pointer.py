import ast

from ...calls import library_of, native_calls
from ...code.comprehensions import is_in_comprehension
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...edits import Changes, indent_unit, insert_after, insert_before
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.c_library import declared, none_of

_FINDS = frozenset(
    {"getenv", "fopen", "strchr", "strrchr", "strstr", "strtok", "bsearch", "dlopen", "dlsym", "realpath"}
)
"""Functions of the C library that give NULL where they find nothing."""
_NONE = "Check for None before C reads it as NULL: a ValueError, no crash"
_TABLE = (
    "import ctypes\nlib = ctypes.CDLL('./t.so')\nlib.find.restype = ctypes.c_void_p\nlib.find.argtypes = []\n"
    "lib.value.restype = ctypes.c_int\nlib.value.argtypes = [ctypes.c_void_p]\n"
)
_LENGTH = "import ctypes\nlibc = ctypes.CDLL(None)\ndef length(p):\n    return libc.strlen(p)"
_ASKED = "    if p is None:\n        raise ValueError('p is None, and libc.strlen reads that as NULL')\n    return"
_GET = "def get(key):\n    entry = lib.find(key)\n    return lib.value(entry)"


class CheckThePointer(Fix):
    """Check the pointer that a C function is given before it is used.

    What it does: C functions return NULL when they find nothing, or fail. Python gets None for it, and hands it on to
    the next function, which reads at address 0; so does a None of the notebook's own. The edit raises an error before
    that, which names the function.

    When it is offered: Native code crashed in a call that is given what another function of the library returned, or
    a value that may be None by the code, and nothing in between asks whether there was one.

    What it costs: Nothing, but for a function that takes NULL for "nothing given": it gets an error for that, too.
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
        *(
            Case(_LENGTH, use, becomes={1: _LENGTH.replace("    return", _ASKED)}, says=("`p`", "NULL", told))
            for use, told in (
                ("for n in [b'anna', b'bob', None]:\n    print(length(n))", "`None`"),
                ("names = {1: b'anna'}\nprint(length(names.get(2)))", "`names.get(2)`"),
            )
        ),
        Case(_TABLE, "lib.value(lib.find(b'x'))", says=("pointer = lib.find(b'x')", "if not pointer")),
    ]
    SILENT = [
        Case(_TABLE + "entry = lib.find(b'x')\nwhile entry and lib.value(entry): step()", cause="segfault"),
        Case(_TABLE + _GET.replace("    return", "    if entry is None: return 0\n    return"), "get(3)"),
        Case(
            "import ctypes\nlibc = ctypes.CDLL(None)\nclass Log:\n    def __init__(self, p):\n"
            "        self.f = libc.fopen(p, b'w')\n        if not self.f: raise OSError(p)\n"
            "    def write(self, s): libc.fputs(s, self.f)",
            "Log(b'x').write(b'y')",
        ),
        Case(_TABLE, "lib.value(buffer)"),
        Case("import ctypes\nc = ctypes.CDLL(None)", "c.memset(c.malloc(9), 0, 9)"),  # the address may be half of one
        Case(_TABLE + _GET, "get(b'x')", cause="abort"),
        Case(_LENGTH, "for n in [b'anna', b'bob']: print(length(n))"),
        Case(_LENGTH.replace("    return", "    p = p or b''\n    return"), "length(None)"),
        Case("import ctypes\nc = ctypes.CDLL(None)", "c.time(None)"),  # meant
    ]

    def propose(self, death: Death) -> Proposals:
        for call in native_calls(death):
            for given in call.node.args:
                maker = _maker(given, call, death)
                if _is_asked(unparse(given), call.scope) or (maker is not None and _is_asked_at_once(maker)):
                    continue
                name = call.scope.segment(given) if isinstance(given, ast.Name | ast.Attribute) else "pointer"
                if maker is not None and not _is_cut_off(maker, death):
                    text = maker.scope.segment(maker.node)
                    function = maker.scope.segment(maker.node.func)
                    title, lines = None, (f"if not {name}:", f"raise ValueError({function + ' returned NULL'!r})")
                    why = f"{quote(call.text)} is given what {quote(text)} returned: NULL, if that found nothing or "
                    why += "failed."
                elif (none := none_of(given, call.scope, death.code)) is not None:
                    text, said = call.scope.segment(given), quote(none)
                    error = f"{name} is None, and {call.scope.segment(call.node.func)} reads that as NULL"
                    title, lines = _NONE, (f"if {name} is None:", f"raise ValueError({error!r})")
                    why = f"{quote(call.text)} is given {quote(text)}, which may be `None` ({said}): NULL for C."
                else:
                    continue
                why += " Nothing checks it, and what is behind NULL is no memory."
                first = "" if name != "pointer" else f"{name} = {text}\n"
                snippet = f"{first}{lines[0]}\n    {lines[1]}"
                yield Proposal(_edit(given, call, maker, lines), why, title=title, snippet=snippet)
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


def _is_asked_at_once(maker: Call) -> bool:
    """Whether the function that gets the pointer asks for it: `self.p = find()`, `if not self.p: raise ...`."""
    match maker.statement:
        case ast.Assign(targets=[target], value=value) if value is maker.node:
            return _is_asked(unparse(target), maker.scope)
    return False


def _is_asked(text: str, scope: Scope) -> bool:
    """Whether a function asks for the pointer in a condition: not where it only gives it to functions there."""
    tests = [one.test for one in scope.nodes if isinstance(one, ast.If | ast.IfExp | ast.Assert | ast.While)]
    handed = {id(part) for test in tests for one in walk(test) if isinstance(one, ast.Call) for part in one.args}
    return any(unparse(part) == text and id(part) not in handed for test in tests for part in walk(test))


def _edit(given: ast.expr, call: Call, maker: Call | None, lines: tuple[str, str]) -> Changes:
    """Return the question before the call; behind what gave the pointer, where a loop's condition uses it."""
    is_inner = isinstance(call.scope.node, ast.Lambda) or is_in_comprehension(call.node, call.scope)
    if not isinstance(given, ast.Name | ast.Attribute) or is_inner:
        return ()
    if not isinstance(call.statement, ast.While | ast.If):
        return insert_before(call.scope, call.statement, lines[0], indent_unit(call.scope, call.statement) + lines[1])
    match maker and maker.statement:
        case ast.Assign(targets=[target], value=value) if maker and maker.scope is call.scope and value is maker.node:
            if unparse(target) == unparse(given):
                unit = indent_unit(call.scope, maker.statement)
                return insert_after(call.scope, maker.statement, lines[0], unit + lines[1])
    return ()
