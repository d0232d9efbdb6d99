"""A loop that goes through a container later: what it does with each item is done in the loop that makes them."""

import ast
from collections.abc import Iterator, Sequence

from ..code.calls import last_name, plain_names
from ..code.trees import unparse, walk
from .gone_through_once import keeps_items
from .kept_items import KeptItem, lines_of
from .later_uses import Use
from .reductions import Step

VIEWS = ("items", "values", "keys", "enumerate", "zip", "tqdm", "list", "iter", "tuple")
"""What gives the same items."""
_LONGEST_BODY = 7
_AGAIN = (
    "def {word}():  # makes each when a loop comes to it, and anew for the next loop: no list of all\n"
    "    {head}:\n        yield {value}\n\n{use}:  # in place of {plain}\n    ..."
)


def done_in_the_loop(use: Use, loop: ast.For, kept: KeptItem, fillers: Sequence[KeptItem]) -> Step | None:
    """Tell of a loop that goes through the container: what it does with each can be done at once."""
    if depends(use, kept, loop.body) or keeps_items(loop, use.scope) or _reads_the_last(use, loop, kept):
        return None
    if is_repeated(use, kept):
        return made_anew(use, kept)
    first = named(loop.target, loop.iter, kept, fillers)
    if first is None or any(isinstance(one, ast.Return) for part in loop.body for one in walk(part)):
        return None
    lines = [line for part in loop.body for line in lines_of(part, use.scope).split("\n")]
    if len(lines) > _LONGEST_BODY:
        lines = [*lines[: _LONGEST_BODY - 2], "...  # and so on, as in that loop"]
    title = f"Do in the same loop what is done with each later, and keep none in {kept.name}"
    return Step(title, "\n".join(filter(None, (first, *lines))))


def _reads_the_last(use: Use, loop: ast.For, kept: KeptItem) -> bool:
    """Whether a later loop reads what the loop that fills the container leaves, which it gives anew in each round."""
    if use.scope is not kept.scope:
        return False
    filling = [one for around in kept.scope.loops_around(kept.statement) for one in kept.scope.inside(around)]
    later = [one for one in use.scope.inside(loop) if isinstance(one, ast.Name)]
    own = {one.id for one in later if isinstance(one.ctx, ast.Store)}
    given = {one.id for one in filling if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return bool(given & ({one.id for one in later} - own))


def done_by_number(use: Use, entry: ast.Subscript, counter: str, kept: KeptItem) -> Step | None:
    """Tell of a loop over the numbers of the items: `for i in range(len(rows))`."""
    for loop in use.scope.loops_around(entry):
        match loop:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[asked])) if (
                name == counter and ast.Name in map(type, walk(asked)) and isinstance(asked, ast.Call)
            ):
                text = use.scope.segment(entry)
                is_len = last_name(asked.func) == "len" and use.scope.segment(asked.args[0]) == text.partition("[")[0]
                inside = [one for part in loop.body for one in walk(part)]
                others = [one for one in inside if isinstance(one, ast.Name) and one.id == counter]
                plain = [one for one in inside if isinstance(one, ast.Subscript) and use.scope.segment(one) == text]
                whole = Use("for", loop, use.scope, (), use.place)
                if not is_len or len(others) > len(plain) or kept.key is not None or keeps_items(loop, use.scope):
                    return None
                names = [name for one in inside for name in _words_of(one)]
                if is_repeated(whole, kept) or _derived(use, kept) & set(names):
                    return None
                if names.count(last_name(entry.value)) > len(plain):
                    return None
                lines = [line for part in loop.body for line in lines_of(part, use.scope).split("\n")][:_LONGEST_BODY]
                lines = [f"one = {kept.text(kept.value)}", *(line.replace(text, "one") for line in lines)]
                title = f"Do in the same loop what is done with each later, and keep none in {kept.name}"
                return Step(title, "\n".join(lines))
    return None


def made_anew(use: Use, kept: KeptItem) -> Step | None:
    """Tell how each item is made anew for each of the loops."""
    if not isinstance(kept.value, ast.Call) or not kept.head or not isinstance(use.node, ast.For):
        return None
    word, node = kept.name.rpartition(".")[2].strip("_"), use.node
    if _changes_items(node):
        return None
    head = f"for {use.scope.segment(node.target)} in {word}()"
    text = _AGAIN.format(word=word, head=kept.head, value=kept.text(kept.value), use=head, plain=kept.name)
    return Step("Make each when it is needed: no list of all", text, is_put=False)


def named(target: ast.expr, source: ast.expr, kept: KeptItem, fillers: Sequence[KeptItem]) -> str | None:
    """Return the line that gives an item the names that a later loop gives it; "" where it has them already."""
    given = _given(source, kept, fillers)
    if given is None:
        return None
    names = target.elts if isinstance(target, ast.Tuple) and len(given) > 1 else [target]
    if len(names) != len(given):
        return None
    pairs = [(unparse(one), text) for one, text in zip(names, given, strict=True) if text]
    pairs = [(name, text) for name, text in pairs if name.strip("()") != text.strip("()")]
    counters = [unparse(one) for one, text in zip(names, given, strict=True) if not text and unparse(one) != "_"]
    told = "".join(f"  # {one}: the number of the round" for one in counters)
    line = f"{', '.join(name for name, _ in pairs)} = {', '.join(text for _, text in pairs)}" if pairs else ""
    return f"{line}{told}".strip()


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
        case ast.Call(args=[inner, *_]) if last_name(source.func) in VIEWS:
            return _given(inner, kept, fillers)
    return None


def is_repeated(use: Use, kept: KeptItem) -> bool:
    """Whether the container is gone through again and again: in each epoch."""
    around = set(kept.scope.loops_around(kept.statement))
    return any(one not in around for one in use.scope.loops_around(use.node) if one is not use.node)


def _changes_items(loop: ast.For) -> bool:
    """Whether a loop may change its items, which have another state in the next round then: `car.move()`."""
    items = plain_names(loop.target)
    for node in (one for part in loop.body for one in walk(part)):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))) if plain_names(owner) & items:
                return True
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()) if plain_names(node.value) & items:
                return True
    return False


def depends(use: Use, kept: KeptItem, parts: Sequence[ast.AST]) -> bool:
    """Whether what is done with each item needs something that is worked out of all of them: their mean."""
    words = {kept.name.rpartition(".")[2], *plain_names(use.place)} | _derived(use, kept)
    inside = {inner for part in parts for inner in walk(part)}
    return bool(words & {name for one in inside - set(walk(use.place)) for name in _words_of(one)})


def _derived(use: Use, kept: KeptItem) -> set[str]:
    """Return the names of what is worked out of the container before a use of it."""
    words = {kept.name.rpartition(".")[2], *plain_names(use.place)}
    found = set[str]()
    for one in use.scope.nodes:
        is_before = isinstance(one, ast.Assign) and one.lineno < use.place.lineno and one is not kept.statement
        if is_before and isinstance(one, ast.Assign) and (words | found) & set(_words(one.value)):
            found |= {name for target in one.targets for name in _words(target)}
    return found


def _words(node: ast.AST) -> Iterator[str]:
    for one in walk(node):
        yield from _words_of(one)


def _words_of(node: ast.AST) -> list[str]:
    return [last_name(node)] if isinstance(node, ast.Name | ast.Attribute) else []
