import ast
from collections.abc import Iterator

from ...code.notebook import Call
from ...fix import Case, Death, Fix, Proposal
from ...units import quote

_WRITERS = frozenset({"strcpy", "strcat", "sprintf", "gets", "memcpy", "memmove", "strncpy", "readinto"})
_LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\np = libc.malloc(16)"
_TOO_FEW = (
    "{call} writes as much as it is given, and does not know how much room there is. What comes after the buffer is "
    "written over, and the process is ended when that is noticed, often much later."
)
_ROOM = (
    "data = text.encode() + b'\\0'  # C's texts end with a zero byte\n"
    "if len(data) > SIZE:  # the room that {target} has\n"
    "    raise ValueError(f'{{len(data)}} bytes do not fit into {{SIZE}}')\n\n"
    "buffer = ctypes.create_string_buffer(data, len(data))  # or one that is as large as what it gets"
)
_TWICE = "{call} gives memory back. A block must be given back once, and only one that `malloc` gave."
_ONCE = "if {target}:\n    {call}\n    {target} = None  # so that nobody gives it back, or uses it, again"
_ONLY = (
    "block = libc.malloc(64)\nlibc.free(block)  # only what malloc gave: no address within it, none of Python's memory"
)
_SOMEWHERE = (
    "Native code wrote beyond its memory, and that was noticed later, so the line says little. With these checks the "
    "process ends nearer to the write."
)
_CHECKED = (
    "# as a script, in a terminal\n"
    "!PYTHONMALLOC=debug MALLOC_CHECK_=3 MALLOC_PERTURB_=165 python -X faulthandler script.py\n"
    "# or: valgrind --tool=memcheck python script.py, which names the write itself"
)


class BoundWhatCWrites(Fix):
    """Give native code room for all that it writes, and memory back only once.

    What it does: `strcpy`, `sprintf`, `memmove` write all that they are given; a buffer that is too small is written
    beyond its end. `free` of the same address twice damages the same lists. The snippet checks the length before, or
    forgets the address afterwards. Where no such call is seen, it shows how to find the write.

    When it is offered: The C library found its memory damaged, or native code crashed in such a call.

    What it costs: Nothing; the checked run is slower.
    """

    id, title = "bound-what-c-writes", "Give C as much room as it writes: check the length first"
    causes = ("heap-corruption", "segfault")

    FIRES = [
        Case(_LIBC, "libc.strcpy(p, text.encode())", cause="heap-corruption", says=("the room that `p`", "len(data)")),
        Case(_LIBC, "libc.free(p)\nlibc.free(p)", cause="heap-corruption", says=("p = None",)),
        Case(_LIBC, "libc.free(p + 16)", cause="heap-corruption", says=("no address within it",)),
        Case("import geo", "geo.fill(9)", cause="heap-corruption", says=("MALLOC_CHECK_=3",)),
    ]
    SILENT = [
        Case("import geo", "geo.fill(9)", cause="segfault"),
        Case(_LIBC, "libc.memset(p, 0, 9)", cause="segfault"),  # its length is written there: the address is wrong
        Case("x = [0] * 10**9"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Name the last call of such a function; else say how the write is found."""
        is_damaged = death.causes[0].id == "heap-corruption"
        calls = [
            (Call(node, scope, node.func.attr), node.args[0])
            for scope in (death.code.running if death.code.imports("ctypes") else ())
            for node in scope.calls
            if isinstance(node.func, ast.Attribute) and node.args and not isinstance(node.args[0], ast.Constant)
        ]
        freed = [(call, target) for call, target in calls if call.name == "free" and is_damaged]
        wrote = [(call, target) for call, target in calls if call.name in _WRITERS]
        for call, target in wrote[-1:]:
            snippet = _ROOM.format(target=quote(call.scope.segment(target)))
            yield Proposal((), _TOO_FEW.format(call=quote(call.text)), snippet=snippet)
            return
        for call, target in freed[-1:]:
            place = call.scope.segment(target)
            snippet = _ONCE.format(call=call.text, target=place) if isinstance(target, ast.Name) else _ONLY
            yield Proposal(
                (),
                _TWICE.format(call=quote(call.text)),
                title="Give back only what malloc gave, and only once",
                snippet=snippet,
            )
            return
        if is_damaged:
            yield Proposal((), _SOMEWHERE, title="Find the call that writes beyond its memory", snippet=_CHECKED)
