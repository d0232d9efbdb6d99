import ast

from ...code.origins import all_origins
from ...code.trees import unparse
from ...edits import replace
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote

_VIEWS = ("numpy.ctypeslib.as_array", "pyarrow.foreign_buffer")
_CHECK = (
    "import numpy as np\n"
    "wanted = int(np.prod(shape)) * np.dtype(dtype).itemsize  # of the view\n"
    "if wanted > size:  # in bytes: what was allocated, or what the library says\n"
    "    raise ValueError(f'{wanted:,} bytes wanted, {size:,} are there')"
)
_RAISES = "Get an ArrowInvalid in place of the crash: take the number of bytes from the array itself"
_ARROW = "import pyarrow as pa\nn = len(v)\nb = pa.foreign_buffer(v.ctypes.data, {}, base=v)"


class FitTheView(Fix):
    """Let a view of memory be no larger than the memory.

    What it does: An array over an address takes its length from the shape that it is given, and nothing checks that so
    many bytes are there: a colour too many, or 8 bytes for each value of 4, and it reads beyond the end. The edit takes
    the number of bytes from the array itself; the snippet compares both numbers first.

    When it is offered: Native code crashed, and the code makes such a view of an address.

    What it costs: Nothing. A wrong size raises an error in place of a crash.
    """

    id, title, causes = "fit-the-view", "Check that the view's shape fits the bytes that are there", ("segfault",)

    FIRES = [
        Case(
            _ARROW.format("n * 8"),
            "total(b)",
            becomes={1: _ARROW.format("v.nbytes")},
            says=("`v.nbytes`", "error in place of a crash"),
        ),
        Case(
            "import ctypes, numpy as np\ndef frame(p): return np.ctypeslib.as_array(p, shape=(h, w, 3))",
            "frame(camera.grab()).mean()",
            says=("as_array(p, shape=(h, w, 3))", "bytes are there", "itemsize"),
        ),
        Case(
            "import ctypes\nP = ctypes.POINTER(ctypes.c_int)\nrows = (ctypes.c_int * 9)()\np = ctypes.cast(rows, P)",
            "total = 0\nfor i in range(10**9):\n    total += p[i]",
            line=3,
            says=("`p[i]`", "has no length", "`rows` itself"),
        ),
        Case(
            "import ctypes, numpy as np\nx = np.zeros(9)",
            "p = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))\np[n] = 1.0",
            line=2,
            says=("`x` itself",),
        ),
    ]
    SILENT = [
        Case("import ctypes\np = (ctypes.c_int * 9)()", "p[i] = 1", line=1),  # an IndexError
        Case("import ctypes\np = ctypes.cast(a, ctypes.POINTER(ctypes.c_int))", "p[0]", line=1),
        Case("import numpy as np\na = np.ndarray((3, 4))", "lib.run(a)"),
        Case(_ARROW.format("v.nbytes"), "total(b)"),
        Case("import numpy as np\na = np.ctypeslib.as_array(buffer)", "lib.run(a)"),
    ]

    def propose(self, death: Death) -> Proposals:
        yield from _of_index(death)
        for call in death.code.calls(*_VIEWS):
            is_arrow = call.name == "pyarrow.foreign_buffer"
            given = call.argument("size" if is_arrow else "shape", 1)
            own = _own_size(call) if is_arrow else None
            if given is None or (is_arrow and own in (None, unparse(given))):
                continue
            why = f"{quote(call.text)} takes the size as it is written; nothing checks that so many bytes are there."
            if own is None:
                yield Proposal((), why, snippet=_CHECK)
            else:
                why += f" {quote(own)} is right for each type: too few are an error in place of a crash."
                yield Proposal(replace(call.scope, given, own), why, title=_RAISES)
            return


def _of_index(death: Death) -> Proposals:
    """Tell of `p[i]`, where `p` is a pointer of ctypes: it has no length that the index is compared with."""
    for node, scope in death.code.running.nodes(ast.Subscript):
        if isinstance(node.slice, ast.Constant) or not death.was_running(node, scope):
            continue
        for one, where in all_origins(node.value, scope, death.code):
            match one:
                case ast.Call(args=[owner, _]) if death.code.qualified(one.func, where) == "ctypes.cast":
                    pass
                case ast.Call(func=ast.Attribute(attr="data_as", value=ast.Attribute(attr="ctypes", value=owner))):
                    pass
                case _:
                    continue
            if isinstance(owner, ast.Name | ast.Attribute):
                text, name = scope.segment(node), unparse(owner)
                why = (
                    f"{quote(unparse(node.value))} is a pointer and has no length: {quote(text)} goes where the index "
                )
                why += f"leads. Take {quote(name)} itself, which raises an IndexError."
                snippet = f"{text.replace(unparse(node.value), name, 1)}  # in place of {text}: the index is checked"
                yield Proposal((), why, title="Index the array itself: a pointer has no end", snippet=snippet)
                return


def _own_size(call: Call) -> str | None:
    """Return `values.nbytes` where the address is `values.ctypes.data`."""
    match call.argument("address", 0):
        case ast.Attribute(attr="data", value=ast.Attribute(attr="ctypes", value=array)):
            return f"{call.scope.segment(array)}.nbytes"
    return None
