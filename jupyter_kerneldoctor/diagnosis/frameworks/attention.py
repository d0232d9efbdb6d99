"""Attention that is written out in PyTorch: `softmax(q @ k.transpose(-2, -1) / scale) @ v`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..code.calls import given_to, last_name
from ..code.literals import number
from ..code.notebook import Call, Scope
from ..code.trees import walk
from .gradients import goes_backward
from .torch import Tensors

_DEEPEST = 12
_SHAPES = frozenset({"view", "reshape", "permute", "unflatten", "rearrange"})
_MATRIX, _HEADS = 3, 4
_PRODUCTS = ("torch.matmul", "torch.bmm")


@dataclass
class Attention:
    """What is worked out for each pair of positions, from the queries to the weighted values."""

    result: ast.expr
    """`weights @ v`, the last step."""
    values: ast.expr
    scope: Scope
    queries: ast.expr | None = None
    keys: ast.expr | None = None
    rank: int | None = None
    """How many dimensions the queries have; None where the code does not tell."""
    scale: str = "1.0"
    """What the products are multiplied by."""
    is_causal: bool = False
    mask: ast.expr | None = None
    """What hides pairs in another way."""
    dropout: ast.expr | None = None
    statements: list[ast.stmt] = field(default_factory=list)
    """Those that only lead from the queries to the result."""
    is_used_elsewhere: bool = False
    """The weights, or a step on the way to them, are used for something else, too."""


def attentions(tensors: Tensors) -> Iterator[Attention]:
    """Yield the attention that the running code has written out."""
    for scope in tensors.code.running if tensors.in_use else ():
        for node in scope.nodes:
            product = _product(node, scope, tensors) if isinstance(node, ast.expr) else None
            if product is not None and isinstance(node, ast.expr):
                found = Attention(node, product[1], scope)
                if _lead_back(product[0], found, tensors):
                    yield found


def unread_weights(tensors: Tensors) -> Iterator[Call]:
    """Yield the calls of `nn.MultiheadAttention` that give weights back which nothing reads.

    Not of one with dropout that is trained: on the processor PyTorch makes the table for that in any case.
    """
    name = "torch.nn.MultiheadAttention"
    for scope in tensors.code.running if tensors.in_use else ():
        for call in scope.calls:
            if (
                not _is_layer(name, call.func, scope, tensors)
                or _drops_out(call.func, scope, tensors)
                or any(one.arg == "need_weights" for one in call.keywords)
            ):
                continue
            match scope.statement_of(call):
                case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id=weights)])], value=value) if value is call:
                    is_read = any(
                        isinstance(one, ast.Name) and one.id == weights and not _is_stored(one) for one in scope.names
                    )
                    if weights == "_" or not (is_read or scope.is_cell):
                        yield Call(call, scope, name)
                case _ if any(
                    isinstance(one, ast.Subscript) and one.value is call and number(one.slice) == 0
                    for one in scope.nodes
                ):
                    yield Call(call, scope, name)


def _drops_out(layer: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether a layer that is trained leaves some of the weights out at random."""
    made = ((one, where) for one, where in tensors.origins.of(layer, scope) if isinstance(one, ast.Call))
    given = [Call(one, where, "").argument("dropout", 2) for one, where in made]
    return goes_backward(tensors.code) and any(one is not None and number(one) != 0 for one in given)


def _product(node: ast.expr, scope: Scope, tensors: Tensors) -> tuple[ast.expr, ast.expr] | None:
    match node:
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            return left, right
        case ast.Call(func=ast.Attribute(value=left, attr="matmul" | "bmm"), args=[right], keywords=[]):
            return left, right
        case ast.Call(args=[left, right], keywords=[]) if tensors.code.qualified(node.func, scope) in _PRODUCTS:
            return left, right
    return _einsum("{0}ij,{0}jd->{0}id", node, scope, tensors)


def _einsum(pattern: str, node: ast.expr, scope: Scope, tensors: Tensors) -> tuple[ast.expr, ast.expr] | None:
    """Return the two tensors of a `torch.einsum` whose letters are those of a pattern, under whichever names."""
    match node:
        case ast.Call(args=[ast.Constant(value=str(given)), left, right], keywords=[]):
            letters = given.replace(" ", "")
            first = {letter: at for at, letter in reversed(list(enumerate(letters.replace(",", "").replace("->", ""))))}
            wanted = pattern.format("xyzuvw"[: max(0, letters.find(",") - 2)])
            places = {letter: at for at, letter in reversed(list(enumerate(wanted.replace(",", "").replace("->", ""))))}
            same = [first.get(one, one) for one in letters] == [places.get(one, one) for one in wanted]
            is_einsum = tensors.code.qualified(node.func, scope) == "torch.einsum"
            return (left, right) if same and is_einsum else None
    return None


def _einsum_rank(node: ast.expr) -> int:
    """Return how many dimensions the first tensor of an einsum has."""
    return str(node.args[0].value).replace(" ", "").find(",")  # type: ignore[attr-defined]


def _lead_back(weights: ast.expr, found: Attention, tensors: Tensors) -> bool:
    """Follow the weights back to queries and keys; False where they are no softmax of their products."""
    node, scope, has_softmax = weights, found.scope, False
    for _ in range(_DEEPEST):
        inner: ast.expr | None = None
        if isinstance(node, ast.Name):
            binding = tensors.code.lookup(node.id, scope, node)
            inner = binding.value if binding is not None and binding.scope is scope else None
            statement = None if inner is None else scope.statement_of(inner)
            if not isinstance(statement, ast.Assign):
                return False
            found.statements.insert(0, statement)
        elif (product := _product(node, scope, tensors)) is not None:
            return has_softmax and _take_product(product, found, tensors)
        elif (product := _einsum("{0}id,{0}jd->{0}ij", node, scope, tensors)) is not None:
            return has_softmax and _take(product, _einsum_rank(node), found, tensors)
        elif (inner := _softmax_of(node, scope, tensors)) is not None:
            has_softmax = True
        else:
            inner = _scaled(node, found, tensors) if has_softmax else _dropped(node, found, tensors)
        if inner is None:
            return False
        node = inner
    return False


def _softmax_of(node: ast.expr, scope: Scope, tensors: Tensors) -> ast.expr | None:
    """Return what a softmax over the last dimension is of."""
    if not isinstance(node, ast.Call) or any(word.arg != "dim" for word in node.keywords):
        return None
    given = given_to(node)
    name = tensors.code.qualified(node.func, scope)
    match node.func, given:
        case _, [inner, dim] if name in ("torch.softmax", "torch.nn.functional.softmax") and number(dim) == -1:
            return inner
        case ast.Attribute(attr="softmax", value=owner), [dim] if name is None and number(dim) == -1:
            return owner
        case _, [inner] if _is_layer("torch.nn.Softmax", node.func, scope, tensors):
            return inner
    return None


def _is_layer(name: str, node: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    made = [(one.node, one.scope) for one in tensors.origins.of(node, scope)]
    return any(isinstance(one, ast.Call) and tensors.code.qualified(one.func, where) == name for one, where in made)


def _scaled(node: ast.expr, found: Attention, tensors: Tensors) -> ast.expr | None:
    """Take in a step between the product and its softmax, and return what it is made of; None for another step."""
    segment = found.scope.segment
    match node:
        case ast.BinOp(op=ast.Div(), left=left, right=right) if found.scale == "1.0":
            found.scale = f"1 / ({segment(right)})" if isinstance(right, ast.BinOp) else f"1 / {segment(right)}"
            return left
        case ast.BinOp(op=ast.Mult(), left=left, right=right) if found.scale == "1.0":
            found.scale = segment(right)
            return left
        case ast.Call(func=ast.Attribute(attr="masked_fill", value=owner), args=[mask, _]):
            if found.mask is None and not found.is_causal:
                found.is_causal = _is_triangle(mask, found.scope, tensors)
                found.mask = None if found.is_causal else mask
                return owner
    return None


def _dropped(node: ast.expr, found: Attention, tensors: Tensors) -> ast.expr | None:
    """Take in a dropout of the weights, and return what it is made of; None for another step."""
    match node:
        case ast.Call(func=function, args=[inner, *_]):
            name = tensors.code.qualified(function, found.scope)
            if name == "torch.nn.functional.dropout" or _is_layer("torch.nn.Dropout", function, found.scope, tensors):
                found.dropout = function
                return inner
    return None


def _is_triangle(mask: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether a mask is true above the diagonal: `torch.tril(...) == 0`, also of a buffer of the network."""
    match mask:
        case ast.Compare(ops=[ast.Eq()], left=node, comparators=[ast.Constant(value=0)]):
            while isinstance(node, ast.Subscript):
                node = node.value
        case _:
            return False
    made = [node, *(one.node for one in tensors.origins.of(node, scope))]
    for inner in tensors.code.scopes_mentioning("register_buffer") if isinstance(node, ast.Attribute) else ():
        made += [
            one for one in inner.calls if one.args and getattr(one.args[0], "value", None) == getattr(node, "attr", "")
        ]
    calls = (one for each in made for one in walk(each) if isinstance(one, ast.Call))
    return any(last_name(one.func) == "tril" for one in calls)


def _take_product(product: tuple[ast.expr, ast.expr], found: Attention, tensors: Tensors) -> bool:
    """Take in queries and keys, which are transposed in the product; False where they are not."""
    keys, rank = _transposed(product[1])
    return keys is not None and _take((product[0], keys), rank, found, tensors)


def _take(given: tuple[ast.expr, ast.expr], rank: int | None, found: Attention, tensors: Tensors) -> bool:
    """Take in queries and keys; False where the names mean something else where the result is worked out."""
    scope, code = found.scope, tensors.code
    (found.queries, found.keys), found.rank = given, rank
    shapes = [one for one in scope.calls if last_name(one.func) in _SHAPES]
    if found.rank is None and any(_dimensions(one) == _HEADS for one in shapes):
        found.rank = _HEADS
    made = {getattr(one, "id", "") for each in found.statements for one in walk(each) if _is_stored(one)}
    uses = [one for one in scope.names if isinstance(one, ast.Name) and one.id in made and not _is_stored(one)]
    found.is_used_elsewhere = len(uses) != len(found.statements)
    parts = (one for each in (*given, found.values) for one in walk(each))
    names = [one for one in parts if isinstance(one, ast.Name)]
    return all(code.lookup(one.id, scope, one) == code.lookup(one.id, scope, found.result) for one in names)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _dimensions(call: ast.Call) -> int:
    """Return how many dimensions a tensor has after `view(b, t, h, -1)` or `rearrange(x, "b t (h d) -> b h t d")`."""
    for one in call.args:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            return len(one.value.split("->")[-1].split())
    return len(call.args[0].elts) if call.args and isinstance(call.args[0], ast.Tuple) else len(call.args)


def _transposed(node: ast.expr) -> tuple[ast.expr | None, int | None]:
    """Return the keys of `k.transpose(-2, -1)`, and how many dimensions they surely have."""
    match node:
        case ast.Attribute(value=keys, attr="mT"):
            return keys, None
        case ast.Call(func=ast.Attribute(value=keys, attr="transpose"), args=[one, other]):
            known = {(-1, -2): None, (1, 2): _MATRIX, (2, 3): _HEADS}
            for places, rank in known.items():
                if {number(one), number(other)} == {*places}:
                    return keys, rank
        case ast.Call(func=ast.Attribute(value=keys, attr="permute"), args=given):
            order = [number(one) for one in given]
            return (keys, len(order)) if order in ([0, 2, 1], [0, 1, 3, 2]) else (None, None)
    return None, None


def written_with_sdpa(found: Attention, name: str) -> str:
    """Return the call that stands for all steps."""
    segment, words = found.scope.segment, []
    q, k, v = (segment(one) for one in (found.queries, found.keys, found.values) if one is not None)
    if found.mask is not None:
        words.append(f"attn_mask=~({segment(found.mask)})")
    if found.dropout is not None:
        words.append(f"dropout_p={segment(found.dropout)}.p if self.training else 0.0")
    words += ["is_causal=True"] if found.is_causal else []
    words += [f"scale={found.scale}"]
    given = ", ".join(words)
    if found.rank == 4 or found.mask is not None:
        return f"{name}.scaled_dot_product_attention({q}, {k}, {v}, {given})"
    tensors = f"*(one.reshape(-1, 1, *one.shape[-2:]) for one in ({q}, {k}, {v}))"
    q, v = (text if text.isidentifier() else f"({text})" for text in (q, v))
    return f"{name}.scaled_dot_product_attention({tensors}, {given}).reshape(*{q}.shape[:-1], {v}.shape[-1])"
