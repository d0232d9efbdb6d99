"""The fix `keep-buffer-alive`."""

import ast

from ..case import Case
from ..death import Death
from ..fix import Advice
from ..units import quote

_ADDRESSES = ("ctypes.addressof", "ctypes.cast", "numpy.ctypeslib.as_array", "ctypes.c_void_p")
_OWNERS = ("mmap.mmap", "multiprocessing.shared_memory.SharedMemory", "ctypes.create_string_buffer", "ctypes.c_char")
_ENDS = frozenset({"close", "unlink", "release", "resize"})


class KeepBufferAlive(Advice):
    """Keep the object that owns the memory as long as its memory is used.

    What it does
    ------------
    An address, or an array over memory of another object, does not keep that object alive: when it is closed, deleted
    or leaves its function, its memory is given back, and the next use of the address ends the process. The snippet
    copies the data, or keeps the owner beside the array.

    When it is offered
    ------------------
    Native code crashed or damaged memory, and the cells take the address of an object, and close, unlink or delete
    what may have owned it.

    What it costs
    -------------
    A copy takes the same memory again.
    """

    id, title = "keep-buffer-alive", "Keep the owner of the memory alive, or copy before you close it"
    causes = ("segfault", "heap-corruption")
    why = (
        "{taken} uses the memory of another object without keeping that object alive, and {ended} gives its memory "
        "back. What is read or written there afterwards belongs to nobody."
    )
    snippet = (
        "data = np.array(view)  # a copy, made before the owner is closed\n"
        "# or close it last: {ended_code}  # only when nothing uses its memory any more"
    )

    FIRES = [
        Case(
            "import ctypes, mmap, numpy as np\nm = mmap.mmap(-1, 4096)\nc = (ctypes.c_char * 4096).from_buffer(m)\n"
            "at = ctypes.addressof(c)\ndel c\nm.close()",
            "np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(ctypes.c_double)), (9,)).sum()",
            cause="segfault",
            says=("ctypes.cast(at", "m.close()", "copy"),
        ),
        Case(
            "from multiprocessing.shared_memory import SharedMemory as Shared\nimport numpy as np",
            "def load():\n    s = Shared('x')\n    a = np.ndarray((9,), buffer=s.buf)\n    s.close()\n    return a",
            "load().sum()",
            cause="segfault",
            says=("s.close()",),
        ),
    ]
    SILENT = [
        Case("import ctypes\nat = ctypes.addressof(c)", "use(at)", cause="segfault"),  # nothing is closed
        Case("import mmap\nm = mmap.mmap(-1, 9)\nf.close()", "m[0] = 1", cause="segfault"),
        Case("import ctypes", "ctypes.string_at(0)", cause="segfault"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find what was taken, and what ended its owner."""
        code = death.code
        owners, ended = set[str](), None
        for call in code.calls(*_OWNERS):
            match call.statement:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    owners.add(name)
        for scope in (one for module in code.mentioning(*_ENDS) for one in code.scopes(module.cell)):
            for node in scope.calls:
                match node.func:
                    case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in owners and attr in _ENDS:
                        ended = ended or scope.segment(node)
        taken = [*code.running.calls(*_ADDRESSES), *code.calls(*_ADDRESSES, "numpy.ndarray", "numpy.frombuffer")]
        uses = [
            one for one in taken if one.name in _ADDRESSES or one.argument("buffer", 0 if "from" in one.name else 2)
        ]
        if ended is None or not uses:
            return None
        return {"taken": quote(uses[0].text), "ended": quote(ended), "ended_code": ended}
