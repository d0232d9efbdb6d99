import ast

from ...calls import is_of, ran_in
from ...code.arrays import Value
from ...code.calls import plain_names
from ...code.origins import Origins, all_origins
from ...code.trees import dump, walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.evaluation import is_forward
from ...frameworks.torch import Kind, Tensors
from ...place import Place, guilty_place

_FEWEST, _MANY = 5, 1000  # rows of a step, and of all
_USED = 0.25  # of the room, for the rows of a step: what is worked out of them takes more
_SLICES = {"pandas": ".iloc[{cut}]", "xarray": ".isel({{dim: slice({ends})}})"}
_ROWS = (
    "parts = []\nfor at in range(0, len({name}), {step}):\n    part = {name}{cut}  # {count} at a time\n"
    "    ...  # {line}, and what follows it, with `part` for `{name}`\n"
    "    parts.append(...)  # only what you need of these rows\nresult = np.concatenate(parts)"
)
_BY_KEY = ("dict", "defaultdict", "set", "frozenset")
"""What makes a container that has no rows."""
_PAIRED = (
    "parts = []\nfor at in range(0, len({name}), {step}):\n    part = {name}{cut}  # {count}, against all\n"
    "    {line}\n    parts.append(...)  # only what you need of these pairs: the nearest, a count, a sum"
)
_EACH = tuple(
    f"numpy.{name}"
    for name in (
        *("exp", "log", "log1p", "sqrt", "square", "abs", "sin", "cos", "tanh", "clip", "maximum", "minimum"),
        "power",
    )
)
"""Functions of NumPy that work on each number by itself."""
_DIMENSIONS = (
    "print({left}.dims, {right}.dims)  # what only one of them has, is repeated for all of the other\n"
    "{right} = {right}.rename({{'its_name': 'the_same_name'}})  # where one dimension has two names"
)


_TABLES = ("DataFrame", "Series", "DataArray", "Dataset", "GeoDataFrame", "LazyFrame", "Table", "Tensor")
_NO_ROWS = (ast.Dict, ast.DictComp, ast.Set, ast.SetComp)


class APartAtATime(Fix):
    """Work through the data of the statement some rows at a time.

    What it does: Takes the statement that memory grew in, and shows it in a loop over the rows of the array that it
    names. For arithmetic of xarray it says how the names of dimensions make a result larger than both.

    When it is offered: Memory ran out in arithmetic on arrays or tables, or in a function of yours that is given one.
    It comes after fixes that know what is special about it.

    What it costs: A loop of your own. What needs all rows at once, as a median does, cannot be put together of parts so
    easily.
    """

    id, title, causes, general = "a-part-at-a-time", "Work through it some rows at a time", (Family.MEMORY,), True
    unless_offered = frozenset(  # where what is kept is too much, not what is worked on
        {
            *("bound-dict-cache", "bound-function-cache", "bound-growing-container", "close-figures"),
            *("hold-fewer-items", "suppress-output-cache", "release-traceback", "blockwise-pairwise"),
            *("scores-of-distances", "sort-and-add-up", "repeated-labels", "share-not-percent"),
        }
    )

    FIRES = [
        Case(
            "def spread(x, y):\n    gap = x[:, None] - y\n    return gap.std(1)\n",
            "s = spread(a, b)",
            says=("part = a[at : at + step]", "s = spread(a, b)"),
        ),
        Case("import numpy as np\nx = np.ones((9000, 9000))", "y = np.exp(x) / (1 + np.exp(x))", says=("len(x)",)),
        Case(
            "import numpy as np\nx = np.linspace(0, 1, 9000)\ny = np.linspace(0, 2, 8000)",
            "X, Y = np.meshgrid(x, y)\nC = X.ravel() + 1j * Y.ravel()",
            line=1,
            says=("part = y[at : at + ", "X, Y = np.meshgrid(x, y)"),
        ),
        Case(
            "import numpy as np",
            "d = np.abs(a[:, None] - a[None, :])",
            says=("d = np.abs(part[:, None] - a[None, :])",),
        ),
    ]
    SILENT = [
        Case(
            "from collections import defaultdict\nby = defaultdict(set)",
            "seen = set()\nfor h in hours:\n    seen = seen | by[h]",
            line=3,
        ),
        Case("x = load()"),
        Case("y = a - b", cause="segfault"),
        Case("n = 1 + 2"),
        Case("import torch\nnet = torch.nn.Linear(9, 9)\ndef run(net, n): return net(load(n))", "y = run(net, 9)"),
        Case("net = Net()\ndef run(p): return p.go()", "y = run(net)"),
        Case("def learn(x, rate=0.1):\n    x.mean += rate * x.step()\nx = Learner()", "learn(x)"),
        Case("params = {'w': 1}\ndef run(p): return load(p)", "y = run(params)"),
        Case(
            "def act(s): return net(s)", "s = env.reset()\nwhile True:\n    a = act(s)\n    s, r = env.step(a)", line=3
        ),
        Case(
            "parent = {i: i - 1 for i in range(9)}\ndef depth(p, n): return depth(p, p[n]) + 1", "y = depth(parent, 3)"
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        found = None if at is None else _labelled(at, death) or _by_rows(at, death)
        if found is not None:
            yield found


def _labelled(at: Place, death: Death) -> Proposal | None:
    """Tell of arithmetic that matches names of dimensions, and makes more than it was given."""
    for node in walk(at.node):
        match node:
            case ast.BinOp(left=ast.Name() | ast.Attribute() as left, right=ast.Name() | ast.Attribute() as right):
                names = {"left": at.scope.segment(left), "right": at.scope.segment(right)}
                if ran_in(death, "/xarray/"):
                    why = f"{quote(at.text)} has every dimension of both: one that has another name there is added."
                    title = "Give equal dimensions the same name: rename"
                    return Proposal((), why, death.memory.missing_bytes, title, _DIMENSIONS.format(**names))
    return None


def _by_rows(at: Place, death: Death) -> Proposal | None:
    """Tell how the statement is worked through some rows at a time."""
    found = _rows_of(at, death)
    if found is None:
        return None
    value, headroom = death.values.of(found, at.scope), death.safe_headroom_bytes
    rows, step = (value.rows if value is not None else None), 0
    if rows is not None and rows < 2:
        return None
    if rows and headroom and death.memory.missing_bytes:
        step = max(1, min(rows // 2, int(rows * headroom * _USED / death.memory.missing_bytes)))
        step = int(float(f"{step:.0e}")) or 1
        if step < _FEWEST and rows >= _MANY:
            return None  # it is not the number of the rows that makes it large
    name = at.scope.segment(found)
    line = _against_all(name, at) if _is_paired_with_itself(name, at) else ""
    if line is None:
        return None
    package = next((one for one in _SLICES if is_of((one,), found, at.scope, death)), "")
    each = str(step or "step")
    cut = _SLICES.get(package, "[{cut}]").format(cut=f"at : at + {each}", ends=f"at, at + {each}")
    missing = size(death.memory.missing_bytes or 0)
    why = (
        f"{quote(at.text)} works on all of `{name}` at once; the cell took at least {missing}. Where each row is "
        "worked out by itself, a loop over blocks of rows needs as much as one block."
    )
    blocks = (
        ("one row at a time" if step == 1 else f"in blocks of {step:,} rows")
        if step
        else "a fiftieth of its rows at a time"
    )
    snippet = "" if step else f"step = max(1, len({name}) // 50)  # a fiftieth of the rows\n"
    count = "one row" if step == 1 else f"{step:,} rows" if step else "some rows"
    names = {"name": name, "step": each, "cut": cut, "count": count, "line": line or at.text}
    snippet += (_PAIRED if line else _ROWS).format(**names)
    return Proposal((), why, death.memory.missing_bytes, f"Work through `{name}` {blocks}", snippet)


def _against_all(name: str, at: Place) -> str | None:
    """Return the statement with a part of the rows in the place of those that are spread out: `part[:, None] - x`."""
    text = at.scope.segment(at.node)
    for one in walk(at.node):
        match one:
            case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(), *_])) if at.scope.segment(one.value) == name:
                spread = at.scope.segment(one)
                return None if "\n" in text else text.replace(spread, f"part{spread.removeprefix(name)}")
    return None


def _is_paired_with_itself(name: str, at: Place) -> bool:
    """Whether each row meets all others, `x[:, None] - x[None, :]`: a block would meet only its own."""
    spread = [one for one in walk(at.node) if isinstance(one, ast.Subscript) and at.scope.segment(one.value) == name]
    return any(
        "None" in at.scope.segment(one.slice) or "newaxis" in at.scope.segment(one.slice) for one in spread
    ) and (sum(at.scope.segment(one) == name for one in walk(at.node) if isinstance(one, ast.Name | ast.Attribute)) > 1)


def _rows_of(at: Place, death: Death) -> ast.expr | None:
    """Return what is worked on row by row: `x` of `x[:, None] - y`, a side of arithmetic, what a function is given."""
    code, scope, values = death.code, at.scope, death.values
    if any(isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) for node in walk(at.node)):
        return None
    for node in walk(at.node):
        match node:
            case ast.Subscript(value=base, slice=ast.Tuple(elts=[ast.Slice(), ast.Attribute(attr="newaxis"), *_])):
                return base
            case ast.Subscript(value=base, slice=ast.Tuple(elts=[ast.Slice(), ast.Constant(value=None), *_])):
                return base
    if is_forward(scope, code):
        return None  # its rows are those of the batch
    value = getattr(at.node, "value", None)
    sides = [] if value is None or isinstance(value, ast.Name) else _sides(value, scope, death)
    if code.imports("sympy"):
        return None
    loops = [loop.target for loop in scope.loops_around(at.node) if isinstance(loop, ast.For)]
    items = plain_names(*loops)
    free = [one for one in sides if isinstance(one, ast.Name) and code.qualified(one, scope) is None]
    names = [one for one in free if one.id not in items and not _has_no_rows(one, scope, death)]
    tensors = Tensors(code)
    names = [one for one in names if tensors.kind(one, scope) is not Kind.GRAPH]  # a network's answer is of one batch
    found = [(name, values.of(name, scope)) for name in names]
    arrays = [(value.bytes or 0 if value is not None else 0, name) for name, value in found if _may_be_array(value)]
    largest = max(arrays, key=lambda pair: pair[0], default=None)
    return None if largest is None else _spread(largest[1], scope, death) or largest[1]


def _has_no_rows(name: ast.Name, scope: Scope, death: Death) -> bool:
    """Whether a name stands for a number, a network, settings in a dict, or an object of a class that is no table's."""
    origins = [one for one, _ in all_origins(name, scope, death.code)]
    if Tensors(death.code).kind(name, scope) is Kind.MODULE or any(isinstance(one, _NO_ROWS) for one in origins):
        return True
    given = Origins(death.code).of(name, scope)
    if given and all(isinstance(one.node, ast.Constant) for one in given):
        return True
    for one in origins:
        match one:
            case ast.Call(func=ast.Attribute(attr=made) | ast.Name(id=made)) if made in _BY_KEY:
                return True
            case ast.Call(func=ast.Attribute(attr=made) | ast.Name(id=made)) if made[:1].isupper():
                return made not in _TABLES
            case ast.Call(func=ast.Attribute(attr="fit" | "compile" | "reset" | "step")):
                return True  # `state = env.reset()`: what an agent sees is one row
    return False


def _sides(node: ast.expr, scope: Scope, death: Death) -> list[ast.expr]:
    """Return what an expression works on number by number, or row by row; no settings of a library's function."""
    match node:
        case ast.BinOp(left=left, right=right) if not isinstance(node.op, ast.MatMult):
            return [*_sides(left, scope, death), *_sides(right, scope, death)]
        case ast.Compare(left=left, comparators=[right]):
            return [*_sides(left, scope, death), *_sides(right, scope, death)]
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
            return _sides(inner, scope, death)
        case ast.Call(func=function, args=[first, *_]):
            name = death.code.qualified(function, scope) or ""
            is_own = death.code.definition(function, scope) is not None
            return _sides(first, scope, death) if is_own or name in _EACH else _rows_of_a_mesh(node, name)
        case ast.Name():
            return [node]
    return []


def _rows_of_a_mesh(call: ast.Call, name: str) -> list[ast.expr]:
    """Return the axis that gives a mesh its rows: `y` of `np.meshgrid(x, y)`."""
    words = {word.arg: getattr(word.value, "value", None) for word in call.keywords}
    if name != "numpy.meshgrid" or len(call.args) != 2 or words.get("sparse", False) or words.get("indexing") == "ij":
        return []
    across, down = call.args
    return [down] if dump(across) != dump(down) else []


def _may_be_array(value: Value | None) -> bool:
    return value is None or (value.number is None and (bool(value.bytes) or value.bytes is None))


def _spread(name: ast.expr, scope: Scope, death: Death) -> ast.expr | None:
    """Return the vector that an array was spread out from on another line: `x` of `gap = x[:, None] - y`."""
    for one, where in all_origins(name, scope, death.code)[1:3]:
        for node in walk(one) if where is scope else ():
            match node:
                case ast.Subscript(value=base, slice=ast.Tuple(elts=[ast.Slice(), ast.Constant(value=None), *_])):
                    return base
                case ast.Subscript(value=base, slice=ast.Tuple(elts=[ast.Slice(), ast.Attribute(attr="newaxis"), *_])):
                    return base
    return None
