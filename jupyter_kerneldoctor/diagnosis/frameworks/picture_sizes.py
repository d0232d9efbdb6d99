"""How much larger a picture is made: the factors of `cv2.resize(fx=…)`, `zoom(x, 3)` and `(width * p, height * p)`."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from ..code.calls import Call, last_name
from ..code.comprehensions import is_in_comprehension
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk

_FACTORS: dict[str, tuple[str | int, ...]] = {
    "resize": ("fx", "fy"),
    "zoom": ("zoom", 1),
    "rescale": ("scale", 1),
    "interpolate": ("scale_factor", 2),
    "Upsample": ("scale_factor", 1),
    "scale": ("factor", 1),
}
"""Functions that enlarge a picture, and where they are given by how much."""
_RESIZED = ("resize", "resize_with_pad")
_MODULES = ("cv2.", "PIL.", "scipy.ndimage.", "skimage.transform.", "torch.nn.", "tensorflow.image.")
_SIDES = re.compile(r"(?<![a-z])(size|shape|width|height|w|h)(?![a-z])")


def factors(call: Call, code: Notebook) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield by how much a call enlarges the sides of a picture; nothing for other calls."""
    last = last_name(call.node.func)
    for name in _FACTORS.get(last, ()) if call.name.startswith(_MODULES) else ():
        if (given := call.argument(name)) is not None:
            yield from ((part, call.scope) for part in (given.elts if isinstance(given, ast.Tuple) else [given]))
    if last in _RESIZED and not call.name.startswith("numpy."):
        yield from _multiplied(call, code)


def _multiplied(call: Call, code: Notebook) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield what both sides of a picture are multiplied by, in a size that is given: `p` of `(w * p, h * p)`."""
    found = list(_factors(call, code))
    texts = Counter(scope.segment(node) for node, scope in found)
    for node, scope in found:
        if texts[scope.segment(node)] > 1 or is_in_comprehension(node, scope):
            yield node, scope


def _factors(call: Call, code: Notebook) -> Iterator[tuple[ast.expr, Scope]]:
    for given in (*call.node.args, *(word.value for word in call.node.keywords)):
        for one, scope in all_origins(given, call.scope, code):
            divided = {inner for node in walk(one) if _divides(node) for inner in walk(node)}
            for node in walk(one):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and node not in divided:
                    yield from ((node.right, scope),) if _is_side(node.left, scope) else ()
                    yield from ((node.left, scope),) if _is_side(node.right, scope) else ()


def _divides(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv)


def _is_side(node: ast.expr, scope: Scope) -> bool:
    """Whether an expression is the width or height of a picture, also by a name that was given one of them."""
    if _SIDES.search(scope.segment(node)):
        return True
    for one in scope.nodes if isinstance(node, ast.Name) else ():
        match one:
            case ast.comprehension(target=ast.Name(id=name), iter=made):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=made):
                pass
            case _:
                continue
        if name == getattr(node, "id", "") and _SIDES.search(scope.segment(made)):
            return True
    return False


def written_numbers(node: ast.expr, scope: Scope, code: Notebook) -> Iterator[float]:
    """Yield the numbers that an expression may stand for, as they are written, also those of a loop."""
    found = all_origins(node, scope, code)
    for one, where in found if not any(isinstance(one, ast.BinOp) for one, _ in found) else ():  # `percent / 100`
        match one:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                yield number
            case ast.Name(id=name):
                for loop in where.nodes:
                    match loop:
                        case (
                            ast.For(target=ast.Name(id=each), iter=ast.Tuple(elts=items) | ast.List(elts=items))
                            | ast.comprehension(
                                target=ast.Name(id=each), iter=ast.Tuple(elts=items) | ast.List(elts=items)
                            )
                        ) if each == name:
                            written = (getattr(item, "value", None) for item in items)
                            yield from (item for item in written if isinstance(item, int | float))
