import ast
import re

from ...calls import native_calls
from ...code.trees import unparse
from ...edits import Changes, EditRefusedError, indent_unit, replace_by_lines
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, Scope, quote

_WRITERS = frozenset({"strcpy", "strcat", "sprintf", "gets", "memcpy", "memmove", "strncpy", "readinto"})
_GIVES_BACK = re.compile(
    r"(?:.*_)?f?(?:free|close|destroy|delete|release|dispose|dealloc\w{0,40})|\w+(?:Free|Close|Destroy)"
)
"""Names of functions of C that give memory back."""
_OVERRUN = re.compile(r"invalid (?:next |old )?size|corrupted (?:top )?size|corrupted (?:double-linked|unsorted)")
"""What the C library says when the numbers behind a block were written over; free() only notices that."""
_LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\np = libc.malloc(16)"
_CFFI = (
    "import cffi\nffi = cffi.FFI()\nC = ffi.dlopen(None)\nclass File:\n    def __init__(self, path):\n"
    "        self.file = C.fopen(path, b'w')\n    def close(self):\n        "
)
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
_TWICE = "{call} gives memory back. A block must be given back once, and only one that the library gave."
_FORGOTTEN = " The edit forgets it then, so that a second call does nothing."
_ONCE = "if {target}:\n    {call}\n    {target} = None  # so that nobody gives it back, or uses it, again"
_ONLY = (
    "block = libc.malloc(64)\nlibc.free(block)  # only what malloc gave: no address within it, none of Python's memory"
)
_IN_ITS_OWN = (
    "{call} wrote beyond the end of a buffer of its own. A text or an array that it was given is longer than the "
    "function expects."
)
_SHORTER = (
    "# in the C code: the length with each copy, snprintf(name, sizeof name, ...) for sprintf and strcpy\n"
    "# !gcc -fsanitize=address -g ...  # names the write itself\n"
    "data = text.encode()\nif len(data) >= SIZE:  # the room that the C code has, with the zero byte at the end\n"
    "    raise ValueError(f'{len(data)} bytes do not fit into {SIZE}')"
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
    forgets the address afterwards; where an attribute keeps it, that is an edit. Where no such call is seen, it shows
    how to find the write.

    When it is offered: The C library found its memory damaged, or native code crashed in such a call.

    What it costs: Nothing; the checked run is slower.
    """

    id, title = "bound-what-c-writes", "Give C as much room as it writes: check the length first"
    causes = ("heap-corruption", "segfault")
    words_stay = True
    unless_offered = frozenset({"format-in-python", "copy-the-c-memory"})

    FIRES = [
        Case(_LIBC, "libc.strcpy(p, text.encode())", says=("the room that `p`", "len(data)")),
        Case(_LIBC, "libc.free(p)\nlibc.free(p)", says=("p = None",)),
        Case(_LIBC, "libc.free(p + 16)", says=("no address within it",)),
        Case("import geo", "geo.fill(9)", says=("MALLOC_CHECK_=3",)),
        Case(
            _CFFI + "C.fclose(self.file)",
            "f = File(b'x')\nf.close()\nf.close()",
            signal="SIGABRT",
            output="free(): double free detected in tcache 2\n",
            becomes={
                1: _CFFI + "if self.file is not None:\n            C.fclose(self.file)\n            self.file = None"
            },
        ),
        Case(
            _LIBC,
            "libc.strcpy(p, text.encode())\nlibc.free(p)",
            signal="SIGABRT",
            line=2,
            output="free(): invalid next size (fast)\n",
            says=("the room that `p`",),
        ),
        Case(
            "import ctypes\nlib = ctypes.CDLL('./stats.so')",
            "lib.mean_of(label.encode(), block, 3)",
            signal="SIGABRT",
            line=1,
            output="*** stack smashing detected ***: terminated\n",
            says=("`lib.mean_of(label.encode(), block, 3)`", "snprintf"),
        ),
    ]
    SILENT = [
        Case("import geo", "geo.fill(9)", cause="segfault"),
        Case(_LIBC, "libc.memset(p, 0, 9)", cause="segfault"),  # its length is written there: the address is wrong
        Case("x = [0] * 10**9", cause="oom-cgroup"),
    ]

    def propose(self, death: Death) -> Proposals:
        is_damaged, is_twice = death.causes[0].id == "heap-corruption", "double free" in death.text
        is_overrun = is_damaged and _OVERRUN.search(death.text) is not None
        calls = list(native_calls(death, anywhere=is_overrun))
        freed = [
            call
            for call in calls
            if is_damaged and not is_overrun and _GIVES_BACK.fullmatch(call.name) and call.node.args
        ]
        wrote = [call for call in calls if call.name in _WRITERS and call.node.args]
        if is_damaged and " detected ***" in death.text:
            for call in calls[-1:]:
                title = "Give the C function no more than it has room for, or let it check the length"
                yield Proposal((), _IN_ITS_OWN.format(call=quote(call.text)), title=title, snippet=_SHORTER)
        elif wrote and not (is_twice and freed):
            snippet = _ROOM.format(target=quote(wrote[-1].scope.segment(wrote[-1].node.args[0])))
            yield Proposal((), _TOO_FEW.format(call=quote(wrote[-1].text)), snippet=snippet)
        elif freed:
            yield from _given_back(freed[-1], freed, is_twice=is_twice)
        elif is_damaged:
            yield Proposal((), _SOMEWHERE, title="Find the call that writes beyond its memory", snippet=_CHECKED)


def _given_back(call: Call, freed: list[Call], *, is_twice: bool) -> Proposals:
    target = call.node.args[-1]
    place, title = call.scope.segment(target), "Give memory back only once, and only what the library gave"
    why = _TWICE.format(call=quote(call.text))
    if not isinstance(target, ast.Name | ast.Attribute):
        yield Proposal((), why, title=title, snippet=_ONLY)
        return
    same = [one for one in freed if unparse(one.node.args[-1]) == unparse(target)]
    edits = tuple(change for one in same for change in _forgotten(one)) if is_twice else ()
    snippet = _ONCE.format(call=call.text, target=place)
    yield Proposal(edits, why + (_FORGOTTEN if edits else ""), title=title, snippet=snippet)


def _forgotten(call: Call) -> Changes:
    """Return the edit that gives an attribute back once, and forgets it."""
    target, statement = call.node.args[-1], call.statement
    is_kept = isinstance(target, ast.Attribute) and isinstance(statement, ast.Expr) and statement.value is call.node
    if not is_kept or _is_asked(call.scope, target):
        return ()
    place, unit = call.scope.segment(target), indent_unit(call.scope, statement)
    lines = (f"if {place} is not None:", f"{unit}{call.text}", f"{unit}{place} = None")
    try:
        return replace_by_lines(call.scope, statement, *lines)
    except EditRefusedError:  # behind `def close(self):`, on its line
        return ()


def _is_asked(scope: Scope, target: ast.expr) -> bool:
    """Whether the call stands below a condition on the attribute already."""
    text = unparse(target)
    return any(isinstance(one, ast.If) and text in unparse(one.test) for one in scope.nodes)
