import ast
import re
from dataclasses import dataclass

from ...calls import library_of
from ...code.c_prototypes import prototypes
from ...code.notebook import Notebook
from ...code.origins import all_origins
from ...code.raw_addresses import RAW
from ...examples import cell_file, crash_report
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.c_library import as_written, declared, none_of, undeclared_makers

_LOADERS = ("ctypes.CDLL", "ctypes.PyDLL", "ctypes.cdll.", "ctypes.pydll.", "numpy.ctypeslib.load_library")
_C_LIBRARY = re.compile(
    r"_?exit|abort|ato[ifl]|bzero|close|free|f(?:close|flush|printf|puts|read|write)|raise_?|kill|mem(?:cmp|cpy|move|set)|"
    r"mprotect|munmap|open|printf|puts|qsort|read|setenv|sleep|sprintf|sscanf|strn?(?:cat|cmp|cpy)|strlen|usleep|write"
)
"""Functions of the C library whose result is none, a number, or one of the arguments."""
_TYPES = {int: "c_int", float: "c_double", bytes: "c_char_p", str: "c_wchar_p", bool: "c_bool"}
_LIBRARY = "import ctypes\nlib = ctypes.CDLL('./geo.so')\n"
_TREE = (
    "import ctypes as ct\nclass Tree:\n    def __init__(self):\n        self.lib = ct.CDLL('./tree.so')\n"
    "        self.at = self.lib.tree_new(4)\n    def __setitem__(self, k, w):\n"
    "        self.lib.tree_add(self.at, k, b'x', w)"
)
_LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\n"


@dataclass(frozen=True)
class _NativeCall:
    """A call into a library that Python cannot check."""

    node: ast.Call
    scope: Scope
    missing: tuple[str, ...]
    """Which declarations no cell makes; none for a call that takes an address as it is."""


class CtypesSignatures(Fix):
    """Declare what a C function takes and returns, and check addresses before use.

    What it does: ctypes takes every number and every result for a C int unless told otherwise. An address of 64 bits
    then loses its upper half, and the library reads from an invalid address. The snippet declares `argtypes` and
    `restype` of the functions that were called; with them a wrong call raises an error in place of a crash.

    When it is offered: Native code crashed, and the code that ran calls a function of a library loaded with ctypes
    without having declared it, or reads from an address with `string_at`, `memmove` or the like that may be the null
    pointer. Not where declarations change nothing: memory that was freed twice, `libc.raise_(11)`, arguments that are
    ctypes' own objects, as those of `create_string_buffer`.

    What it costs: Nothing; the right types stand in the library's header file.
    """

    id, title = "ctypes-signatures", "Declare argtypes and restype, and check each pointer before use"
    causes = ("segfault", "heap-corruption")
    unless_offered = frozenset({"format-in-python"})

    FIRES = [
        Case(
            "from ctypes import CDLL\nlib = CDLL('./geo.so')",
            "p = lib.make(3, 2.5, b'x')\nlib.area(p)",
            line=1,
            says=("lib.make.argtypes = [ctypes.c_int, ctypes.c_double, ctypes.c_char_p]", "lib.make.restype"),
        ),
        Case("import ctypes as c", "c.string_at(0)", says=("null", "cell [2], line 1")),
        Case("import ctypes", "ctypes.string_at(p)", says=("if not p:\n    raise",)),
        Case(  # the address is not null: half of it is lost
            _LIBC + "def read(name):\n    found = libc.getenv(name)\n    return ctypes.string_at(found)",
            "read(b'HOME')",
            becomes={
                "(None)\n": "(None)\nlibc.getenv.argtypes = [ctypes.c_void_p]\nlibc.getenv.restype = ctypes.c_void_p\n"
            },
            says=("what `libc.getenv` returned", "upper half"),
        ),
        Case(_LIBRARY, "p = lib.make()\nctypes.string_at(p)", line=2, says=("lib.make.restype = ctypes.c_void_p",)),
        Case(
            _LIBC,
            "p = libc.malloc(100_000_000)\nlibc.free(p)",
            cause="heap-corruption",
            line=2,
            becomes={
                1: _LIBC + "libc.free.argtypes = [ctypes.c_void_p]\nlibc.free.restype = None\n"
                "libc.malloc.argtypes = [ctypes.c_size_t]\nlibc.malloc.restype = ctypes.c_void_p\n"
            },
        ),
        Case(  # the C code is in a cell, and the library in an attribute of an object
            "%%writefile tree.c\ntree *tree_new(int n) {\n}\nvoid tree_add(tree *t, int k, const char *s, float w[]){}",
            _TREE,
            "Tree()[1] = w",
            crash=crash_report("Segmentation fault", (cell_file(_TREE), 7, "__setitem__")),
            becomes={
                2: _TREE.replace(
                    "so')\n",
                    "so')\n        self.lib.tree_add.argtypes = [ct.c_void_p, ct.c_int, ct.c_char_p, ct.c_void_p]\n"
                    "        self.lib.tree_add.restype = None\n        self.lib.tree_new.argtypes = [ct.c_int]\n"
                    "        self.lib.tree_new.restype = ct.c_void_p\n",
                )
            },
            says=("`self.lib.tree_new`", "upper half"),
        ),
        Case(
            _LIBC + "f = libc.fopen(b'x', b'w')",
            "libc.fputs(b'y', f)",
            becomes={
                1: _LIBC
                + "libc.fputs.argtypes = [ctypes.c_void_p, ctypes.c_void_p]\nlibc.fputs.restype = ctypes.c_int\n"
                "libc.fopen.argtypes = [ctypes.c_void_p, ctypes.c_void_p]\nlibc.fopen.restype = ctypes.c_void_p\n"
                "f = libc.fopen(b'x', b'w')"
            },
            says=("upper half", "manual"),
        ),
        Case(_LIBRARY + "lib.make.argtypes = []", "p = lib.make()", says=("restype",)),
    ]
    SILENT = [
        Case(_LIBRARY + "lib.area.argtypes = []\nlib.area.restype = ctypes.c_int", "lib.area()"),
        Case("lib = load()", "lib.area(1)"),
        Case(_LIBRARY + "lib.make.argtypes = lib.make.restype = T,", "lib.make().name.decode()"),
        Case(  # freed twice
            _LIBC + "libc.malloc.restype = libc.free.argtypes = ctypes.c_void_p, ",
            "libc.free(p)\nlibc.free(p)",
            cause="heap-corruption",
            line=2,
        ),
        # too much is copied into a buffer that is ctypes' own: no declaration finds that
        Case(
            _LIBC + "buffer = ctypes.create_string_buffer(8)",
            "libc.strcpy(buffer, b'x' * 999)",
            cause="heap-corruption",
        ),
        Case(_LIBC, "libc.raise_(11)"),
        # the buffer reaches the function that calls the library, in a parameter or an attribute
        Case(
            _LIBC + "class Line:\n    def __init__(self): self.buffer = ctypes.create_string_buffer(8)\n"
            "    def fill(self): libc.strcpy(self.buffer, b'x' * 999)\ndef fill(b): libc.strcpy(b, b'x' * 999)",
            "fill((ctypes.c_char * 8)())\nLine().fill()",
        ),
        # the address is known, and it is not 0: a check would find nothing
        Case("import ctypes\naddress = 1", "ctypes.string_at(address)"),
        Case("import ctypes\ndef read(address): return ctypes.string_at(address, 8)", "read(16)"),
        Case("import ctypes\nx = [1]\np = id(x) + 8", "ctypes.string_at(p)"),
        Case("import ctypes", "ctypes.memset(p, 1, 4)", cause="heap-corruption"),
        Case("import ctypes", "ctypes.string_at(0)", cause="oom-cgroup"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, is_damaged = death.code, death.causes[0].id == "heap-corruption"
        if is_damaged and "double free" in death.text:
            return  # the address was whole: it was right the first time
        found = [
            one
            for scope in code.running
            for node in scope.calls
            if code.is_at_line(node, scope)
            and death.is_at_crash(node, scope)
            and (one := _native_call(node, scope, code, is_damaged=is_damaged))
        ]
        if not found:
            return
        if found[-1].missing:
            yield _undeclared(found[-1], code)
        elif makers := _maker_calls(found[-1], code):
            yield _cut_address(found[-1], *makers[0], code)
        else:
            yield _unchecked_address(found[-1], code)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - a check for null is the user's
        return not any(one.edits for one in self.propose(after))


def _native_call(node: ast.Call, scope: Scope, code: Notebook, *, is_damaged: bool) -> _NativeCall | None:
    full = code.qualified(node.func, scope) or ""
    if full in RAW or (full.startswith("ctypes.") and full.endswith(".from_address")):
        return None if is_damaged or not _may_be_null(node, scope, code) else _NativeCall(node, scope, ())
    function, home, names = node.func, scope, set[str]()
    if isinstance(function, ast.Name):  # area = lib.area
        binding = code.lookup(function.id, scope, node)
        names.add(function.id)
        if binding is None or binding.value is None:
            return None
        function, home = binding.value, binding.scope
    owner = library_of(function.value, home, code) if isinstance(function, ast.Attribute) else ""
    if not isinstance(function, ast.Attribute) or not owner.startswith(_LOADERS) or ")." in owner:
        return None  # a method of what a function returned is none of the library
    names.add(function.attr)
    is_of_c = _C_LIBRARY.fullmatch(function.attr) is not None
    missing = {"argtypes", "restype"} - declared(names, code)
    if all(_is_passed_right(one, scope, code, is_of_c=is_of_c) for one in node.args):
        missing.discard("argtypes")
    if is_damaged or is_of_c or isinstance(scope.tree.statements[node], ast.Expr):
        missing.discard("restype")  # nobody uses the result
    return _NativeCall(node, scope, tuple(sorted(missing))) if missing else None


def _is_passed_right(argument: ast.expr, scope: Scope, code: Notebook, *, is_of_c: bool) -> bool:
    """Whether an argument reaches the library whole without a declaration: a number need not."""
    if isinstance(argument, ast.Constant):
        return is_of_c or not isinstance(argument.value, int | float)
    if isinstance(argument, ast.BinOp):
        return all(_is_passed_right(one, scope, code, is_of_c=True) for one in (argument.left, argument.right))
    is_object = any(_is_of_ctypes(one.node, one.scope, code) for one in all_origins(argument, scope, code))
    return is_object or none_of(argument, scope, code) is not None  # None is NULL, whatever is declared


def _is_of_ctypes(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether an expression makes an object of ctypes, `(ctypes.c_char * 8)()` too: a library gives plain numbers."""
    match node:
        case ast.Call(func=ast.BinOp(left=kind)):
            return (code.qualified(kind, scope) or "").startswith("ctypes.")
        case ast.Call(func=ast.Attribute(attr="data_as" | "from_buffer" | "from_buffer_copy")):
            return True
    made = code.described(node, scope) or ""
    return made.startswith("ctypes.") and not made.startswith((*_LOADERS, *RAW, "ctypes.addressof"))


def _may_be_null(call: ast.Call, scope: Scope, code: Notebook) -> bool:
    """Whether a check for null may help: not for another number, nor for what is worked out from an address."""
    for one in all_origins(call.args[0], scope, code) if call.args else ():
        match one.node:
            case ast.Constant(value=value):
                return value in (0, None)
            case ast.BinOp() | ast.Call(func=ast.Name(id="id")):
                return False
            case ast.Call() as made if code.qualified(made.func, one.scope) == "ctypes.addressof":
                return False
            case ast.Call(func=ast.BinOp() | ast.Attribute(attr="data_as" | "create_string_buffer")):
                return False  # memory of the notebook's own
    return True


def _where(call: _NativeCall, code: Notebook) -> str:
    place = code.place_of(call.node, call.scope)
    return f"{quote(call.scope.segment(call.node))} ({place})"


def _unchecked_address(call: _NativeCall, code: Notebook) -> Proposal:
    why, address = f"{_where(call, code)} uses a memory address that Python cannot check. ", call.node.args[:1]
    match address:
        case [ast.Constant()]:
            return Proposal(why=why + "It is 0 here, the null pointer, which nothing may read.")
        case [ast.Name(id=name)]:
            first = ""
        case _:
            name = "address"
            first = f"{name} = {call.scope.segment(address[0])}\n" if address else ""
    check = f"{first}if not {name}:\n    raise ValueError('a null pointer')"
    return Proposal(why=f"{why}It may be 0, the null pointer: check that first.", snippet=check)


def _undeclared(call: _NativeCall, code: Notebook) -> Proposal:
    written, edits = as_written(call.node, call.scope, _makers(call, code), code)
    if written:
        why = f"{_where(call, code)} is called without {' and '.join(call.missing)}: ctypes takes numbers for C ints. "
        if makers := _makers(call, code):
            why = f"{_where(call, code)} is given what {quote(makers[0])} returned. ctypes took that for a C int: the "
            why += "upper half of the address is lost. "
        whose = "your own C code" if prototypes(code) else "the C library's manual"
        return Proposal(edits, f"{why}The types are those of {whose}.", snippet="\n".join(written))
    function = call.scope.segment(call.node.func)
    given = (one.value if isinstance(one, ast.Constant) else None for one in call.node.args)
    types = ", ".join(f"ctypes.{_TYPES.get(type(value), 'c_void_p')}" for value in given)
    values = {"argtypes": f"[{types}]", "restype": "ctypes.c_void_p"}
    lines = [f"{function}.{name} = {values[name]}  # as in the library's header file" for name in call.missing]
    lines += [f"{maker}.restype = ctypes.c_void_p  # it gives an address" for maker in _makers(call, code)]
    return Proposal(
        why=f"{_where(call, code)} is called without {' and '.join(call.missing)}. ctypes then takes every number for "
        "a C int, and an address loses its upper half.",
        snippet="\n".join(["import ctypes", *lines]),
    )


def _makers(call: _NativeCall, code: Notebook) -> list[str]:
    """Return the functions of a library that gave the call's arguments, and that nobody declared to give addresses."""
    return list(dict.fromkeys(where.segment(made.func) for made, where in _maker_calls(call, code)))


def _maker_calls(call: _NativeCall, code: Notebook) -> list[tuple[ast.Call, Scope]]:
    def is_library(node: ast.expr, where: Scope) -> bool:
        return library_of(node, where, code).startswith(_LOADERS)

    return [found for one in call.node.args for found in undeclared_makers(one, call.scope, code, is_library)]


def _cut_address(call: _NativeCall, maker: ast.Call, scope: Scope, code: Notebook) -> Proposal:
    """Say how the function is declared that gave the address which is read."""
    function = scope.segment(maker.func)
    written, edits = as_written(maker, scope, [function], code)
    lines = written or ["import ctypes", f"{function}.restype = ctypes.c_void_p  # it gives an address"]
    why = (
        f"{_where(call, code)} reads from what {quote(function)} returned. ctypes took that for a C int: the upper "
        "half of the address is lost. Declared, it is whole, and `None` where there is nothing to read."
    )
    return Proposal(edits, why, snippet="\n".join(lines))
