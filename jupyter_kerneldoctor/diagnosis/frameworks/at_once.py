"""What is done with each item of a container later, done when it is made: then the container keeps less, or goes."""

import ast
from collections.abc import Iterator, Sequence

from ..code.calls import last_name, plain_names
from ..code.notebook import Notebook
from ..code.trees import unparse, walk
from ..units import quote
from .gone_through_once import keeps_items
from .joined_parts import of_joined
from .kept_items import KeptItem, lines_of
from .kept_rows import Less
from .later_uses import Use, is_filled_elsewhere, later_uses, parent_of
from .reductions import Items, Step, reduced
from .used_together import of_all_uses

_SMALL = frozenset(
    (
        *("len", "int", "float", "bool", "round", "sum", "max", "min", "abs", "any", "all", "hash", "mean", "std"),
        *("var", "median", "argmax", "argmin", "item", "count", "nunique", "count_nonzero", "norm", "isnan", "ord"),
    )
)
"""Functions and methods whose result is a number, or nearly."""
_VIEWS = ("items", "values", "keys", "enumerate", "zip", "tqdm", "list", "iter", "tuple")
_LONGEST_BODY, _MOST_USES = 7, 3
_AGAIN = (
    "def {word}():  # makes each when a loop comes to it, and anew for the next loop: no list of all\n"
    "    {head}:\n        yield {value}\n\n{use}:  # in place of {plain}\n    ..."
)


def done_at_once(kept: KeptItem, fillers: Sequence[KeptItem], code: Notebook) -> Less | None:
    """Return how a container keeps less of each item, or none, by what the cells do with it; None where nothing tells.

    `fillers` is all that is put into containers in the running code.
    """
    word = kept.name.rpartition(".")[2]
    own = [kept.statement, *(one.statement for one in fillers if one.name.rpartition(".")[2] == word)]
    uses = later_uses(kept.name, kept.scope, own, code)
    real = [one for one in uses if one.kind != "length"]
    if is_filled_elsewhere(uses) or len(set(own)) > 1 or not real:
        return None
    if (whole := of_all_uses(real, kept, code)) is not None:
        return Less(_text(kept, [whole]), whole.title, _told(real[:1], code))
    if len(real) > _MOST_USES:
        return None
    found: list[tuple[Use, Step]] = []
    for use in real:
        if (step := _step(use, kept, fillers, code)) is None or (len(real) > 1 and not step.goes):
            return None
        found.append((use, step))
    return Less(_text(kept, [step for _, step in found]), found[0][1].title, _told(real, code))


def _told(uses: Sequence[Use], code: Notebook) -> str:
    where = " and ".join(f"{quote(use.text)} ({code.place_of(use.place, use.scope)})" for use in uses)
    return f"What the cells do with it is {where}."


def _text(kept: KeptItem, steps: Sequence[Step]) -> str:
    """Return what stands before the loop, in it, and behind it."""
    if not steps[0].is_put:
        return steps[0].inside
    before, inside, behind = (
        list(dict.fromkeys(line for step in steps for line in getattr(step, at).split("\n") if line))
        for at in ("before", "inside", "behind")
    )
    before = [f"# before the loop, in place of {kept.name}", *before] if before else []
    behind = ["# behind it", *behind] if behind else []
    inside.insert(0, f"# in the loop, in place of: {kept.store}")
    return "\n\n".join("\n".join(part) for part in (before, inside, behind) if part)


def _step(use: Use, kept: KeptItem, fillers: Sequence[KeptItem], code: Notebook) -> Step | None:
    """Return what takes the place of one use."""
    node = use.node
    if any(one.rpartition(".")[2] not in _VIEWS for one in use.through):
        return of_joined(use, kept, code)
    match use.kind, node:
        case "in", _:
            return _known(kept)
        case "for", ast.For():
            return _loop(use, node, kept, fillers)
        case "each", ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            return _each(use, node, kept, fillers, code)
        case "given", ast.Call() if kept.key is None or "values" in use.through:
            items = Items(kept.text(kept.value), inner=" " * (kept.form == "many"))
            return reduced(node, code.qualified(node.func, use.scope) or "", items, kept.name, use.scope)
    return None


def _known(kept: KeptItem) -> Step | None:
    """Tell of a container that is only asked whether something is in it."""
    if kept.key is not None:
        title = f"Keep the keys only: a set in place of {kept.name}"
        return Step(title, f"{kept.name}.add({kept.text(kept.key)})", f"{kept.name} = set()", goes=False)
    if isinstance(kept.value, ast.Constant) or ".add(" in kept.store:
        return None  # a set: `bound-growing-container` tells how it takes less
    return Step(
        f"Keep {kept.name} as a set: it is only asked what is in it",
        f"{kept.name}.add(hash({kept.text(kept.value)}))  # 8 bytes of each; ask with `hash(x) in {kept.name}`",
        f"{kept.name} = set()",
        goes=False,
    )


def _loop(use: Use, loop: ast.For, kept: KeptItem, fillers: Sequence[KeptItem]) -> Step | None:
    """Tell of a loop that goes through the container: what it does with each can be done at once."""
    if _depends(use, kept, loop.body) or keeps_items(loop, use.scope):
        return None
    if _is_repeated(use, kept):
        return _anew(use, kept)
    first = _named(loop.target, loop.iter, kept, fillers)
    if first is None or any(isinstance(one, ast.Return) for part in loop.body for one in walk(part)):
        return None
    lines = [line for part in loop.body for line in lines_of(part, use.scope).split("\n")]
    if len(lines) > _LONGEST_BODY:
        lines = [*lines[: _LONGEST_BODY - 2], "...  # and so on, as in that loop"]
    title = f"Do in the same loop what is done with each later, and keep none in {kept.name}"
    return Step(title, "\n".join(filter(None, (first, *lines))))


def _each(
    use: Use,
    made: ast.ListComp | ast.GeneratorExp | ast.SetComp,
    kept: KeptItem,
    fillers: Sequence[KeptItem],
    code: Notebook,
) -> Step | None:
    """Tell of a comprehension that goes through the container, and of the function that is given it."""
    loop, segment = made.generators[0], use.scope.segment
    is_first = any(one is use.place for one in walk(loop.iter))
    first = _named(loop.target, loop.iter, kept, fillers)
    if not is_first or first is None or _depends(use, kept, [made]) or _is_repeated(use, kept):
        return _anew(use, kept) if is_first and _is_repeated(use, kept) else None
    inner = "".join(f" for {segment(one.target)} in {segment(one.iter)}" for one in made.generators[1:])
    conditions = [segment(test) for one in made.generators for test in one.ifs]
    items = Items(" ".join(segment(made.elt).split()), " and ".join(conditions), inner, first)
    user = parent_of(made, use.scope)
    if isinstance(user, ast.Call) and any(one is made for one in user.args):
        name = code.qualified(user.func, use.scope) or ""
        if (step := reduced(user, name, items, kept.name, use.scope)) is not None:
            return step
    if isinstance(made, ast.SetComp):
        line = f"found.update({items.each})" if inner else f"found.add({items.element})"
        return items.step(f"Keep each different one once: a set in place of {kept.name}", line, "found = set()")
    if inner or not (conditions or _is_small(made.elt)):
        return None
    is_same = isinstance(made.elt, ast.Name)
    what = "only those that are used later" if is_same else f"of each only {quote(items.element)}"
    line = kept.store if is_same and kept.form == "one" else kept.put(items.element)
    return items.step(f"Keep in {kept.name} {what}", line, goes=False)


def _named(target: ast.expr, source: ast.expr, kept: KeptItem, fillers: Sequence[KeptItem]) -> str | None:
    """Return the line that gives an item the names that a later loop gives it; "" where it has them already."""
    given = _given(source, kept, fillers)
    if given is None:
        return None
    names = target.elts if isinstance(target, ast.Tuple) and len(given) > 1 else [target]
    if len(names) != len(given):
        return None
    pairs = [(unparse(one), text) for one, text in zip(names, given, strict=True) if text]
    pairs = [(name, text) for name, text in pairs if name.strip("()") != text.strip("()")]
    return f"{', '.join(name for name, _ in pairs)} = {', '.join(text for _, text in pairs)}" if pairs else ""


def _given(source: ast.expr, kept: KeptItem, fillers: Sequence[KeptItem]) -> list[str] | None:
    """Return the texts of what each round of a loop over the container gets; "" for a counter."""
    value, key = kept.text(kept.value), "" if kept.key is None else kept.text(kept.key)
    if kept.form == "many":
        return None
    match source:
        case ast.Call(func=ast.Attribute(attr="items")):
            return [key, value]
        case ast.Call(func=ast.Attribute(attr="values")):
            return [value]
        case ast.Call(func=ast.Name(id="enumerate")):
            return ["", value]
        case ast.Call(func=ast.Name(id="zip"), args=parts):
            words = [last_name(one) for one in parts]
            loops = kept.scope.loops_around(kept.statement)
            beside = {
                one.name.rpartition(".")[2]: one.text(one.value)
                for one in fillers
                if one.scope is kept.scope and one.scope.loops_around(one.statement)[:1] == loops[:1]
            } | {kept.name.rpartition(".")[2]: value}
            return [beside[one] for one in words] if all(one in beside for one in words) else None
        case ast.Name() | ast.Attribute():
            return [key or value]
        case ast.Call(args=[inner, *_]) if last_name(source.func) in _VIEWS:
            return _given(inner, kept, fillers)
    return None


def _is_repeated(use: Use, kept: KeptItem) -> bool:
    """Whether the container is gone through again and again: in each epoch."""
    around = set(kept.scope.loops_around(kept.statement))
    return any(one not in around for one in use.scope.loops_around(use.node) if one is not use.node)


def _anew(use: Use, kept: KeptItem) -> Step | None:
    """Tell how each item is made anew for each of the loops."""
    if not isinstance(kept.value, ast.Call) or not kept.head or not isinstance(use.node, ast.For):
        return None
    word, node = kept.name.rpartition(".")[2].strip("_"), use.node
    head = f"for {use.scope.segment(node.target)} in {word}()"
    text = _AGAIN.format(word=word, head=kept.head, value=kept.text(kept.value), use=head, plain=kept.name)
    return Step("Make each when it is needed: no list of all", text, is_put=False)


def _depends(use: Use, kept: KeptItem, parts: Sequence[ast.AST]) -> bool:
    """Whether what is done with each item needs something that is worked out of all of them: their mean."""
    words = {kept.name.rpartition(".")[2], *plain_names(use.place)}
    before = [one for one in use.scope.nodes if isinstance(one, ast.Assign) and one.lineno < use.place.lineno]
    for one in before:
        if one is not kept.statement and words & set(_words(one.value)):
            words |= {name for target in one.targets for name in _words(target)}
    inside = {inner for part in parts for inner in walk(part)}
    own = set(walk(use.place))
    return bool(words & {name for one in inside - own for name in _words_of(one)})


def _words(node: ast.AST) -> Iterator[str]:
    for one in walk(node):
        yield from _words_of(one)


def _words_of(node: ast.AST) -> list[str]:
    return [last_name(node)] if isinstance(node, ast.Name | ast.Attribute) else []


def _is_small(node: ast.expr) -> bool:
    """Whether a value is a number, a text, or a part of an item."""
    match node:
        case ast.Call(func=function):
            return last_name(function) in _SMALL
        case ast.Attribute() | ast.Compare() | ast.Constant() | ast.BoolOp() | ast.Subscript(slice=ast.Constant()):
            return True
        case ast.Tuple(elts=parts):
            return any(map(_is_small, parts)) and all(isinstance(one, ast.Name) or _is_small(one) for one in parts)
        case ast.BinOp(left=left, right=right):
            return _is_small(left) and _is_small(right)
    return False
