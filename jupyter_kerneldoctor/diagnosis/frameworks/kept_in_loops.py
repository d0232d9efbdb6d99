"""What a loop keeps, where the loop itself tells a better way: of groups, pairs, days, words, a search, a hook."""

import ast
from collections.abc import Iterable, Iterator

from ..code.calls import last_name, plain_names
from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.stores import Store, container_name, stores
from ..code.trees import walk
from .gradients import backward_calls, reached_by_gradients
from .hooks import lasting_hooks
from .kept import is_bound_anew
from .kept_rows import Less
from .recursive_results import of_recursion
from .rows_of_pairs import of_rows_of_pairs
from .sequences import of_a_sequence, of_a_table
from .torch import Kind, Tensors

_GROUPS = Less(
    "rows_of = {table}.groupby({by}).indices  # for each group the numbers of its rows: no table of its own\n"
    "part = {table}.iloc[rows_of[{key}]]  # when it is asked for, in place of {plain}[{key}]\n\n"
    "sums = {table}.groupby({by}).agg(['size', 'sum', 'max'])  # or of all groups at once, of the columns you need",
    "Leave the groups in one table, and take one when it is asked for: groupby().indices",
    "Each group becomes a table of its own, which takes some kilobytes however few rows it has.",
)
_DAYS = Less(
    "horizon = pd.Timestamp.today().normalize()  # or the last day that you look at\n"
    "days = {function}({start}, min({end}, horizon))  # an end that is far away stands for one that is open\n\n"
    "# or no row for each day: what begins is added, what ends is taken away again\n"
    "change = pd.concat([table.set_index('start')['value'], -table.set_index('end')['value']])\n"
    "per_day = change.groupby(level=0).sum().sort_index().cumsum()",
    "Clip ends that are far in the future, or add up what begins and ends",
    "There is a row for each step from a start to an end: an end in a hundred years makes 36,500 rows of days.",
)
_ALIKE = Less(
    "score = {value}\nif score >= threshold:  # or <= for a distance: most pairs are never looked at again\n"
    "    {store}\n\n"
    "import collections\n\nblocks = collections.defaultdict(list)  # and no pairs of what cannot be alike\n"
    "for one in {items}:\n"
    "    blocks[key(one)].append(one)  # key: the first letter, the town, the year\n"
    "# then make the pairs of each block: for block in blocks.values()",
    "Keep only the pairs above a threshold, and compare within blocks",
    "There is an entry for each pair: of 10,000 items 50 million.",
)
_SEARCH = Less(
    "import heapq\n\nsteps, queue = {{start: 0}}, [(left(start), start)]  # A*: what is nearest to the goal first\n"
    "while queue:\n    _, {state} = heapq.heappop(queue)\n    if {state} == goal:\n        break\n"
    "    for {next} in {moves}:\n        if steps[{state}] + 1 < steps.get({next}, float('inf')):\n"
    "            steps[{next}] = steps[{state}] + 1\n"
    "            heapq.heappush(queue, (steps[{next}] + left({next}), {next}))\n\n"
    "# left: a number of moves that are surely needed still, never too large\n"
    "# bytes({next}) as the key, where it is a tuple of small numbers, takes a third",
    "Search towards the goal (A*), or with a growing limit of depth",
    "The search notes every state that it has seen, and there are several times more with each move. Iterative "
    "deepening, a depth-first search whose limit grows, keeps the moves of one way only.",
)
_HOOK = Less(
    "handle = {register}\n...\nhandle.remove()  # when you have looked: or it is called in each later pass\n\n"
    "{plain}.clear()  # before each pass, where the hook is needed: only the newest is kept\n"
    "small = {out}.mean((2, 3))  # where maps of all batches are needed: a number for each channel",
    "Remove the hook when it has done its work: handle.remove()",
    "A hook that stays registered puts something into it each time that the network is called.",
)
_PASS = Less(
    "{head}\n    ...  # as before\n    loss = ...  # of this round's {plain} alone; / n for a mean of n rounds\n"
    "    loss.backward()  # frees what the round needed; gradients add up until step()\n    {plain}.clear()\n\n"
    "# or, where the loss needs all rounds: work them out again in the backward pass\n"
    "from torch.utils.checkpoint import checkpoint\n\n{again}",
    "Run backward() for each round of the loop: gradients add up",
    "gained {count:,} tensors while the cell ran, each with all that it was worked out from, for one `backward()`. "
    "Where the loss is a sum or a mean, its gradients are those of its parts: each round can have its own pass.",
)
_SUMS = Less(
    "bits = 1  # in place of {plain}: bit s says whether the sum s can be made\nfor {number} in {items}:\n"
    "    bits |= bits << {number}  # whole numbers from 0; a bit for each sum, not 60 bytes\n\n"
    "can_be_made = bits >> target & 1  # in place of `target in {plain}`",
    "Keep the sums as the bits of one whole number",
    "With each number there may be twice as many sums, each an object of 28 bytes in a set of 32 more.",
)
_ENDS = ("copy", "reset_index", "drop", "sort_values", "set_index", "dropna", "drop_duplicates", "fillna")
"""Methods of a table that give a table of as many rows, or nearly."""
_RANGES = ("date_range", "bdate_range", "period_range", "timedelta_range")
_PAIRS = ("combinations", "permutations", "product")
_TAKES = ("popleft", "pop", "get")


def less_of_the_loop(kept: Iterable[Store], code: Notebook) -> Less | None:
    """Return how a loop does without what it keeps; None where it tells nothing."""
    for store in kept:
        for told in (_of_groups, _of_days, _of_pairs, of_rows_of_pairs, _of_a_search):
            if (found := told(store, code)) is not None:
                return found
        if (found := _of_sums(store) or of_a_sequence(store) or of_a_table(store) or of_recursion(store)) is not None:
            return found
    return None


def _of_sums(store: Store) -> Less | None:
    """Tell of a set of all sums that can be made of numbers."""
    loop = next(_loops(store), None)
    match store.values:
        case [
            ast.SetComp(elt=ast.BinOp(op=ast.Add()) as added, generators=[ast.comprehension(iter=whole)])
            | ast.ListComp(elt=ast.BinOp(op=ast.Add()) as added, generators=[ast.comprehension(iter=whole)])
        ] if loop is not None and container_name(whole) == store.container:
            numbers = plain_names(added) & plain_names(loop.target)
            if len(numbers) == 1 and isinstance(loop.target, ast.Name):
                return _filled(_SUMS, plain=store.container, number=loop.target.id, items=_text(store, loop.iter))
    return None


def less_of_a_hook(name: str, code: Notebook) -> Less | None:
    """Return how a container does not get longer that a hook fills which nothing removes; whichever it is for ""."""
    for call, scope, hook in lasting_hooks(code):
        for one in stores(hook):
            plain = name or one.container.partition("[")[0]
            is_meant = one.container.rpartition(".")[2] == name.rpartition(".")[2] if name else one.adds_items
            if is_meant and one.values and (name or not _is_emptied(plain, code)):
                registered = " ".join(scope.segment(call).split())
                return _filled(_HOOK, register=registered, plain=plain, out=_text(one, one.values[-1]))
    return None


def _is_emptied(name: str, code: Notebook) -> bool:
    """Whether a cell empties a container of this name, or binds it anew elsewhere than in an `__init__`."""
    last = name.rpartition(".")[2]
    for scope in code.scopes_mentioning(last):
        for node in scope.nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=of) | ast.Attribute(attr=of), attr="clear" | "pop") if of == last:
                    return True
                case ast.Attribute(attr=of, ctx=ast.Store()) if of == last and scope.function != "__init__":
                    return True
    return False


def less_of_a_pass(kept: Iterable[Store], code: Notebook) -> Less | None:
    """Return how a round frees its graph, where one backward pass starts from those of all rounds of a loop."""
    for store in kept:
        scope, value, loops = store.scope, store.values[-1:], store.scope.loops_around(store.statement)
        around = next(
            (at for at, one in enumerate(loops) if is_bound_anew(store.container, one, None, scope)), len(loops)
        )
        if not around or "." in store.container or not {*value} & reached_by_gradients(code):
            continue
        if backward_calls(loops[around - 1], scope):
            return None  # it is to be emptied there
        again = "x = checkpoint(block, x, use_reentrant=False)  # of each block of the network"
        match value:
            case [ast.Call(func=function, args=[_, *_] as given, keywords=[])] if _is_network(function, store, code):
                texts = ", ".join(_text(store, one) for one in (function, *given))
                again = f"{store.container}.append(checkpoint({texts}, use_reentrant=False))"
        head = scope.segment(loops[around - 1]).split("\n")[0]
        return _PASS._replace(code=_PASS.code.format(head=head, plain=store.container, again=again))
    return None


def _is_network(function: ast.expr, store: Store, code: Notebook) -> bool:
    """Whether it is a network, or a function of the user's, and what it gives is put into a list."""
    is_own = Origins(code).called(function, store.scope) is not None
    is_network = is_own or Tensors(code).kind(function, store.scope) is Kind.MODULE
    return is_network and isinstance(store.statement, ast.Expr)


def _filled(less: Less, **names: str) -> Less:
    return less._replace(code=less.code.format(**names))


def _loops(store: Store) -> Iterator[ast.For]:
    """Yield the loops around a store, the innermost first."""
    for one in reversed(store.scope.loops_around(store.statement)):
        if isinstance(one, ast.For):
            yield one


def _text(store: Store, node: ast.expr) -> str:
    return " ".join(store.scope.segment(node).split())


def _of_groups(store: Store, code: Notebook) -> Less | None:  # noqa: ARG001 - as the others
    for loop in _loops(store):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[key, ast.Name(id=part)]),
                iter=ast.Call(func=ast.Attribute(value=table, attr="groupby"), args=[by, *_]),
            ) if len(store.values) == 1 and _is_table(store.values[0], part):
                names = {"table": store.scope.operand(table), "by": _text(store, by), "key": _text(store, key)}
                return _filled(_GROUPS, plain=store.container, **names)
    return None


def _is_table(node: ast.expr, part: str) -> bool:
    """Whether an expression is the table of a group, or a copy of it."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _ENDS:
            return _is_table(inner, part)
        case ast.Subscript(value=inner, slice=ast.List()):
            return _is_table(inner, part)
        case ast.Name(id=name):
            return name == part
    return False


def _of_days(store: Store, code: Notebook) -> Less | None:
    for call, scope in _calls_for(store, code):
        if last_name(call.func) not in _RANGES or not (code.qualified(call.func, scope) or "").startswith("pandas."):
            continue
        words = {word.arg: word.value for word in call.keywords}
        start, end = (words.get(word, dict(enumerate(call.args)).get(at)) for at, word in enumerate(("start", "end")))
        of_rows = (ast.Attribute, ast.Subscript)
        if isinstance(start, of_rows) and isinstance(end, of_rows) and plain_names(start) & plain_names(end):
            texts = {"start": scope.segment(start), "end": scope.segment(end), "function": scope.segment(call.func)}
            return _filled(_DAYS, **texts)
    return None


def _calls_for(store: Store, code: Notebook) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the calls in the round that a store is in, and in the function that makes what is put in."""
    for loop in list(_loops(store))[:1]:
        calls = [one for one in store.scope.inside(loop) if isinstance(one, ast.Call)]
        yield from ((one, store.scope) for one in calls)
        made = [one for value in store.values for one in walk(value) if isinstance(one, ast.Call)]
        functions = (Origins(code).called(one.func, store.scope) for one in made)
        yield from ((one, function) for function in functions if function is not None for one in function.calls)


def _of_pairs(store: Store, code: Notebook) -> Less | None:
    loop = next(_loops(store), None)
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]), iter=ast.Call(func=function, args=given)
        ) if (code.qualified(function, store.scope) or "").rpartition("itertools.")[2] in _PAIRS and given:
            pair = {first, second}
        case _:
            return None
    inside = set(store.scope.inside(loop))
    if any(isinstance(one, ast.If) and one in inside for one in store.scope.around(store.statement)):
        return None  # only some are kept
    match store.statement:
        case ast.Assign(targets=[ast.Subscript(slice=ast.Tuple() as key) as target], value=score):
            if plain_names(key) == pair:
                text = f"{_text(store, target)} = score"
                return _alike(store, score, text, given[0])
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append") as append, args=[ast.Tuple(elts=parts)])):
            scores = [one for one in parts if not isinstance(one, ast.Name)]
            if len(scores) == 1 and {one.id for one in parts if isinstance(one, ast.Name)} == pair:
                texts = ["score" if one is scores[0] else _text(store, one) for one in parts]
                return _alike(store, scores[0], f"{_text(store, append)}(({', '.join(texts)}))", given[0])
    return None


def _alike(store: Store, score: ast.expr, text: str, items: ast.expr) -> Less | None:
    if not isinstance(score, ast.Call | ast.BinOp):
        return None  # no number that is worked out of the pair
    return _filled(_ALIKE, value=_text(store, score), store=text, items=_text(store, items))


def _of_a_search(store: Store, code: Notebook) -> Less | None:  # noqa: ARG001 - as the others
    around = store.scope.loops_around(store.statement)
    loop, whole = next(_loops(store), None), next((one for one in around if isinstance(one, ast.While)), None)
    if loop is None or whole is None or not _asks_what_was_seen(store, loop):
        return None
    for taken in store.scope.inside(whole):
        match taken, loop:
            case (
                ast.Assign(
                    targets=[ast.Name(id=state)], value=ast.Call(func=ast.Attribute(value=queue, attr=how), args=given)
                ),
                ast.For(target=ast.Name(id=following), iter=ast.Call(args=of) as moves),
            ) if how in _TAKES and [getattr(one, "id", "") for one in of] == [state] and len(given) < 2:
                first = how != "pop" or (bool(given) and getattr(given[0], "value", None) == 0)
                if first and container_name(queue) != store.container and _has_a_goal(state, whole):
                    return _filled(_SEARCH, state=state, next=following, moves=_text(store, moves))
    return None


def _asks_what_was_seen(store: Store, loop: ast.For) -> bool:
    """Whether a state is put in that was not there: `if following not in seen`."""
    for node in store.scope.inside(loop):
        match node:
            case ast.Compare(ops=[ast.NotIn() | ast.In()], comparators=[asked]):
                if container_name(asked) == store.container:
                    return True
    return False


def _has_a_goal(state: str, loop: ast.While) -> bool:
    """Whether the search is for one state, and not through all."""
    for node in walk(loop):
        match node:
            case ast.If(test=ast.Compare(ops=[ast.Eq()]) as test, body=body) if state in plain_names(test):
                return any(isinstance(one, ast.Return | ast.Break) for part in body for one in walk(part))
    return False
