"""What is done with each item of a container later, done when it is made: then the container keeps less, or goes."""

import ast
import re
from collections.abc import Sequence

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.trees import walk
from ..units import quote
from .joined_parts import of_joined
from .kept_items import KeptItem
from .kept_rows import Less
from .later_loops import VIEWS, depends, done_by_number, done_in_the_loop, is_repeated, made_anew, named
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
_WITHOUT_HASH = frozenset({"list", "copy", "deepcopy", "tolist", "array", "dict", "set", "split", "sorted"})
_MOST_USES = 3


def done_at_once(kept: KeptItem, fillers: Sequence[KeptItem], code: Notebook) -> Less | None:
    """Return how a container keeps less of each item, or none, by what the cells do with it; None where nothing tells.

    `fillers` is all that is put into containers in the running code.
    """
    word = kept.name.rpartition(".")[2]
    own = [kept.statement, *(one.statement for one in fillers if one.name.rpartition(".")[2] == word)]
    uses = later_uses(kept.name, kept.scope, own, code)
    real = [one for one in uses if one.kind != "length"]
    if is_filled_elsewhere(uses) or len(set(own)) > 1:
        return None
    if not real:
        return _counted(uses, kept, code)
    if (whole := of_all_uses(real, kept, code)) is not None:
        return Less(_text(kept, [whole]), whole.title, _told(real[:1], code))
    if len(real) > _MOST_USES:
        return None
    found: list[tuple[Use, Step]] = []
    for use in real:
        if (step := _step(use, kept, fillers, code)) is None or (len(real) > 1 and not step.goes):
            return None
        found.append((use, step))
    steps = list(dict.fromkeys(step for _, step in found))
    if len(steps) > 1 and not all(one.is_put for one in steps):
        return None
    steps += _length(uses, steps[0])
    if (kept.form == "many" and not all(one.title for one in steps)) or not _have_own_names(steps, kept, real):
        return None  # what is added each time may have no length; two sums, of which each needs its own name
    return Less(_text(kept, steps), steps[0].title, _told(real, code))


def _length(uses: Sequence[Use], first: Step) -> list[Step]:
    """Return what counts the items, where their number is asked for and none is kept."""
    asked = [one for one in uses if one.kind == "length" and isinstance(one.node, ast.Call)]
    if not asked or not first.goes or not first.is_put:
        return []
    return [Step("", "count += 1", "count = 0", f"count  # in place of {asked[0].text}")]


def _have_own_names(steps: Sequence[Step], kept: KeptItem, uses: Sequence[Use]) -> bool:
    """Whether no two steps have a name in common, and none is given to something not made of the container."""
    given = [name for step in steps for name in _names(step.before.split("\n"))]
    own = [one.scope.statement_of(one.place) for one in uses]
    named = [one for name in {*given} - {kept.name} for one in kept.scope.named(name) if isinstance(one.ctx, ast.Store)]
    return len(set(given)) == len(given) and all(kept.scope.statement_of(one) in own for one in named)


def _counted(uses: Sequence[Use], kept: KeptItem, code: Notebook) -> Less | None:
    """Tell of a container whose length alone is asked for, behind the loop that fills it."""
    loops = {one for loop in kept.scope.loops_around(kept.statement) for one in kept.scope.inside(loop)}
    asked = [one for one in uses if isinstance(one.node, ast.Call) and one.node not in loops]
    if not asked or len(asked) < len(uses) or kept.form == "many" or kept.key is not None or ".add(" in kept.store:
        return None
    step = Step(
        f"Count them, and keep none in {kept.name}", "count += 1", "count = 0", f"count  # in place of {asked[0].text}"
    )
    return Less(_text(kept, [step]), step.title, _told(asked, code))


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
    own = set(_names(before)) - set(kept.scope.bindings)
    made = kept.text(kept.value)
    if isinstance(kept.value, ast.Call) and sum(line.count(made) for line in inside) > 1:
        inside = [f"item = {made}", *(line.replace(made, "item") for line in inside)]  # made once
    if kept.name.startswith("self.") and own:  # they are the object's, as the container is
        word = re.compile(rf"(?<![\w.])(?:{'|'.join(own)})\b(?!=)")
        before, inside, behind = ([word.sub(r"self.\g<0>", line) for line in part] for part in (before, inside, behind))
    elif own and not kept.scope.is_cell and kept.name not in kept.scope.bindings:
        inside.insert(0, f"global {', '.join(sorted(own))}")
    if kept.form == "made":
        inside = [f"# in place of: {kept.store}", *_in_loops(kept, inside)]
    elif inside != [kept.store]:
        where = "in the loop, in" if kept.scope.is_cell or kept.scope.loops_around(kept.statement) else "in"
        inside.insert(0, f"# {where} place of: {kept.store}")
    else:
        inside = []  # it stays as it is
    is_own = kept.name.startswith("self.")
    made_in = "in __init__, in place of the line that makes" if is_own else "before the loop, in place of"
    before = [f"# {made_in} {kept.name}", *before] if before else []
    behind = ["# behind it", *behind] if behind else []
    return "\n\n".join("\n".join(part) for part in (before, inside, behind) if part)


def _in_loops(kept: KeptItem, lines: Sequence[str]) -> list[str]:
    """Return lines within loops, in the place of those of a comprehension."""
    heads = list[str]()
    for one in getattr(getattr(kept.statement, "value", None), "generators", ()):
        heads += [f"for {kept.text(one.target)} in {kept.text(one.iter)}:", *(f"if {kept.text(t)}:" for t in one.ifs)]
    heads = [" " * 4 * depth + head for depth, head in enumerate(heads)]
    return [*heads, *(" " * 4 * len(heads) + line for line in lines)]


def _names(lines: Sequence[str]) -> list[str]:
    """Return the names that lines give a value."""
    return [name for line in lines for given in re.findall(r"^(\w+(?:, \w+)*) =", line) for name in given.split(", ")]


def _step(use: Use, kept: KeptItem, fillers: Sequence[KeptItem], code: Notebook) -> Step | None:
    """Return what takes the place of one use."""
    node = use.node
    if any(one.rpartition(".")[2] not in VIEWS for one in use.through):
        return of_joined(use, kept, code)
    match use.kind, node:
        case "in", _:
            return _known(kept)
        case "for", ast.For():
            return done_in_the_loop(use, node, kept, fillers)
        case "each", ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            return _each(use, node, kept, fillers, code)
        case "entry", ast.Subscript(slice=ast.Name(id=counter)):
            return done_by_number(use, node, counter, kept)
        case "given", ast.Call() if kept.key is None or "values" in use.through:
            items = Items(kept.text(kept.value), inner=" " * (kept.form == "many"))
            return reduced(node, code.qualified(node.func, use.scope) or "", items, kept.name, use.scope)
    return None


def _known(kept: KeptItem) -> Step | None:
    """Tell of a container that is only asked whether something is in it."""
    if kept.key is not None:
        title = f"Keep the keys only: a set in place of {kept.name}"
        return Step(title, f"{kept.name}.add({kept.text(kept.key)})", f"{kept.name} = set()", goes=False)
    is_list = isinstance(kept.value, ast.List | ast.ListComp | ast.Dict | ast.Set)  # they have no hash
    called = last_name(kept.value.func) if isinstance(kept.value, ast.Call) else ""
    if is_list or called in _WITHOUT_HASH:
        return None
    if isinstance(kept.value, ast.Constant) or ".add(" in kept.store:
        return None  # a set: `bound-growing-container` tells how it takes less
    return Step(
        f"Keep {kept.name} as a set: it is only asked what is in it",
        f"{kept.name}.add(hash({kept.text(kept.value)}))  # a number for each; ask with `hash(x) in {kept.name}`",
        f"{kept.name} = set()",
        goes=False,
    )


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
    first = named(loop.target, loop.iter, kept, fillers)
    if not is_first or first is None or depends(use, kept, [made]) or is_repeated(use, kept):
        return made_anew(use, kept) if is_first and is_repeated(use, kept) else None
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
        return items.step(
            f"Keep each different one once: a set in place of {kept.name}", line, "found = set()", "found"
        )
    if inner or not (conditions or _is_small(made.elt)):
        return None
    is_same = isinstance(made.elt, ast.Name)
    what = "only the items that are used later" if is_same else f"only {quote(items.element)} of each item"
    is_item = first == f"{items.element} = {kept.text(kept.value)}"  # it is not made a second time
    line = kept.store if is_same and not is_item and kept.form == "one" else kept.put(items.element)
    if is_same and not is_item and first:
        return None
    behind = f"{_held(use.place, use.scope)}  # in place of {' '.join(segment(made).split())}"
    return items.step(f"Keep {what} in {quote(kept.name)}", line, "", behind, goes=False)


def _held(place: ast.expr, scope: Scope) -> str:
    """Return the container as it is written where it is gone through: `rows` of `enumerate(rows)`."""
    match place:
        case ast.Call(func=ast.Attribute(value=owner, attr="items" | "values"), args=[]):
            return f"list({scope.segment(owner)}.values())"
        case ast.Call(func=function, args=[inner, *_]) if last_name(function) in VIEWS:
            return _held(inner, scope)
    return scope.segment(place)


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
