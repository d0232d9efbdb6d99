import ast

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.added_numbers import adds_to_numbers
from ...code.origins import all_origins
from ...code.stores import Store, stores
from ...code.trees import walk
from ...examples import MIB
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.kept_in_loops import less_of_the_loop
from ...frameworks.large_comprehensions import large_comprehension
from ...frameworks.numpy import FLOAT_MAKERS, as_float32
from ...frameworks.pandas import cells_of, rows_gone_through
from ...frameworks.plain_lists import filled_array, is_list, repeated_number
from ...frameworks.recursive_results import returned_one_by_one
from ...place import Place, guilty_place

_GREW = NamedObject("kept", "dict", 99 * MIB, items=4, grew_bytes=99 * MIB, items_before=0)
_ROUNDS = 3  # items that a container gained while the cell ran
_ITEMS = (
    "for one in ({element} for {target} in {items}{inner}):  # round brackets: one at a time\n"
    "    ...  # a sum, a count, the best so far; no list of all"
)
_GROUPS = (
    "for {target} in {items}:  # one group at a time\n    ...  # a sum, a count; no dict of all their tables\n\n"
    "table = {items}.agg(['size', 'sum', 'median'])  # or of all groups at once, with the columns you need"
)
_TABLE = (
    "{name} = np.zeros((n, m), dtype='float32')  # n rows of m numbers; int8 for small whole numbers\n"
    "for i, item in enumerate({items}):\n    {name}[i] = ..."
)
_COUNTED = (
    "if len({container}) > 1_000_000:  # now and then: forget what came once\n"
    "    for key in [key for key, n in {container}.items() if n < 2]:\n        del {container}[key]\n\n"
    "# or count numbers in an array: ids, counts = np.unique(numbers, return_counts=True)"
)
_COLUMNS = (
    "{table}['new'] = {table}['a'] + {table}['b']  # whole columns at once; np.where for an if\n\n"
    "values = [f(row) for row in {table}.itertuples(index=False)]  # or one number of each row, no dict\n"
    "{table}['new'] = values"
)
_USED_OF_EACH = (
    "\n\n# or keep of each row only what is used of it later\nsums = np.zeros(n, dtype='float32')\n"
    "for i, item in enumerate(items):\n    sums[i] = ...  # its mean or sum, not the row"
)
_COMMON = (
    "\n\n# or rows for the most common keys only, as num_words or max_features do: all rare ones share one row\n"
    "common = [key for key, n in counts.most_common(20_000)]  # counts: collections.Counter, of all that come\n"
    "{keys} = {{key: i for i, key in enumerate(common, 1)}}"
)
_KEPT = (
    "{store}  # less: what you need of {value}: a number, a text, a copy of the part\n"
    "{owner}.clear()  # or this before: only the newest is kept\n\n"
    "with open('kept.txt', 'a') as file:  # or write to a file, and keep none\n"
    "    print(less, file=file)  # as text"
)


def _of_array(made: str, says: str) -> Case:
    return Case("import numpy as np", f"out = {made}\nfor i, x in enumerate(xs):\n    out[i] = x", line=3, says=(says,))


class AnItemAtATime(Fix):
    """Take one item after the other, and keep little of each.

    What it does: Takes the statement that memory grew in, and shows it without a list of all: as a generator, with the
    best few only, as an array of numbers, or with less kept of each round.

    When it is offered: Memory ran out in a comprehension, in a list that is repeated, or in a loop that keeps something
    of each round. It comes after fixes that know what is special about it.

    What it costs: What is not kept is not there later. A generator can be gone through once.
    """

    id, title, causes, general = "an-item-at-a-time", "Take one item after the other", (Family.MEMORY,), True
    unless_offered = frozenset(
        {
            "fill-a-sparse-matrix",
            *("activations-in-parts", "backward-each-batch", "bound-the-queue", "generator-instead-of-list"),
            *("note-what-was-seen", "clear-session-in-model-loop", "hold-fewer-items", "remove-hooks"),
            *("detach-accumulated-loss", "concat-once", "endless-cycle", "append-to-the-list-you-iterate"),
            *("bound-growing-container", "drop-kept-tape", "detach-collected-outputs", "keep-best-model"),
            *("keep-fewer-steps", "load-items-on-demand", "no-grad-evaluation", "add-up-weights", "answer-when-asked"),
        }
    )

    FIRES = [
        Case("pairs = [(a, b) for a in xs for b in ys if a != b]", says=("row = [(a, b) for b in ys if a != b]",)),
        Case("best = [0] * (n + 1)\nrank(best)", line=1, says=("best = np.full(n + 1, 0, dtype='int32')",)),
        _of_array("np.zeros((n, 9), float)", "out = np.zeros((n, 9), 'float32')"),
        _of_array("np.zeros((n, 9), dtype='uint8')", "# keep of each row"),
        Case(
            "import numpy as np",
            "X = np.zeros((len(ids), 300))\nfor word, i in ids.items():\n    X[i] = vector(word)",
            line=3,
            says=("counts.most_common(20_000)", "ids = {key: i for"),
        ),
        Case("g = [[0] * 90 for _ in range(n)]\nf(g)", line=1, says=("g = np.full((n, 90), 0, dtype='int32')",)),
        Case("g = [[f(x) for x in xs] for xs in rows]", says=("g = np.zeros((n, m)",)),
        Case("for a in words:\n    n[a, b] += 1", line=2, says=("del n[key]",)),
        Case(
            "rows = []\nfor i, row in df.iterrows():\n    rows.append(row.to_dict())",
            line=3,
            says=("df['new'] = df['a'] + df['b']",),
        ),
        Case("for i in range(len(df)):\n    df.loc[i, 'new'] = f(i)", line=2, says=("df['new'] = df['a'] + df['b']",)),
        Case("rows = {k: load(k) for k in names}", says=("for k in names", "load(k)")),
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "of = {k: one for k, one in df.groupby('k')}",
            says=("for k, one in df.groupby('k'):", "df.groupby('k').agg("),
        ),
        Case("for s in steps:\n    df = s(df)\n    kept[s] = df", line=2, grew=_GREW, says=("kept[s] = less",)),
        Case(
            "for k, x in rounds:\n    kept[k].append({'x': x,\n        'y': f(x)})",
            line=2,
            grew=_GREW,
            says=("kept[k].clear()", "less: what you need of {'x': x, 'y': f(x)}", "print(less, file=file)"),
        ),
    ]
    SILENT = [
        Case("s = ''", "for c in chunks:\n    s += c", line=2),
        Case("import numpy as np", "grid = np.meshgrid(*[np.linspace(0, 1, 99)] * 5)"),
        Case("from torch import nn", "net = nn.Sequential(*[nn.Linear(9, 9) for _ in range(9)])"),
        Case("import numpy as np\ngrid = np.zeros(9)", "for at in starts:\n    grid[at : at + 9] += 1", line=2),
        Case("y = a - b", cause="segfault"),
        Case("import numpy as np\nmean = np.zeros(9)", "for b in batches:\n    mean += 0.1 * b.mean(0)", line=2),
        Case("Z = grid()\nfor i in range(9):\n    Z[near] = Z[near] ** 2 + C[near]", line=3),
        Case("board = [['.'] * 30_000 for _ in range(30_000)]"),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        if at is not None and (code := returned_one_by_one(at.scope)) is not None:
            why = f"{quote(at.scope.function)} calls itself, and holds all results of each call in a list."
            title = "Hand out one result after the other: yield, no list of all"
            yield Proposal((), why, death.memory.missing_bytes, title, code)
            return
        found = None if at is None else (not _is_put_in(at) and _collected(at, death)) or _kept(at, death)
        if found:
            yield found


def _is_put_in(at: Place) -> bool:
    """Whether what the statement makes is put into a container again and again: that grows, not the comprehension."""
    found = (one for one in stores([at.scope]) if one.statement is at.node)
    return isinstance(at.node, ast.Expr) and any(_is_repeated(one) for one in found)


def _collected(at: Place, death: Death) -> Proposal | None:
    """Tell of a comprehension that holds all of its items."""
    segment = at.scope.segment
    spread = {one.value for one in walk(at.node) if isinstance(one, ast.Starred)}  # all are given to one call
    lists = (one for one in walk(at.node) if isinstance(one, ast.ListComp | ast.SetComp | ast.DictComp))
    made = [one for one in lists if one not in spread]
    repeated = [one for one in walk(at.node) if isinstance(one, ast.BinOp) and is_list(one) and one not in spread]
    numbers = [found for one in repeated if (found := repeated_number(one)) is not None]
    if numbers and not made:
        why = f"{quote(at.text)} makes a list with 8 bytes for each item, and more for what they point at. An array "
        why += "takes 1 for each `bool`, 4 for a float32."
        number, count = numbers[0]
        snippet = filled_array(_target(at.node), (segment(count),), number)
        return Proposal((), why, death.memory.missing_bytes, "Keep the numbers in an array, not in a list", snippet)
    if not made:
        return None
    if (large := large_comprehension(made[0], at.scope)) is not None:
        why = f"{quote(at.text)} holds all items at once. {large.why}"
        return Proposal((), why, death.memory.missing_bytes, large.title, large.code)
    first, loop = made[0], made[0].generators[0]
    inner = "".join(f" for {segment(one.target)} in {segment(one.iter)}" for one in first.generators[1:])
    element = segment(first.value if isinstance(first, ast.DictComp) else first.elt)
    names = {
        "target": segment(loop.target),
        "items": segment(loop.iter),
        "element": " ".join(element.split()),
        "inner": inner,
    }
    why = f"{quote(at.text)} holds all items at once. Take one after the other, and keep only what comes of it."
    if not isinstance(first, ast.DictComp) and is_list(first.elt):
        if any(isinstance(getattr(one, "value", None), str) for one in walk(first.elt)):
            return None  # texts
        why = f"{quote(at.text)} makes lists of lists: a Python object of 24 bytes or more for each number, and 8 to "
        why += "point at it. An array takes 4 for each."
        rows = repeated_number(first.elt) if isinstance(first.elt, ast.BinOp) else None
        match loop.iter:
            case ast.Call(func=ast.Name(id="range"), args=[count]) if rows is not None:
                snippet = filled_array(_target(at.node), (segment(count), segment(rows[1])), rows[0])
            case _:
                snippet = _TABLE.format(name=_target(at.node), items=names["items"])
        return Proposal((), why, death.memory.missing_bytes, "Keep the numbers in an array, not in lists", snippet)
    snippet = (_GROUPS if ".groupby(" in names["items"] and not inner else _ITEMS).format(**names)
    return Proposal((), why, death.memory.missing_bytes, "Take one item after the other", snippet)


def _target(node: ast.stmt) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else "table"


def _kept(at: Place, death: Death) -> Proposal | None:
    """Tell of something that is kept of each round, where the container is not known by its size."""
    here = [one for one in stores([at.scope]) if one.statement is at.node and _is_repeated(one)]
    if here and (filled := _filled(here[0], death)) is not None:
        return filled
    longer = {one.name for one in death.growth.objects if death.growth.items_gained(one) >= _ROUNDS}
    found = [one for one in stores(death.code.running) if one.container in longer and death.growth.container is None]
    named = isinstance(at.node, ast.Assign) and not isinstance(at.node.targets[0], ast.Subscript)
    if not found and death.growth.goes_on and not named:
        found = here
    store = next(iter(found), None)
    if store is None or not store.values:
        return None
    segment, statement = store.scope.segment, store.statement
    value, kept = " ".join(segment(store.values[0]).split()), death.values.of(store.values[0], store.scope)
    if (kept is not None and kept.type in ("str", "bytes")) or adds_to_numbers(store, death.code) or _is_masked(store):
        return None
    if (told := less_of_the_loop([store], death.code)) is not None:
        title = told.title or f"Keep less in `{store.container}`"
        return Proposal((), told.told, death.memory.missing_bytes, title, told.code)
    left = _put_less(store)
    why = (
        f"{quote(Place(statement, store.scope).text)} keeps something of each round. A row of a table keeps the "
        "whole table, and a part of an array the whole array. Keep a number, a text or a copy of what is used, "
        "or the newest only."
    )
    match statement:
        case ast.AugAssign(target=ast.Subscript(value=table, slice=key)):
            if isinstance(key, ast.Slice) or ((known := death.values.of(table, store.scope)) and known.dtype):
                return None  # an array has its memory, whatever is added to its numbers
            why = f"{quote(Place(statement, store.scope).text)} keeps an entry for each key that ever came."
            snippet = _COUNTED.format(container=store.container)
            return Proposal((), why, death.memory.missing_bytes, "Forget rare keys, or count in an array", snippet)
    by_row = (rows_gone_through(loop) for loop in store.scope.loops_around(statement))
    if (frame := cells_of(statement) or next((one for one in by_row if one is not None), None)) is not None:
        why = f"{quote(Place(statement, store.scope).text)} works on one row after the other, with Python objects that "
        why += "take many times what the columns do. Work on whole columns, which pandas does at once."
        snippet = _COLUMNS.format(table=segment(frame))
        return Proposal((), why, death.memory.missing_bytes, "Work on whole columns, not row by row", snippet)
    title = f"Keep less in `{store.container}`: a number, a text, a copy of the part"
    owner = store.container
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Subscript() as entry))):
            owner = segment(entry)  # the list of one key
    return Proposal((), why, death.memory.missing_bytes, title, _KEPT.format(store=left, value=value, owner=owner))


def _is_masked(store: Store) -> bool:
    """Whether part of an array is written over with what is worked out from it: that keeps nothing more."""
    match store.statement:
        case ast.Assign(targets=[ast.Subscript() as part], value=value):
            text = store.scope.segment(part)
            return any(isinstance(one, ast.Subscript) and store.scope.segment(one) == text for one in walk(value))
    return False


def _put_less(store: Store) -> str:
    """Return the statement with less put in: `kept[step] = less`, `rows.append(less)`."""
    match store.statement:
        case ast.Assign(targets=[target, *_]):
            return f"{store.scope.segment(target)} = less"
        case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
            return f"{store.scope.segment(method)}(less)"
    return "less = ..."


def _filled(store: Store, death: Death) -> Proposal | None:
    """Tell of an array that was made empty, and takes its memory as it is filled."""
    match store.statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() as array)]):
            for one, where in all_origins(array, store.scope, death.code)[1:]:
                name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
                if isinstance(one, ast.Call) and name in FLOAT_MAKERS:
                    why = f"{quote(where.segment(one))} takes its memory as it is filled here. Mostly only a sum of it "
                    keys, smaller = _keys_gone_through(store), as_float32(Call(one, where, name))
                    used = (_USED_OF_EACH if keys is None else _COMMON.format(keys=keys)).lstrip()
                    less = f"{array.id} = {smaller}  # half of float64\n\n" if smaller else ""
                    used = less + used if less else used.replace("or ", "", 1)
                    title = f"Fill `{array.id}` with {'float32, or with ' * bool(smaller)}what is used of each row only"
                    return Proposal((), f"{why}is needed.", death.memory.missing_bytes, title, used)
    return None


def _keys_gone_through(store: Store) -> str | None:
    """Return the dict of which each key has a row: `word_index` of `for word, i in word_index.items()`."""
    for loop in store.scope.loops_around(store.statement):
        match loop:
            case ast.For(iter=ast.Call(func=ast.Attribute(value=keys, attr="items"))):
                return store.scope.segment(keys)
    return None


def _is_repeated(store: Store) -> bool:
    """Whether something is put in again and again: no column of a table, `df["new"] = ...`."""
    match store.statement:
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str()))]):
            return False
    return not store.scope.is_cell or bool(store.scope.loops_around(store.statement))
