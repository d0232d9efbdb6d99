import ast

from ...code.calls import last_name
from ...code.notebook import Notebook
from ...code.trees import unparse, walk
from ...fix import Advice, Case, Death, Scope, quote

_ADDRESSES = ("ctypes.addressof", "ctypes.cast", "numpy.ctypeslib.as_array", "ctypes.c_void_p")
_OWNERS = ("mmap.mmap", "multiprocessing.shared_memory.SharedMemory", "ctypes.create_string_buffer", "ctypes.c_char")
_NEW = frozenset({"array", "ascontiguousarray", "astype", "copy", "empty", "zeros", "ones", "full", "arange"})
"""What makes an array that owns its memory."""
_CASTS = ("cast", "c_void_p", "int", "from_address")
_ENDS = frozenset({"close", "unlink", "release", "resize"})


_BELONGS = (
    "{taken} uses the memory of another object without keeping that object alive, and {ended} gives its memory "
    "back. What is read or written there afterwards belongs to nobody."
)
_CALLBACK = (
    "{taken} makes a function for C that nobody keeps: its code is gone after the call it is given to. The next time "
    "C calls it, there is something else."
)
_NAMELESS = (
    "{} makes an array that has no name, and {} takes its address only: the array is gone before C gets that, and "
    "something else lies there."
)
_DROPPED = (
    "{} returns an array over the shared memory of {}, and nothing keeps that object: it closes the memory when the "
    "function ends. {} then uses memory that is gone."
)
_KEPT = "# or, to go on sharing it: return {0}, {1}  # the caller keeps both as long as it uses the array"


class KeepBufferAlive(Advice):
    """Keep the object that owns the memory as long as its memory is used.

    What it does: An address, or an array over memory of another object, does not keep that object alive: when it is
    closed, deleted or leaves its function, its memory is given back, and the next use of the address ends the process.
    The snippet copies the data, or keeps the owner beside the array.

    When it is offered: Native code crashed or damaged memory, and the cells take the address of an object, and close,
    unlink or delete what may have owned it. Or a function keeps the address of an array of its own, and not the array.

    What it costs: A copy takes the same memory again.
    """

    id, title = "keep-buffer-alive", "Keep the owner of the memory alive, or copy before you close it"
    causes = ("segfault", "heap-corruption")
    why = "{told}"
    snippet = "{code_}"

    FIRES = [
        Case(
            "import ctypes, mmap, numpy as np\nm = mmap.mmap(-1, 4096)\nc = (ctypes.c_char * 4096).from_buffer(m)\n"
            "at = ctypes.addressof(c)\ndel c\nm.close()",
            "np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(ctypes.c_double)), (9,)).sum()",
            says=("ctypes.cast(at", "m.close()", "copy"),
        ),
        Case(
            "from multiprocessing.shared_memory import SharedMemory as Shared\nimport numpy as np",
            "def load():\n    s = Shared('x')\n    a = np.ndarray((9,), buffer=s.buf)\n    s.close()\n    return a",
            "load().sum()",
            says=("s.close()",),
        ),
        Case(
            "from multiprocessing.shared_memory import SharedMemory as Shared\nimport numpy as np\nclass Frames:\n"
            "    def __init__(self): self.memory = Shared(create=True, size=90)\n"
            "    def end(self):\n        a = np.ndarray((9,), buffer=self.memory.buf)\n        self.memory.close()\n"
            "        return a",
            "Frames().end().sum()",
            says=("self.memory.close()", "a copy"),
        ),
        Case(
            "from multiprocessing import shared_memory as sm\nimport numpy as np",
            "def get(n):\n    m = sm.SharedMemory(n)\n    return np.ndarray((9,), 'f4', buffer=m.buf)",
            "get('a').sum()",
            says=("`get`", ".copy()", "buffer=m.buf), m"),
        ),
        Case(
            "import numpy as np\nclass Frame:\n    def __init__(self, pixels):\n        data = pixels / 255\n"
            "        self.at = ffi.cast('double *', data.ctypes.data)",
            "libc.memcpy(out, Frame(p).at, 9)",
            says=("`data.ctypes.data`", "the end of `Frame.__init__`", "self.data = data"),
        ),
        Case(
            "import ctypes\nimport numpy as np",
            "def make(n):\n    buf = np.arange(n)\n    return buf.ctypes.data, n\nat, n = make(9)",
            "np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(ctypes.c_double)), (n,)).sum()",
            says=("`buf.ctypes.data`", "the end of `make`", "return buf.ctypes.data, n, buf"),
        ),
        Case(
            "import ctypes\nlib = ctypes.CDLL(None)\nHANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int)\nclass Count:\n"
            "    def install(self, n):\n        lib.signal(n, HANDLER(self.hit))",
            "Count().install(12)\nos.kill(os.getpid(), 12)",
            says=("`HANDLER(self.hit)`", "self.callback = HANDLER(self.hit)", "lib.signal(n, self.callback)"),
        ),
        Case(
            "import ctypes\nlib = ctypes.CDLL(None)",
            "lib.on(ctypes.CFUNCTYPE(None)(tell))\nlib.run()",
            says=("`ctypes.CFUNCTYPE(None)(tell)`", "lib.on(callback)"),
        ),
        Case(
            "import ctypes",
            "lib.norm(x.astype('f4').ctypes.data, n)",
            says=("has no name", "data = x.astype('f4')", "lib.norm(data.ctypes.data, n)"),
        ),
    ]
    SILENT = [
        Case("import ctypes", "lib.norm(x.ctypes.data, n)"),
        Case("import ctypes", "lib.norm(f(x).ctypes.data, n)"),  # f may keep it
        Case("import ctypes", "p = x.astype('f4').ctypes.data_as(P)"),  # keeps the array
        Case(  # it is kept
            "from multiprocessing import shared_memory as sm\nimport numpy as np\nKEPT = []",
            "def get(n):\n    m = sm.SharedMemory(n)\n    KEPT.append(m)\n    return np.ndarray(9, 'f4', buffer=m.buf)",
            "get('a').sum()",
        ),
        Case(  # it is kept
            "import ctypes\nF = ctypes.CFUNCTYPE(None, ctypes.c_int)\nkept = F(print)",
            "ctypes.CDLL(None).signal(12, kept)",
        ),
        Case("import ctypes\nat = ctypes.addressof(c)", "use(at)"),  # nothing is closed
        Case("import mmap\nm = mmap.mmap(-1, 9)\nf.close()", "m[0] = 1"),
        Case("import ctypes", "ctypes.string_at(0)"),
        Case(  # the array is kept
            "class Frame:\n    def __init__(self, pixels):\n        data = pixels / 255\n"
            "        self.at, self.data = data.ctypes.data, data",
            "use(Frame(p).at)",
        ),
        Case(  # a count is kept, no address
            "class A:\n    def f(self, x):\n        data = x / 2\n        self.n = lib.count(data.ctypes.data)",
            "A().f(x)",
        ),
        Case("def at(data):\n    return data.ctypes.data", "use(at(x))"),  # the caller's own
        Case("def go(x):\n    data = x / 2\n    n = lib.f(data.ctypes.data)", "go(x)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find what was taken, and what ended its owner."""
        code = death.code
        if (view := _of_shared_memory(code)) is not None:
            return view
        owners, ended = set[str](), None
        for call in code.calls(*_OWNERS):
            match call.statement:
                case ast.Assign(targets=[ast.Name() | ast.Attribute() as owner]):
                    owners.add(unparse(owner))
        for scope in code.scopes_mentioning(*_ENDS):
            for node in scope.calls:
                match node.func:
                    case ast.Attribute(value=held, attr=attr) if attr in _ENDS and unparse(held) in owners:
                        ended = ended or scope.segment(node)
        taken = [*code.running.calls(*_ADDRESSES), *code.calls(*_ADDRESSES, "numpy.ndarray", "numpy.frombuffer")]
        uses = [
            one for one in taken if one.name in _ADDRESSES or one.argument("buffer", 0 if "from" in one.name else 2)
        ]
        if ended is None or not uses:
            found = _of_local(death)
            found = None if found is None else {**found, "told": _BELONGS.format(**found)}
            return found or _of_callback(death) or _of_temporary(death)
        last = f"# or close it last: {ended}  # only when nothing uses its memory any more"
        copied = "data = np.array(view)  # a copy, made before the owner is closed\n"
        told = _BELONGS.format(taken=quote(uses[0].text), ended=quote(ended))
        return {"told": told, "code_": copied + last}


def _of_shared_memory(code: Notebook) -> dict[str, str] | None:
    """Find a function that returns an array over shared memory which it opens itself and does not keep."""
    for scope in code.scopes_mentioning("SharedMemory"):
        opened = {
            one.targets[0].id: one.value
            for one in (() if scope.is_cell else scope.nodes)
            if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Name)
            and isinstance(one.value, ast.Call)
            and code.qualified(one.value.func, scope) == _OWNERS[1]
        }
        alone = {one for one in opened if all(isinstance(use, ast.Attribute) for use in _uses(one, scope))}
        for call in scope.calls:
            match call.keywords, scope.statement_of(call):
                case _, ast.Return() if code.qualified(call.func, scope) == "numpy.ndarray":
                    used = {one.id for word in call.keywords for one in walk(word.value) if isinstance(one, ast.Name)}
                    if name := next(iter(used & alone), None):
                        text = scope.segment(call)
                        told = _DROPPED.format(quote(scope.name), quote(name), quote(text))
                        return {
                            "told": told,
                            "code_": f"return {text}.copy()  # own memory\n{_KEPT.format(text, name)}",
                        }
    return None


def _uses(name: str, scope: Scope) -> list[ast.AST]:
    """Return what stands around each reading of a name: `shm.buf`, or the name alone."""
    inner = {id(one.value): one for one in scope.nodes if isinstance(one, ast.Attribute)}
    names = (one for one in scope.names if isinstance(one, ast.Name) and one.id == name)
    return [inner.get(id(one), one) for one in names if isinstance(one.ctx, ast.Load)]


def _of_callback(death: Death) -> dict[str, str] | None:
    """Find a ctypes function type that is called in the arguments of another call, so that nothing keeps its result."""
    found = [*death.code.calls("ctypes.CFUNCTYPE", "ctypes.PYFUNCTYPE")]
    types, made = {one.statement for one in found}, {one.node for one in found}
    names = {one.id for to in types if isinstance(to, ast.Assign) for one in to.targets if isinstance(one, ast.Name)}
    for scope in death.code.scopes_mentioning(*names, "CFUNCTYPE", "PYFUNCTYPE"):
        for outer in scope.calls:
            for one in outer.args if isinstance(outer.func, ast.Attribute) else ():
                match one:
                    case ast.Call(func=ast.Name() | ast.Call() as kind, args=[_]) if (
                        isinstance(kind, ast.Call) and kind in made
                    ) or getattr(kind, "id", None) in names:
                        text = scope.segment(one)
                        keeper = "self.callback" if scope.owner else "callback"
                        given = scope.segment(outer).replace(text, keeper)
                        told = _CALLBACK.format(taken=quote(text))
                        return {
                            "told": told,
                            "code_": f"{keeper} = {text}  # keep it as long as C may call it\n{given}",
                        }
    return None


def _of_temporary(death: Death) -> dict[str, str] | None:
    """Find the address of an array that has no name: it is gone before C gets the address."""
    for scope in death.code.running:
        for node in scope.nodes:
            match node:
                case ast.Attribute(
                    attr="data", value=ast.Attribute(attr="ctypes", value=ast.Call() | ast.BinOp() as new)
                ):
                    line = scope.statement_of(node)
                    is_new = isinstance(new, ast.BinOp) or last_name(new.func) in _NEW
                    if line is not None and is_new and death.was_running(node, scope):
                        text = scope.segment(new)
                        told = _NAMELESS.format(quote(text), quote(scope.segment(node)))
                        used = scope.segment(line).replace(scope.segment(node), "data.ctypes.data")
                        return {"told": told, "code_": f"data = {text}  # keep it as long as C uses its memory\n{used}"}
    return None


def _of_local(death: Death) -> dict[str, str] | None:
    """Find a function that keeps the address of an array of its own, and not the array."""
    for scope in death.code.scopes_mentioning("ctypes"):
        for node in () if scope.is_cell else scope.nodes:
            match node:
                case ast.Attribute(attr="data", value=ast.Attribute(attr="ctypes", value=ast.Name(id=name))):
                    match scope.statement_of(node):
                        case ast.Return(value=ast.expr() as value):
                            given = scope.segment(value).removeprefix("(").removesuffix(")")
                            given = given if isinstance(value, ast.Tuple) else scope.segment(value)
                            keeper = f"return {given}, {name}  # keep both as long as the address is used"
                        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=value):
                            keeper = f"self.{name} = {name}  # keeps the memory as long as the object with the address"
                        case _:
                            continue
                    if _is_address(value, node) and _is_own(scope, name):
                        text, where = quote(scope.segment(node)), f"the end of {quote(scope.name)}"
                        return {"taken": text, "ended": where, "code_": keeper}
    return None


def _is_address(value: ast.expr, node: ast.expr) -> bool:
    """Whether a value is the address, as it is or with another type; any other function gives something else."""
    match value:
        case ast.Tuple(elts=several):
            return any(_is_address(one, node) for one in several)
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=given):
            return name in _CASTS and node in given
    return value is node


def _is_own(scope: Scope, name: str) -> bool:
    """Whether a function makes the array itself, once, and only reads attributes of it afterwards."""
    uses = scope.named(name)
    read = {one.value for one in scope.nodes if isinstance(one, ast.Attribute)}
    made = [
        one.value
        for one in scope.nodes
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id == name
    ]
    if len(made) != 1 or sum(isinstance(one.ctx, ast.Store) for one in uses) != 1 or name in scope.parameters:
        return False
    match made[0]:
        case ast.Call(func=ast.Attribute(attr=attr)):
            is_new = attr in _NEW
        case value:
            is_new = isinstance(value, ast.BinOp)
    return is_new and all(one in read for one in uses if isinstance(one.ctx, ast.Load))
