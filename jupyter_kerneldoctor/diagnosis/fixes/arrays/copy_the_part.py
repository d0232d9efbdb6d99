import ast
from collections.abc import Mapping
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.stores import stores
from ...code.trees import walk
from ...edits import replace as replaced
from ...examples import MIB
from ...filled import filling
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.item_forms import parts_of
from ...frameworks.kept_items import KeptItem, kept_items
from ...frameworks.loaders import LOADERS
from ...frameworks.numpy import VIEWS
from ...frameworks.smaller_items import package_of

_ROWS = NamedObject("rows", "list", 1600 * MIB, items=90, grew_bytes=1500 * MIB, items_before=0)
_TORCH = "import torch\nnet = torch.nn.Linear(9, 9)\nrows = []\nwith torch.no_grad():\n    for x in xs:\n"
_NUMPY = "import numpy as np\nrows = []\nfor p in paths:\n    page = np.load(p)\n"
_BATCHES = (
    "import torch\nrows, loader = [], torch.utils.data.DataLoader(data)\n"
    "with torch.no_grad():\n    for x, y in loader:\n"
    "        bad = (net(x) != y).nonzero().flatten()\n        for i in {}:\n"
)
_COPIES = {"torch": "clone", "numpy": "copy", "pandas": "copy"}
_PACKAGES = {"torch.Tensor": "torch", "numpy.ndarray": "numpy", "pandas.DataFrame": "pandas"}
_TEXT_OF = {
    "NavigableString": "str({0})",
    "Tag": "{0}.get_text()",
    "_Element": "{0}.findtext('.')",
    "Element": "{0}.text",
    "Match": "{0}.group()",
}
"""What holds on to the text or the page that it was found in, and the text of it alone."""


def _case(code: str, of: str, *says: str, becomes: Mapping[str, str] | str = {}) -> Case:
    return Case(code, grew=replace(_ROWS, item_type=of), says=says, becomes=becomes)


class CopyThePart(Fix):
    """Copy the part that is kept of an array, so that the rest of it can go.

    What it does: `page[:10]` and `frames[:, -1]` are views: each keeps the memory of the whole array that it is a part
    of. A copy of the part needs only its own room.

    When it is offered: Memory ran out while a list or dict grew into which a loop puts a part of an array of NumPy or a
    tensor that was made in the same round.

    What it costs: The time to copy the part.
    """

    id, title, causes = "copy-the-part", "Copy the part that is kept: a view keeps the whole array", (Family.MEMORY,)

    FIRES = [
        _case(
            _TORCH + "        frames = net(x)\n        rows.append(frames[:, -1])",
            "torch.Tensor",
            becomes=_TORCH + "        frames = net(x)\n        rows.append(frames[:, -1].clone())",
        ),
        _case(
            _TORCH + "        out = net(x).hidden\n        rows.append(out[:, 0, :])",
            "torch.Tensor",
            becomes=_TORCH + "        out = net(x).hidden\n        rows.append(out[:, 0, :].clone())",
        ),
        _case(
            _TORCH + "        out = net(x)\n        rows.append(out.hidden[:, 0])",
            "torch.Tensor",
            "all of `out.hidden` is",
            becomes=_TORCH + "        out = net(x)\n        rows.append(out.hidden[:, 0].clone())",
        ),
        _case(
            _NUMPY + "    rows.append((p, page[10:20]))",
            "tuple",
            becomes=_NUMPY + "    rows.append((p, page[10:20].copy()))",
        ),
        _case(
            _NUMPY + "    head = page[:5]\n    rows.append(head)",
            "numpy.ndarray",
            becomes=_NUMPY + "    head = page[:5].copy()\n    rows.append(head)",
        ),
        _case(  # many parts of one picture may be more than it
            "import cv2\nrows = []\nfor p in paths:\n    img = cv2.imread(p)\n    for x, y in at[p]:\n"
            "        rows.append(img[y:y + 9, x:x + 9])",
            "numpy.ndarray",
            "img[y:y + 9, x:x + 9].copy()",
        ),
        _case(
            "import pandas as pd\nrows = []\nfor p in paths:\n    df = pd.read_csv(p)\n    rows.append(df.head(9))",
            "pandas.DataFrame",
            becomes={"df.head(9)": "df.head(9).copy()"},
        ),
        _case(  # of each batch of a loader some rows
            _BATCHES.format("bad.tolist()[:3]")
            + "            rows.append((\n                x[i],\n                i,\n            ))",
            "tuple",
            "x[i].clone()",
            "`x[i]` is a view",
        ),
        _case(
            _BATCHES.format("enumerate(y)").replace("i in", "i, one in") + "            if one > 3: rows.append(x[i])",
            "torch.Tensor",
            "x[i].clone()",
        ),
        _case(
            _BATCHES.split("        for", maxsplit=1)[0] + "        rows.append({'first': x[0], 'n': len(x)})",
            "dict",
            becomes={"x[0]": "x[0].clone()"},
        ),
        _case("import re\nrows = []\nfor m in re.finditer(x, text):\n    rows.append(m)", "re.Match", "m.group()"),
    ]
    SILENT = [
        _case(_BATCHES.format("bad") + "            rows.append((x[[i, i + 1]], i))", "tuple"),
        _case(_BATCHES.format("bad") + "            rows.append((x[i].mean(), i))", "tuple"),
        _case(
            _BATCHES.format("bad").replace("DataLoader(data)", "data") + "            rows.append((x[i], i))", "tuple"
        ),
        _case(_NUMPY + "    rows.append(page[page > 3])", "numpy.ndarray"),
        _case(_NUMPY + "    rows.append(page[3])", "numpy.float64"),
        _case(_NUMPY + "    rows.append(page[best])", "numpy.ndarray"),
        _case(_NUMPY + "    rows.append(page.T[:5])", "numpy.ndarray"),
        _case(_NUMPY + "    rows.append(page[:5].mean())", "numpy.float64"),
        _case(
            "import numpy as np\npage = np.load(p)\nrows = []\nfor i in range(9):\n    rows.append(page[i:i + 9])",
            "numpy.ndarray",
        ),
        _case("rows = []\nfor p in paths:\n    page = open(p).read()\n    rows.append(page[:5])", "str"),
    ]

    def propose(self, death: Death) -> Proposals:
        container, fillers = death.growth.container, kept_items(stores(death.code.running))
        if container is None or container.with_graph or not death.is_of_this_cell:
            return
        for kept in filling(death, fillers):
            loops, segment = kept.scope.loops_around(kept.statement), kept.scope.segment
            for part in _parts(kept, death) if loops else ():
                is_itself, whole = part is kept.value or isinstance(kept.value, ast.Name), _whole(part)
                known = f"{container.item_type}" if is_itself and container.item_type else ""
                batches = _batches(whole, kept.scope, death)
                package = "torch" if batches else package_of(whole, kept.scope, death.code)
                package = _PACKAGES.get(known, "") if known else package
                around = batches or _made_in(whole, kept.scope)
                if (
                    package not in _COPIES
                    or not around
                    or (
                        not (batches and _is_row(part, kept.scope))
                        and not _is_view(part, is_array=package in ("numpy", "torch") and bool(known))
                    )
                ):
                    continue
                text, grew = segment(part), container.grew_bytes or container.bytes
                held = f"{container.length or 0:,} of them, and grew by {size(grew or 0)}."
                why = f"{quote(text)} is a view: as long as it is kept, all of {quote(segment(whole))} is. "
                new = f"{text}.{_COPIES[package]}()"
                edits = replaced(kept.scope, part, new) if around == loops else ()  # else many parts of one array
                told, snippet = f"{why}{quote(container.name)} holds {held}", None if edits else new
                yield Proposal(edits, told, grew, snippet=snippet, applicability="safe")
                return
            form = _TEXT_OF.get(f"{container.item_type}".rpartition(".")[2])
            if form is not None and len(parts_of(kept.value)) == 1:
                found, grew = kept.text(kept.value), container.grew_bytes or container.bytes
                why = f"{quote(found)} holds on to all of the page or text that it was found in, as long as it is kept."
                title = "Keep the text of what was found: the object keeps the whole page or text"
                yield Proposal((), why, grew, title, f"{kept.put(form.format(found))}  # a text of its own, not a part")


def _batches(whole: ast.expr, scope: Scope, death: Death) -> tuple[ast.AST, ...]:
    """Return the loop over batches of a loader that gives a tensor in each round, and the loops around it."""
    stored = [one for one in scope.named(getattr(whole, "id", None)) if isinstance(one.ctx, ast.Store)]
    loops = [one for one in scope.loops_around(whole) if isinstance(one, ast.For)] if len(stored) == 1 else []
    loop = next((one for one in loops if stored[0] in walk(one.target)), None)
    if loop is None:
        return ()
    made = ((one, at) for one, at in all_origins(loop.iter, scope, death.code, parts=True) if isinstance(one, ast.Call))
    is_loader = any(death.code.qualified(one.func, at) in LOADERS for one, at in made)
    return (loop, *scope.loops_around(loop)) if is_loader else ()


def _is_row(part: ast.expr, scope: Scope) -> bool:
    """Whether an index is one number: written, or one of a list of them or of a count, `i` of `for i in range(9)`."""
    match part:
        case ast.Subscript(slice=ast.Constant(value=int())):
            return True
        case ast.Subscript(slice=ast.Name(id=name)):
            pass
        case _:
            return False
    for loop in scope.loops_around(part):
        match loop:
            case ast.For(target=ast.Name(id=bound), iter=given) if bound == name:
                calls = [last_name(one.func) for one in walk(given) if isinstance(one, ast.Call)]
                return any(one in ("range", "tolist") for one in calls) or _is_listed(given, scope)
            case ast.For(target=ast.Tuple(elts=[ast.Name(id=bound), *_]), iter=ast.Call(func=function)) if (
                bound == name
            ):
                return last_name(function) == "enumerate"
    return False


def _is_listed(node: ast.expr, scope: Scope) -> bool:
    """Whether something is a list of numbers that a tensor gave: `bad[:3]` of `bad = wrong.nonzero().tolist()`."""
    inner = node.value if isinstance(node, ast.Subscript) else node
    values = [one.value for one in scope.bindings.get(getattr(inner, "id", ""), ())]
    return bool(values) and all(isinstance(one, ast.Call) and last_name(one.func) == "tolist" for one in values)


def _made_in(whole: ast.expr, scope: Scope) -> tuple[ast.AST, ...]:
    """Return the loops around the call that makes an array; nothing where it is no new array, or not known."""
    while isinstance(whole, ast.Attribute) and whole.attr not in VIEWS:
        whole = whole.value  # `out.last_hidden_state` of `out = net(x)`
    stored = [one for one in scope.named(getattr(whole, "id", None)) if isinstance(one.ctx, ast.Store)]
    statement = scope.statement_of(stored[0]) if len(stored) == 1 else None
    made = statement.value if isinstance(statement, ast.Assign) else None
    while isinstance(made, ast.Attribute) and made.attr not in VIEWS:
        made = made.value  # `net(x).last_hidden_state`
    if (
        not isinstance(made, ast.Call)
        or last_name(made.func) in VIEWS - {"load", "get"}
        or "mmap" in scope.segment(made)
    ):
        return ()
    return scope.loops_around(made)


def _parts(kept: KeptItem, death: Death) -> list[ast.Subscript | ast.Call]:
    """Return the expressions among what is kept, or behind its name, that may be views of an array or a table."""
    found = list[ast.Subscript | ast.Call]()
    for part in parts_of(kept.value):
        origins = all_origins(part, kept.scope, death.code)[1:2] if isinstance(part, ast.Name) else [(part, kept.scope)]
        own = [one for one, where in origins if where is kept.scope]
        found += [one for one in own if isinstance(one, ast.Subscript)]
        found += [one for one in own if isinstance(one, ast.Call) and last_name(one.func) in ("head", "tail")]
    return found


def _whole(part: ast.Subscript | ast.Call) -> ast.expr:
    """Return what it is a part of: `df` of `df[:9]`, `df.iloc[:9]` and `df.head(9)`."""
    inner = part.value if isinstance(part, ast.Subscript) else part.func
    is_way = isinstance(inner, ast.Attribute) and inner.attr in ("iloc", "loc", "head", "tail")
    return inner.value if isinstance(inner, ast.Attribute) and is_way else inner


def _is_view(part: ast.Subscript | ast.Call, *, is_array: bool) -> bool:
    """Whether an index has slices and numbers, and nothing else; of what surely is an array, perhaps only numbers."""
    if isinstance(part, ast.Call):
        return True
    parts = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
    plain = [one for one in parts if isinstance(one, ast.Slice | ast.Constant | ast.UnaryOp) or _is_place(one)]
    return len(plain) == len(parts) and (is_array or any(isinstance(one, ast.Slice) for one in parts))


def _is_place(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in ("argmax", "argmin", "int") and len(node.args) < 2
