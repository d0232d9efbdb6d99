import ast
import re
from collections.abc import Iterator

from ...calls import library_of, native_calls
from ...code.loop_changes import called_name
from ...code.origins import all_origins
from ...code.trees import unparse
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.c_formats import CFormat, c_format, unclear_address, wrong_address

_LIBC = "import ctypes\nlibc = ctypes.CDLL('libc.so.6')"
_LINE = "def line(fmt, *values):\n    args = [v.encode() if isinstance(v, str) else v for v in values]\n"
_LINE += "    libc.snprintf(buf, 80, fmt.encode(), *args)\n    return buf.value.decode()"
_OF_TEXTS = frozenset({"puts", "strlen", "strdup", "atoi", "atol", "atof", "getenv", "system", "perror", "fopen"})
"""Functions of C that take a text first."""
_LENGTHS = re.compile(r"(%[-+ #0]{0,5}[\d*]{0,5}(?:\.[\d*]{0,5})?)(?:hh|ll|[hlLzjtq])")


class FormatInPython(Fix):
    """Format a text in Python, or give C the types that its format says.

    What it does: `printf` and the like know of each value only what the format says. What belongs to `%s` is taken for
    the address of a text: a number there, or a value that is missing, leads to no memory of the process. No `argtypes`
    can check that, as the values change with the format. Python's own `%` takes the same format, and knows the types.

    When it is offered: Native code crashed in such a call, and the code does not show that each `%s` gets a text.

    What it costs: Nothing.
    """

    id, title, causes = "format-in-python", "Format in Python: C takes what %s gets for an address", ("segfault",)

    FIRES = [
        Case(_LIBC, "libc.printf(b'%s: %d\\n', 3, 4)", says=("`3`", "print('%s: %d\\n' % (3, 4), end='')")),
        Case(_LIBC, "libc.printf(b'%p %s\\n', p, 4)", says=("'%#x %s\\n' % (p, 4)",)),
        Case(_LIBC, "libc.printf(b'%d%n', 4, 5)", says=("gives `5` for `%n`", "ctypes.byref(n)")),
        Case(_LIBC, "n = 4711\nlibc.printf(b'no. %s\\n', n)", says=("gives `n`", "str(n).encode()")),
        Case(_LIBC, "libc.printf('%s and %s\\n'.encode(), name)", says=("has no value",)),
        Case(
            _LIBC + "\nbuf = ctypes.create_string_buffer(80)",
            _LINE,
            "for row in rows:\n    print(line('%-9s %5ld', *row))",
            says=("`*args`", "text = fmt % tuple(values)", "if it is a number"),
        ),
        Case(
            _LIBC + "\nprintf = libc.printf",
            "printf(b'%s %lld', row[0], 1)",
            says=("`row[0]`", "'%s %d' % (row[0], 1)"),
        ),
        Case(_LIBC, "libc.puts(42)", says=("the number `42`", "str(42).encode()")),
        Case(_LIBC, "n = 7", "libc.strlen(n)", says=("argtypes",)),
    ]
    SILENT = [
        Case(_LIBC, "libc.puts(b'42')"),
        Case(_LIBC, "libc.printf(b'%d: %d\\n', n, 4)"),
        Case(_LIBC, "libc.printf(b'%s\\n', name.encode())"),
        Case(_LIBC, "libc.puts(name)"),
        Case(_LIBC, "libc.sprintf(buf, b'%s', name)"),  # it may as well be too long
        Case("lib = load()", "lib.printf(b'%s', 3)"),
        Case(_LIBC, "libc.printf(b'%s', 3)", cause="oom-cgroup"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in _calls(death):
            yield from _of_number(call, death)
            found = c_format(call, death.code)
            if found is None or not death.code.is_at_line(call.node, call.scope):
                continue
            wrong = wrong_address(found, death.code)
            unclear = unclear_address(found, death.code) if found.takes_addresses else None
            if wrong is not None:
                yield _proposal(found, death, *wrong)
            elif unclear is not None and found.name != "sprintf":
                yield _proposal(found, death, "s", unclear, is_sure=False)


def _of_number(call: Call, death: Death) -> Iterator[Proposal]:
    """Tell of a number where C takes the address of a text: `libc.puts(5)`."""
    if called_name(call.node) not in _OF_TEXTS or not death.code.is_at_line(call.node, call.scope):
        return
    for given in call.node.args[:1]:
        origins = all_origins(given, call.scope, death.code)
        known = [one.node for one in origins if not isinstance(one.node, ast.Name)]
        match known:
            case [ast.Constant(value=int(value))] if not isinstance(value, bool):
                text, function = call.scope.segment(given), call.scope.segment(call.node.func)
                why = f"{quote(call.text)} ({death.code.place_of(call.node, call.scope)}) is given the number "
                why += f"{quote(text)}, and {quote(function)} takes it for the address of a text."
                snippet = (
                    f"{function}(str({text}).encode())\n{function}.argtypes = [ctypes.c_char_p]  # raises an error"
                )
                yield Proposal(
                    (), why, title="Give C a text in bytes, not a number", snippet=f"import ctypes\n{snippet}"
                )


def _calls(death: Death) -> Iterator[Call]:
    """Yield the calls into native libraries, also by a name of their own: `printf = libc.printf`."""
    yield from native_calls(death)
    for scope in death.code.running:
        for node in scope.calls:
            for made, where in all_origins(node.func, scope, death.code) if isinstance(node.func, ast.Name) else ():
                if not isinstance(made, ast.Attribute) or not death.is_at_crash(node, scope):
                    continue
                if library_of(made.value, where, death.code).startswith("ctypes."):
                    yield Call(node, scope, made.attr)


def _proposal(found: CFormat, death: Death, kind: str, value: ast.expr | None, *, is_sure: bool = True) -> Proposal:
    call = found.call
    what = f"{quote(call.text)} ({death.code.place_of(call.node, call.scope)})"
    given = "" if value is None else quote(call.scope.segment(value))
    if value is None:
        told = f"has no value for a `%{kind}` of its format: C takes for an address what happens to lie there."
    elif is_sure:
        told = f"gives {given} for `%{kind}`: C takes that number for an address."
    else:
        told = f"gives {given} for `%s`, which C takes for the address of a text. No text is there if it is a number."
    one = call.scope.segment(value) if isinstance(value, ast.Name | ast.Subscript | ast.Attribute) else "x"
    given_to_c = f"give C what the format says:\nstr({one}).encode()  # for %s; c_double(x) for %f, int(x) for %d"
    if "n" in found.conversions:  # it writes how long the text is so far
        return Proposal((), f"{what} {told}", snippet="n = ctypes.c_int()\nctypes.byref(n)  # for %n")
    target = "print({}, end='')" if found.name in ("printf", "wprintf") else "text = {}"
    snippet = target.format(_in_python(found, death)) + f"  # in place of {found.name}: Python knows the types"
    return Proposal((), f"{what} {told}", snippet=f"{snippet}\n\n# or {given_to_c}")


def _in_python(found: CFormat, death: Death) -> str:
    """Return the same with Python's own `%`."""
    scope, place = found.call.scope, found.place
    match place:
        case ast.Constant():
            text = repr(_LENGTHS.sub(r"\1", found.text or "").replace("%p", "%#x"))
        case ast.Call(func=ast.Attribute(attr="encode", value=inner)) | ast.Call(args=[inner]):
            text = scope.segment(inner)
        case _:
            text = f"{scope.segment(place)}.decode()"
    values = [_plain(one, scope, death) for one in found.values]
    if len(values) == 1 and isinstance(found.values[0], ast.Starred):
        return f"{text} % tuple({values[0].lstrip('*')})"
    return f"{text} % ({', '.join(values)}{',' * (len(values) == 1)})"


def _plain(value: ast.expr, scope: Scope, death: Death) -> str:
    """Return a value before it was made what C takes: `name` of `name.encode()`."""
    match value:
        case ast.Starred(value=inner):
            for one, where in all_origins(inner, scope, death.code):
                match one:
                    case ast.ListComp(elt=made, generators=[ast.comprehension(iter=items)]) if "encode" in unparse(
                        made
                    ):
                        return f"*{where.segment(items)}"
            return f"*{scope.segment(inner)}"
        case ast.Call(func=ast.Attribute(attr="encode", value=inner)):
            return scope.segment(inner)
        case ast.Call(args=[inner]) if called_name(value).startswith("c_"):
            return scope.segment(inner)
        case ast.Constant(value=bytes() as data):
            return repr(data.decode("latin-1"))
    return scope.segment(value)
