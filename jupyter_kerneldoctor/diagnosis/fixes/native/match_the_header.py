import ast
import re
from collections.abc import Iterator

from ...code.trees import unparse
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_POINTERS = re.compile(r"\b(?:c_char_p|c_wchar_p|c_void_p|POINTER|py_object)\b")
_TM = "import ctypes\nclass Tm(ctypes.Structure):\n    _fields_ = [('sec', ctypes.c_int), ('tm_zone', ctypes.c_char_p)]"
_CHECK = (
    "print(ctypes.sizeof({name}), {name}.{field}.offset)\n"
    "# and the same in C, with the header file: _fields_ needs all its fields, in the same order:\n"
    '# printf("%zu %zu\\n", sizeof(struct ...), offsetof(struct ..., {field}));'
)


class MatchTheHeader(Fix):
    """Give a ctypes Structure all the fields that the C struct has, in the same order.

    What it does: ctypes lays out what `_fields_` says. Where a field is missing, too short or at another place than in
    the library's header file, all that come after it are read from the wrong place, and a number is taken for an
    address. The snippet prints where ctypes sees the field; C prints the same with `offsetof`.

    When it is offered: Native code crashed at a line that reads a pointer from a Structure that a cell defines.

    What it costs: Nothing.
    """

    id, title = "match-the-header", "Compare the fields of the Structure with the header file: _fields_"
    causes = ("segfault", "heap-corruption")

    FIRES = [Case(_TM, "tm = lib.now().contents\nprint(tm.tm_zone)", line=2, says=("`Tm`", "offsetof"))]
    SILENT = [
        Case(_TM, "tm = lib.now().contents\nprint(tm.sec)", line=2),
        Case("tm = lib.now().contents\nprint(tm.tm_zone)", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        read = {
            node.attr
            for scope in death.code.running
            for node in scope.names
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _is_there(node, scope.cell, death)
        }
        for module in death.code.mentioning("_fields_"):
            for node in module.nodes:
                if isinstance(node, ast.ClassDef) and (field := next((f for f in _fields(node) if f in read), None)):
                    place = death.code.cell_name(module.cell)
                    why = (
                        f"{quote(field)} of {quote(node.name)} ({place}) is taken for an address. Where `_fields_` "
                        "lacks a field of the C struct, or has one of another size, it is read from the wrong place."
                    )
                    yield Proposal((), why, snippet=_CHECK.format(name=node.name, field=field))
                    return


def _is_there(node: ast.Attribute, cell: int, death: Death) -> bool:
    """Whether a node stands at the line of the crash, where that is known."""
    at = next(iter(death.user_frames), None)
    if at is None or at.cell is None:
        return death.line is None or cell != death.code.last or node.lineno == death.line
    return death.code.cells[cell] is at.cell and node.lineno <= at.line <= (node.end_lineno or 0)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Yield the fields of a Structure that are pointers, but for the first, which is at the right place."""
    for one in node.body:
        match one:
            case ast.Assign(targets=[ast.Name(id="_fields_")], value=ast.List(elts=fields) | ast.Tuple(elts=fields)):
                for field in fields[1:]:
                    match field:
                        case ast.Tuple(elts=[ast.Constant(value=str() as name), kind, *_]):
                            yield from [name] if _POINTERS.search(unparse(kind)) else []
