"""What a loop puts into a list of each round, and how less is kept: of dicts, of copies of arrays, of the best few."""

import ast
from collections.abc import Iterable

from ..code.stores import Store
from .plain_lists import best_of

_FIELDS = (
    "{plain}.append(({row}['a'], {row}['b']))  # of each only the fields you need, as a tuple: a quarter of a dict\n\n"
    "yield {row}  # or no list: hand out one after the other, where they are gone through once\n\n"
    "table = pd.read_csv(path, usecols=['a', 'b'])  # or whole columns, where a table is read"
)
_THINNED = (
    "if step % 10 == 0:  # every tenth round is enough to look at\n"
    "    {plain}.append(...)  # and .astype('float32') in the place of .copy(): half of it\n\n"
    "# or all of them in a file, which is read as it is needed:\n"
    "kept = np.lib.format.open_memmap('kept.npy', 'w+', 'float32', (rounds, *shape))\nkept[step] = ..."
)
_BEST = (
    "import heapq\n\nyield {value}  # in the place of append, in a function of its own: `items`\n\n"
    "{plain} = heapq.nsmallest({top}, items(){key})  # holds {top} only; nlargest for the largest"
)


def less_of_each(stores: Iterable[Store], item_type: str | None) -> str | None:
    """Return code that keeps less of each round; None where nothing is known that would."""
    for store in stores:
        match store.statement, store.values:
            case ast.Expr(), [ast.expr() as value] if best := best_of(store.container, store.scope):
                text = " ".join(store.scope.segment(value).split())
                return _BEST.format(plain=store.container, value=text, top=best[0], key=best[1])
            case ast.Expr(), [ast.Name(id=row)] if item_type == "dict":
                return _FIELDS.format(plain=store.container, row=row)
            case ast.Expr(), [ast.Tuple(elts=parts)] if all(
                isinstance(one, ast.Call) and getattr(one.func, "attr", "") == "copy" for one in parts
            ):
                return _THINNED.format(plain=store.container)
    return None
