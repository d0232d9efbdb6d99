"""What all uses of a container tell together: only entries, the last or first items, columns, or lists by key."""

import ast
from collections.abc import Iterable, Sequence

from ..code.calls import last_name, plain_names
from ..code.literals import number
from ..code.notebook import Notebook
from ..code.trees import unparse, walk
from .columns import columns_of
from .kept_items import KeptItem
from .later_uses import Use, parent_of
from .reductions import Items, Step, best_few

_FRAMES = ("pandas.concat", "polars.concat")
_MOST_COLUMNS = 8
_OF_ALL = frozenset(
    (
        *("mean", "median", "quantile", "std", "var", "max", "min", "sum", "count", "nunique", "idxmax", "idxmin"),
        *("duplicated", "rank", "shift", "diff", "transform", "cumsum", "cumcount", "pct_change", "value_counts"),
    )
)
_BY_KEY = {
    "sum": (("sums[{key}] += {value}",), "sums[{name}]"),
    "fsum": (("sums[{key}] += {value}",), "sums[{name}]"),
    "len": (("counts[{key}] += 1",), "counts[{name}]"),
    "max": (("largest[{key}] = max({value}, largest.get({key}, {value}))",), "largest[{name}]"),
    "min": (("smallest[{key}] = min({value}, smallest.get({key}, {value}))",), "smallest[{name}]"),
    "set": (("different[{key}].add({value})",), "different[{name}]"),
    "Counter": (("times[{key}][{value}] += 1",), "times[{name}]"),
} | dict.fromkeys(
    ("mean", "fmean", "average"),
    (("sums[{key}] += {value}", "counts[{key}] += 1"), "sums[{name}] / counts[{name}]"),
)
_BEGIN = {
    "sums": "defaultdict(float)",
    "counts": "defaultdict(int)",
    "largest": "{}",
    "smallest": "{}",
    "different": "defaultdict(set)",
    "times": "defaultdict(Counter)",
}


def of_all_uses(uses: Sequence[Use], kept: KeptItem, code: Notebook) -> Step | None:
    """Return what takes the place of the container, where its uses tell that together."""
    kinds = {one.kind for one in uses}
    if kept.key is not None and (best := _best_of(uses, kept)) is not None:
        return best
    if kept.form == "listed":
        return (_drawn(uses, kept) or _of_entries(uses, kept)) if kinds == {"entry"} else _by_key(uses, kept)
    if len(uses) == 1 and _is_with_next(uses[0].node):
        return _neighbours(uses[0], kept)
    if all(set(one.through) & set(_FRAMES) for one in uses):
        return _of_columns(uses, kept, code)
    if any(one.through for one in uses) or kept.form == "many":
        return None
    entries = [one for one in uses if not _is_of_keys(one, kept)]
    if entries and {one.kind for one in entries} == {"entry"}:
        return _when_asked_for(kept) if len(entries) == len(uses) else _smaller_entries(entries, kept)
    if kinds == {"last"}:
        return _newest(uses, kept)
    if kinds == {"method", "first"} and len(uses) == 2:
        return _sorted(uses, kept)
    return None


def _of_columns(uses: Sequence[Use], kept: KeptItem, code: Notebook) -> Step | None:
    """Tell of tables of which the cells read a few columns, or the rows that pass a test."""
    value = kept.text(kept.value)
    first = "" if value == "part" else f"part = {value}\n"
    parts = [(one, one.node) for one in uses if isinstance(one.node, ast.Subscript)]
    tests = [(one, node) for one, node in parts if isinstance(node.slice, ast.Compare | ast.BinOp)]
    if len(tests) == 1 and isinstance(name := tests[0][1].value, ast.Name):
        ((test, node),) = tests
        inside = set(walk(node))
        if all(one.place in inside for one in uses) and not any(_is_of_all(one) for one in inside):
            line = f"{name.id} = {value}\n{kept.put(' '.join(test.scope.segment(node).split()))}"
            return Step("Filter each part before it is kept, not all of them behind", line, goes=False)
    if not all(one.kind == "column" for one in uses):
        return None
    columns = columns_of(kept.value, kept.scope, code)
    if not columns.are_all or not 0 < len(columns.names) <= _MOST_COLUMNS:
        return None
    names = ", ".join(map(repr, columns.names))
    line = f"{first}{kept.put(f'part[[{names}]]')}  # all columns that the cells read later"
    return Step("Keep of each part only the columns that are used", line, goes=False)


def _is_of_all(node: ast.AST) -> bool:
    """Whether a call needs all rows: a mean to compare with, a place in the order."""
    return isinstance(node, ast.Call) and last_name(node.func) in _OF_ALL


def _when_asked_for(kept: KeptItem) -> Step | None:
    """Tell of a dict of which single entries are asked for, and each is made by a call with the key."""
    value = kept.value
    if isinstance(value, ast.Name):
        made = [one.value for one in kept.scope.bindings.get(value.id, ()) if one.value is not None]
        value = made[0] if len(made) == 1 else value
    if kept.key is None or not isinstance(value, ast.Call) or not isinstance(kept.key, ast.Name):
        return None
    if plain_names(kept.key) - plain_names(value) or not plain_names(value) <= {
        kept.key.id,
        "self",
        *plain_names(value.func),
    }:
        return None
    word, key = kept.name.rpartition(".")[2].strip("_"), kept.key.id
    text = (
        f"from functools import lru_cache\n\n@lru_cache(maxsize=32)  # the 32 asked for last are kept\n"
        f"def get_{word}({key}):\n    return {kept.text(value)}\n\nget_{word}({key})  # in place of {kept.name}[{key}]"
    )
    return Step("Make each when it is asked for, and keep the newest few: lru_cache", text, is_put=False)


def _best_of(uses: Sequence[Use], kept: KeptItem) -> Step | None:
    """Tell of a dict of which only the key with the best value is asked for: `min(costs, key=costs.get)`."""
    calls = [one.node for one in uses if one.kind == "given" and isinstance(one.node, ast.Call)]
    words = [word.value for one in calls for word in one.keywords if word.arg == "key"]
    match words:
        case [ast.Attribute(attr="get", value=owner)] if len(uses) == 2 and kept.key is not None:
            name = last_name(calls[0].func)
            if name in ("max", "min") and unparse(owner) == unparse(calls[0].args[0]):
                sign, value, key = "<" if name == "min" else ">", kept.text(kept.value), kept.text(kept.key)
                line = f"score = {value}\nif best is None or score {sign} best[0]:\n    best = score, {key}"
                behind = f"best[1]  # in place of {uses[0].scope.segment(calls[0])}"
                return Step(f"Keep the best one only, not all of {kept.name}", line, "best = None", behind)
    return None


def _is_of_keys(use: Use, kept: KeptItem) -> bool:
    """Whether only the keys of a dict are gone through: `max(found, key=lambda k: len(found[k]))`, `for k in found`."""
    called = last_name(use.node.func) if isinstance(use.node, ast.Call) else ""
    return kept.key is not None and (use.kind == "for" or (use.kind == "given" and called in ("max", "min", "sorted")))


def _smaller_entries(uses: Sequence[Use], kept: KeptItem) -> Step | None:
    """Tell of a dict of whose entries only the length, the sum or the like is asked for."""
    calls = [parent_of(one.node, one.scope) for one in uses]
    asked = {last_name(one.func) for one in calls if isinstance(one, ast.Call) and len(one.args) == 1}
    if (
        len(asked) != 1
        or not all(isinstance(one, ast.Call) for one in calls)
        or not asked <= {"len", "sum", "max", "min"}
    ):
        return None
    (name,) = asked
    line = (
        kept.put(f"{name}({kept.text(kept.value)})") + f"  # a number; later {kept.name}[...] in place of {name}(...)"
    )
    return Step(f"Keep of each only its {name}: nothing else is asked for", line, goes=False)


def _of_entries(uses: Sequence[Use], kept: KeptItem) -> Step | None:
    """Tell of lists by key of which only the last items, or a sum, a mean, a count are read, one key at a time."""
    lines, ends, newest = dict[str, None](), list[str](), set[int]()
    for use in uses:
        match parent := parent_of(use.node, use.scope):
            case ast.Subscript(slice=ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=many), upper=None)):
                newest |= {number(many) or 0}
            case ast.Subscript(slice=ast.UnaryOp(op=ast.USub(), operand=many)):
                newest |= {number(many) or 0}
            case ast.Call() if parent.args == [use.node] and (known := _BY_KEY.get(last_name(parent.func))):
                given = "key" if kept.key is None else kept.text(kept.key)
                lines |= dict.fromkeys(one.format(key=given, value=kept.text(kept.value)) for one in known[0])
                name = use.scope.segment(use.node.slice) if isinstance(use.node, ast.Subscript) else given
                ends.append(f"{known[1].format(name=name)}  # in place of {use.scope.segment(parent)}")
            case _:
                return None
    if newest and not lines and 0 not in newest:
        most = max(newest)
        before = (
            f"from collections import defaultdict, deque\n\n{kept.name} = defaultdict(lambda: deque(maxlen={most}))"
        )
        behind = f"list({kept.name}[key])[-{most}:]  # a deque has no slices"
        return Step(
            f"Keep only the newest {most} of each key: deque(maxlen={most})", kept.store, before, behind, goes=False
        )
    return _sums_by_key(lines, ends, kept) if not newest else None


def _newest(uses: Sequence[Use], kept: KeptItem) -> Step | None:
    """Tell of a list of which only the last items are read."""
    numbers = [one.node.slice for one in uses if isinstance(one.node, ast.Subscript)]
    ends = [one.lower if isinstance(one, ast.Slice) else one for one in numbers]
    places = [one.operand for one in ends if isinstance(one, ast.UnaryOp)]
    known = [found for one in places if (found := number(one)) is not None]
    if kept.key is not None or len(known) != len(uses) or kept.form != "one":
        return None
    newest = max(known)
    before = f"from collections import deque\n\n{kept.name} = deque(maxlen={newest})"
    cut = [(one.scope, one.node) for one in uses if isinstance(one.node, ast.Subscript)]
    parts = [scope.segment(one) for scope, one in cut if isinstance(one.slice, ast.Slice)]
    behind = "\n".join(f"list({kept.name}){one.removeprefix(kept.name)}  # a deque has no slices" for one in parts)
    what = "the newest one" if newest == 1 else f"the newest {newest}"
    return Step(f"Keep only {what}: deque(maxlen={newest})", kept.store, before, behind, goes=False)


def _is_with_next(node: ast.AST) -> bool:
    """Whether a loop goes through each item and the next: `zip(frames, frames[1:])`."""
    source = (
        node.iter if isinstance(node, ast.For) else next((one.iter for one in getattr(node, "generators", ())), None)
    )
    match source:
        case ast.Call(
            args=[whole, ast.Subscript(value=inner, slice=ast.Slice(lower=ast.Constant(value=1), upper=None))]
        ):
            return last_name(source.func) == "zip" and unparse(whole) == unparse(inner)
    return False


def _neighbours(use: Use, kept: KeptItem) -> Step | None:
    """Tell of a loop over each item and the next: `zip(frames, frames[1:])`."""
    node = use.node
    target = node.target if isinstance(node, ast.For) else _target(node)
    match target:
        case ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]):
            pass
        case _:
            return None
    done = (
        "..."
        if isinstance(node, ast.For) or not hasattr(node, "elt")
        else f"kept.append({use.scope.segment(node.elt)})"
    )
    line = (
        f"{second} = {kept.text(kept.value)}\nif {first} is not None:\n    {done}  # as later, with each and the next\n"
    )
    return Step("Keep the one before only, not all of them", f"{line}{first} = {second}", f"{first}, kept = None, []")


def _drawn(uses: Sequence[Use], kept: KeptItem) -> Step | None:
    """Tell of lists by key out of which one is drawn: how often each comes is enough."""
    calls = [parent_of(one.node, one.scope) for one in uses]
    if not all(isinstance(one, ast.Call) and last_name(one.func) == "choice" for one in calls) or kept.key is None:
        return None
    line = f"{kept.name}[{kept.text(kept.key)}][{kept.text(kept.value)}] += 1"
    behind = "random.choices(list(counts), weights=counts.values())[0]  # counts: those of one key"
    before = f"{kept.name} = defaultdict(Counter)  # from collections import Counter, defaultdict"
    return Step("Count how often each comes, and draw with weights: no list of all", line, before, behind, goes=False)


def _sorted(uses: Sequence[Use], kept: KeptItem) -> Step | None:
    """Tell of a list that is sorted, and of which the first few are taken."""
    call = next((one.node for one in uses if isinstance(one.node, ast.Call)), None)
    part = next((one.node for one in uses if isinstance(one.node, ast.Subscript)), None)
    if call is None or last_name(call.func) != "sort" or part is None or not isinstance(part.slice, ast.Slice):
        return None
    words = {word.arg: uses[0].scope.segment(word.value) for word in call.keywords if word.arg}
    upper = part.slice.upper
    if upper is None or isinstance(upper, ast.UnaryOp):
        return None
    count = uses[-1].scope.segment(upper)
    return best_few(
        count, Items(kept.text(kept.value)), words.get("key", ""), are_largest=words.get("reverse") == "True"
    )


def _by_key(uses: Sequence[Use], kept: KeptItem) -> Step | None:
    """Tell of a list for each key, of which only sums, counts, means or extremes are taken."""
    lines, ends = dict[str, None](), list[str]()
    for use in uses:
        target = use.node.target if isinstance(use.node, ast.For) else _target(use.node)
        match target, use.through:
            case ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=values)]), ("items",):
                pass
            case ast.Name(id=values), ("values",):
                key = "key"
            case _:
                return None
        for node in walk(use.node):
            if isinstance(node, ast.Name) and node.id == values and isinstance(node.ctx, ast.Load):
                call = parent_of(node, use.scope)
                known = _BY_KEY.get(last_name(call.func)) if isinstance(call, ast.Call) else None
                if known is None or not isinstance(call, ast.Call) or call.args != [node] or call.keywords:
                    return None
                given = "key" if kept.key is None else kept.text(kept.key)
                lines |= dict.fromkeys(one.format(key=given, value=kept.text(kept.value)) for one in known[0])
                ends.append(f"{known[1].format(name=key)}  # in place of {use.scope.segment(call)}")
    return _sums_by_key(lines, ends, kept)


def _sums_by_key(lines: Iterable[str], ends: Sequence[str], kept: KeptItem) -> Step | None:
    if not lines:
        return None
    begun = dict.fromkeys(one.partition("[")[0] for one in lines)
    before = "\n".join(f"{one} = {_BEGIN[one]}" for one in begun)
    how = "a running mean" if len(begun) > 1 else "what is worked out of its list"
    title = f"Keep for each key {how}, and no lists in {kept.name}"
    return Step(title, "\n".join(lines), before, "\n".join(dict.fromkeys(ends)))


def _target(node: ast.AST) -> ast.expr | None:
    parts = getattr(node, "generators", [])
    return parts[0].target if len(parts) == 1 else None
