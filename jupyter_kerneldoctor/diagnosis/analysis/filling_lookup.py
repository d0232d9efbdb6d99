"""The look-ups that filled a `defaultdict`, where memory grew in them and not where things are put into it."""

from ..code.filling_lookups import Lookup, lookups
from ..code.notebook import Notebook
from ..postmortem import Statement
from .growth import MOST, Growth
from .statements import is_in

_LEAST_ITEMS = 1000


def filling_lookup(growth: Growth, code: Notebook) -> tuple[Statement, list[Lookup]] | None:
    """Return the statement in which a `defaultdict` got most of its entries by reading, and what it reads there."""
    one = growth.container
    if one is None or not (one.type or "").endswith("defaultdict") or growth.items_gained(one) < _LEAST_ITEMS:
        return None
    scopes = [scope for cell in code.with_words(one.name.rpartition(".")[2]) for scope in code.scopes(cell)]
    found = [*lookups(dict.fromkeys(scopes), one.name, code)]
    for charged in growth.charged if found else ():
        at = charged.statement
        here = [each for each in found if is_in(at, code.cells[each.scope.cell]) and _holds(at, each)]
        if here and charged.bytes >= MOST * growth.known_bytes:
            return at, here
    return None


def _holds(statement: Statement, lookup: Lookup) -> bool:
    return statement.line <= lookup.node.lineno <= (statement.end_line or statement.line)
