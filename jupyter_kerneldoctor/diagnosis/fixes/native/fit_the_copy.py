import ast

from ...code.origins import all_origins
from ...code.trees import walk
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote

_SIZES = {"ctypes.memmove": 2, "ctypes.memset": 2, "ctypes.string_at": 1}
"""Which argument says how many bytes; what stands before it are addresses."""
_CHECK = (
    "wanted = {size}\nif wanted > {room}:  # the bytes that are there\n"
    "    raise ValueError(f'{{wanted:,}} bytes do not fit')"
)

_ORDER = "\n\n# a length that is read from a file: look at its byte order, too: '>I' is big-endian, '<I' little-endian"


class FitTheCopy(Fix):
    """Compare the number of bytes with the memory that is there.

    What it does: `ctypes.memmove`, `memset` and `string_at` take as many bytes as they are told, also beyond the end of
    what they are given: a count of numbers in place of bytes, or a factor of 8 too many. The snippet compares first.

    When it is offered: Native code crashed in such a call, whose memory is the notebook's own: an array of ctypes, or
    of NumPy.

    What it costs: Nothing. A wrong number raises an error in place of a crash.
    """

    id, title = "fit-the-copy", "Check that so many bytes are there: sizeof, nbytes"
    causes = ("segfault", "heap-corruption")

    FIRES = [
        Case(
            "import ctypes\nimport numpy as np\nx = np.zeros(9)\nbuf = (ctypes.c_uint8 * 9)()",
            "ctypes.memmove(buf, x.ctypes.data, n * 8)",
            says=("wanted = n * 8", "min(ctypes.sizeof(buf), x.nbytes)"),
        ),
        Case(
            "import ctypes\nbuf = ctypes.create_string_buffer(99)",
            "ctypes.memset(buf, 0, 10**9)",
            says=("wanted > ctypes.sizeof(buf)",),
        ),
        Case(
            "import ctypes\nbuf = ctypes.create_string_buffer(raw)\nn = ctypes.c_uint32.from_buffer(buf, at).value",
            "text = ctypes.string_at(ctypes.addressof(buf) + at + 4, n)",
            says=("wanted > ctypes.sizeof(buf) - at - 4", "byte order"),
        ),
    ]
    SILENT = [
        Case("import ctypes\np = lib.find()", "ctypes.string_at(p, 9)"),  # the address may be wrong
        Case("import ctypes", "ctypes.string_at(0, 9)"),
        Case("import ctypes\nbuf = (ctypes.c_char * 9)()", "ctypes.string_at(buf)"),
        Case("def memset(p, c, n): pass", "memset(buf, 0, 9)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in death.code.running.calls(*_SIZES):
            given = call.node.args
            if len(given) <= _SIZES[call.name] or not death.is_at_crash(call.node, call.scope):
                continue
            places = given[: 2 if call.name.endswith("memmove") else 1]
            rooms = [room for one in places if (room := _room(one, call.scope, death)) is not None]
            if rooms:
                room = rooms[0] if len(rooms) == 1 else f"min({', '.join(rooms)})"
                wanted = given[_SIZES[call.name]]
                size, sources = call.scope.segment(wanted), all_origins(wanted, call.scope, death.code)
                why = f"{quote(call.text)} takes as many bytes as it is told, also beyond the end of what it is given."
                order = _ORDER if any(_is_read(one.node) for one in sources) else ""
                yield Proposal((), why, snippet=_CHECK.format(size=size, room=room) + order)


def _is_read(size: ast.expr) -> bool:
    """Whether a number of bytes was read out of bytes itself."""
    named = {one.attr for one in walk(size) if isinstance(one, ast.Attribute)}
    return bool(named & {"from_buffer", "from_buffer_copy", "from_bytes", "unpack", "unpack_from"})


def _room(address: ast.expr, scope: Scope, death: Death) -> str | None:
    """Return how many bytes there are at an address, as code; None where that is not the notebook's own memory."""
    for one, where in all_origins(address, scope, death.code):
        match one:
            case ast.BinOp(op=ast.Add(), left=start, right=offset):
                room = _room(start, where, death)
                return room and f"{room} - {where.operand(offset)}"
            case ast.Call(func=function, args=[array]) if death.code.qualified(function, where) == "ctypes.addressof":
                return _room(array, where, death)
            case ast.Attribute(attr="data", value=ast.Attribute(attr="ctypes", value=array)):
                return f"{where.segment(array)}.nbytes"
            case ast.Call(func=ast.Attribute(attr="data_as", value=ast.Attribute(attr="ctypes", value=array))):
                return f"{where.segment(array)}.nbytes"
            case ast.Call(func=ast.BinOp(op=ast.Mult(), left=kind)):
                is_array = (death.code.qualified(kind, where) or "").startswith("ctypes.c_")
            case ast.Call(func=function):
                is_array = (death.code.qualified(function, where) or "") == "ctypes.create_string_buffer"
            case _:
                continue
        if is_array:
            return f"ctypes.sizeof({scope.segment(address)})"
    return None
