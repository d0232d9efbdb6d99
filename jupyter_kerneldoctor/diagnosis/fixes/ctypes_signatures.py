"""The fix `ctypes-signatures`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jupyter_kerneldoctor.diagnosis.analysis.last_words import newest_text
from jupyter_kerneldoctor.diagnosis.code.cellsource import segment
from jupyter_kerneldoctor.diagnosis.units import cell_name, quote

from ._examples import Example
from ._rule import Draft, FixRule

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability

_LOADERS = ("ctypes.CDLL", "ctypes.PyDLL", "ctypes.cdll.", "ctypes.pydll.", "numpy.ctypeslib.load_library")
_RAW = frozenset({"string_at", "wstring_at", "memmove", "memset", "memoryview_at"})
_C_LIBRARY = re.compile(
    r"_?exit|abort|ato[ifl]|bzero|close|free|f(?:close|flush|printf|puts|read|write)|raise_?|kill|mem(?:cmp|cpy|move|set)|"
    r"mprotect|munmap|open|printf|puts|qsort|read|setenv|sleep|sprintf|sscanf|strn?(?:cat|cmp|cpy)|strlen|usleep|write"
)
"""Functions of the C library whose result is none, a number, or one of the arguments."""
_DECLARATIONS = ("argtypes", "restype")


@dataclass(frozen=True)
class NativeCall:
    """A call into a library that Python cannot check."""

    call: ast.Call
    scope: Scope
    function: str
    """As the user writes it: `lib.area`."""
    missing: tuple[str, ...]
    """Which declarations no cell makes; none for a call that takes an address as it is."""


class CtypesSignatures(FixRule[NativeCall]):
    """Declare what a C function takes and returns, and check addresses before use.

    What it does
    ------------
    ctypes takes every argument and result for a C int unless told otherwise. A pointer of 64 bits then loses its upper
    half, and the library reads from an address that is not there. The snippet declares `argtypes` and `restype` of
    the functions that were called; with them a wrong call raises an error in place of a crash.

    When it is offered
    ------------------
    Native code crashed, and the code that ran calls a function of a library loaded with ctypes without having
    declared it, or reads from an address with `string_at`, `memmove` or the like that may be the null pointer. Not
    where the declarations are no trouble: memory that was freed twice, or `libc.raise_(11)`.

    What it costs
    -------------
    Nothing; the right types stand in the library's header file.

    Example
    -------
    `lib.area.restype = ctypes.c_double`
    """

    id = "ctypes-signatures"
    title = "Declare argtypes and restype, and check each pointer before use"
    causes = ("segfault", "heap-corruption")
    applicability: ClassVar[Applicability] = "advice"

    def detect(self, context: FixContext, code: Notebook) -> NativeCall | None:
        """The last call into an undeclared function, or with a raw address, that may have been running."""
        damaged = context.cause.id == "heap-corruption"
        if damaged and "double free" in newest_text(context.recording):
            return None  # the address was whole: it was right the first time
        declared = _declared(code)
        found = [
            one
            for scope in code.running
            for node in scope.walk()
            if isinstance(node, ast.Call)
            and code.is_at_line(node, scope)
            and (one := _native(node, scope, code, declared))
            and _can_be_it(one, damaged=damaged)
        ]
        return found[-1] if found else None

    def fix(self, context: FixContext, code: Notebook, found: NativeCall) -> Draft:  # noqa: ARG002 - same for all rules
        """Write the declarations down."""
        text = quote(segment(code.source(found.scope.cell), found.call))
        where = f"{cell_name(code.cells[found.scope.cell].execution_count)}, line {found.call.lineno}"
        if not found.missing:
            null = "It is 0 here, the null pointer, which nothing may read. " if _is_null(found.call) else ""
            why = (
                f"{text} ({where}) goes to a memory address as it is, and Python cannot check it. {null}"
                "Check the pointer first."
            )
            address = segment(code.source(found.scope.cell), found.call.args[0]) if found.call.args else "address"
            return Draft(why, snippet=f"address = {address}\nif not address:\n    raise ValueError('a null pointer')")
        missing = " or ".join(found.missing)
        why = (
            f"{text} ({where}) is called without {missing}: ctypes then takes all it does not know for a C int, and a "
            "pointer loses its upper half."
        )
        types = ", ".join(_type(argument) for argument in found.call.args)
        lines = {
            "argtypes": f"{found.function}.argtypes = [{types}]  # as in the library's header file",
            "restype": f"{found.function}.restype = ctypes.c_void_p  # as in the library's header file",
        }
        return Draft(why, snippet="\n".join(["import ctypes", *(lines[name] for name in found.missing)]))

    examples = (
        Example(
            cells=("import ctypes as c", "c.string_at(0)"),
            cause="segfault",
            growth="none",
            says=("null pointer", "cell [2], line 1"),
        ),
        Example(
            cells=("from ctypes import CDLL\nlib = CDLL('./geo.so')", "p = lib.make(3, 2.5, b'x')\nlib.area(p)"),
            cause="segfault",
            growth="none",
            line=1,
            says=("lib.make.argtypes = [ctypes.c_int, ctypes.c_double, ctypes.c_char_p]", "lib.make.restype"),
        ),
        Example(
            cells=(
                "import ctypes\nlib = ctypes.CDLL('./geo.so')\nlib.area.argtypes = []\nlib.area.restype = ctypes.c_int",
                "lib.area()",
            ),
            cause="segfault",
            growth="none",
            fires=False,
        ),
        Example(cells=("lib = load()", "lib.area(1)"), cause="segfault", growth="none", fires=False),
        Example(
            cells=("import ctypes\nlibc = ctypes.CDLL(None)", "p = lib_address()\nlibc.free(p)"),
            cause="heap-corruption",
            growth="none",
            line=2,
            says=("libc.free.argtypes = [ctypes.c_void_p]",),
        ),
        Example(  # the result is used: an address may have lost its upper half
            cells=("import ctypes\nlib = ctypes.CDLL('./geo.so')\nlib.make.argtypes = []", "p = lib.make()"),
            cause="segfault",
            growth="none",
            says=("lib.make.restype",),
        ),
        Example(
            cells=(
                "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p",
                "libc.free.argtypes = [ctypes.c_void_p]",
                "p = libc.malloc(100)\nlibc.free(p)\nlibc.free(p)",
            ),
            cause="heap-corruption",
            growth="none",
            line=3,
            fires=False,
        ),
        Example(
            cells=("import ctypes\nlibc = ctypes.CDLL(None)", "libc.raise_(11)"),
            cause="segfault",
            growth="none",
            fires=False,
        ),
        Example(cells=("import ctypes", "ctypes.memset(8, 1, 4)"), cause="segfault", growth="none", fires=False),
        Example(cells=("import ctypes", "ctypes.memset(p, 1, 4)"), cause="heap-corruption", fires=False),
        Example(cells=("import ctypes", "ctypes.string_at(0)"), cause="oom-cgroup", fires=False),
    )


def _native(node: ast.Call, scope: Scope, code: Notebook, declared: set[tuple[str, str]]) -> NativeCall | None:
    full = code.qualified(node.func, scope) or ""
    source = code.source(scope.cell)
    if full.startswith("ctypes.") and full.rsplit(".", 1)[-1] in {*_RAW, "from_address"}:
        return NativeCall(node, scope, segment(source, node.func), ())
    function: ast.expr = node.func
    if isinstance(function, ast.Name):  # area = lib.area
        binding = code.lookup(function.id, scope, node)
        if binding is None or not isinstance(binding.value, ast.Attribute):
            return None
        named, function, scope_of = function.id, binding.value, binding.scope
    elif isinstance(function, ast.Attribute):
        named, scope_of = function.attr, scope
    else:
        return None
    if not _is_library(function.value, scope_of, code):
        return None
    missing = tuple(
        name for name in _DECLARATIONS if (named, name) not in declared and (function.attr, name) not in declared
    )
    if _C_LIBRARY.fullmatch(function.attr):
        missing = tuple(name for name in missing if name != "restype")
    return NativeCall(node, scope, segment(source, node.func), missing) if missing else None


def _can_be_it(one: NativeCall, *, damaged: bool) -> bool:
    """Whether declarations or a look at the pointer would have changed anything; `damaged`: the heap was."""
    if not one.missing:
        return not damaged and _may_be_null(one.call)
    if "argtypes" in one.missing:
        named = one.function.rpartition(".")[2]
        return not _C_LIBRARY.fullmatch(named) or any(not isinstance(each, ast.Constant) for each in one.call.args)
    return not damaged and not _is_dropped(one.call, one.scope)


def _may_be_null(call: ast.Call) -> bool:
    """A number that is not 0, and what is worked out from another address, are not caught by a check for null."""
    first = call.args[0] if call.args else None
    return _is_null(call) or not isinstance(first, (ast.Constant, ast.BinOp))


def _is_dropped(call: ast.Call, scope: Scope) -> bool:
    """Whether nobody uses the result: then its type is no trouble."""
    return any(isinstance(node, ast.Expr) and node.value is call for node in scope.walk())


def _is_library(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    for _ in range(3):
        if isinstance(node, ast.Call):
            return (code.qualified(node.func, scope) or "").startswith(_LOADERS)
        if not isinstance(node, ast.Name):
            return False
        binding = code.lookup(node.id, scope, node)
        if binding is None or binding.value is None:
            return False
        node, scope = binding.value, binding.scope
    return False


def _declared(code: Notebook) -> set[tuple[str, str]]:
    """What the cells declare, as (name of the function, argtypes or restype)."""
    found = set()
    for scope in (*code.mentioning(*_DECLARATIONS), *code.running.functions):
        for node in scope.walk():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in _DECLARATIONS:
                owner = node.value
                name = (
                    owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
                )
                found.add((name, node.attr))
    return found


def _type(argument: ast.expr) -> str:
    value = argument.value if isinstance(argument, ast.Constant) else None
    known = {int: "c_int", float: "c_double", bytes: "c_char_p", str: "c_wchar_p", bool: "c_bool"}
    return f"ctypes.{known.get(type(value), 'c_void_p')}"


def _is_null(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and first.value in (0, None)
