"""What a loop or a comprehension puts into a container: each item, its key, and the text that does it."""

import ast
import textwrap
from collections.abc import Iterable
from typing import NamedTuple

from ..code.scopes import Scope
from ..code.stores import Store, container_name

_ADD_ONE = ("append", "appendleft", "add", "put")
_ADD_MANY = ("extend", "update")


class KeptItem(NamedTuple):
    """What is put into a container again and again."""

    name: str
    """The container as it is written there: `self.rows`."""
    scope: Scope
    statement: ast.stmt
    value: ast.expr
    """The item; of `extend` all that it adds."""
    key: ast.expr | None = None
    """Under what it stands in a dict."""
    form: str = "one"
    """`one`, `many` for `extend`, `listed` where a dict has a list for each key, `made` by a comprehension."""

    def text(self, node: ast.expr) -> str:
        """Return the text of an expression on one line, as it may stand beside others."""
        text = " ".join(self.scope.segment(node).split())
        return f"({text})" if isinstance(node, ast.Tuple) and not text.startswith("(") else text

    @property
    def store(self) -> str:
        """The text of the statement, as it may be told."""
        return " ".join(self.scope.segment(self.statement).split())

    @property
    def head(self) -> str:
        """The head of the innermost loop around it, without its colon; "" where no loop is seen."""
        if isinstance(self.statement, ast.Assign) and isinstance(made := self.statement.value, ast.ListComp):
            return f"for {self.text(made.generators[0].target)} in {self.text(made.generators[0].iter)}"
        loops = [one for one in self.scope.loops_around(self.statement) if isinstance(one, ast.For)]
        return f"for {self.text(loops[0].target)} in {self.text(loops[0].iter)}" if loops else ""

    def put(self, less: str) -> str:
        """Return the statement that puts something else in its place: `rows.append(len(x))`."""
        match self.statement:
            case ast.Assign(targets=[ast.Subscript() as target]):
                return f"{self.scope.segment(target)} = {less}"
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)) if self.form == "one":
                return f"{self.text(method)}({less})"
        return f"{self.name}.append({less})"


def kept_items(stores: Iterable[Store]) -> list[KeptItem]:
    """Return what these statements put into containers, one item or some at a time."""
    found = []
    for store in stores:
        name, scope, at = store.container, store.scope, store.statement
        match at:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=owner), args=[value], keywords=[])):
                if method in _ADD_ONE and isinstance(owner, ast.Subscript | ast.Call):
                    key = owner.slice if isinstance(owner, ast.Subscript) else next(iter(owner.args), None)
                    found.append(KeptItem(name, scope, at, value, key, "listed"))
                elif method in (*_ADD_ONE, *_ADD_MANY):
                    is_many = method in _ADD_MANY
                    found.append(KeptItem(name, scope, at, value, None, "many" if is_many else "one"))
            case ast.Assign(targets=[ast.Subscript(slice=key, value=owner)], value=value):
                if container_name(owner) == name and not isinstance(owner, ast.Subscript):
                    found.append(KeptItem(name, scope, at, value, key))
            case ast.AugAssign(op=ast.Add(), target=ast.Name() | ast.Attribute(), value=ast.List(elts=[value])):
                found.append(KeptItem(name, scope, at, value))
    return found


def made_items(statement: ast.stmt, scope: Scope) -> KeptItem | None:
    """Return what a comprehension makes that a statement gives a name; None for another statement."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.ListComp(elt=value)):
            return KeptItem(scope.segment(target), scope, statement, value, None, "made")
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.DictComp(key=key, value=value)):
            return KeptItem(scope.segment(target), scope, statement, value, key, "made")
    return None


def lines_of(statement: ast.stmt, scope: Scope) -> str:
    """Return the text of a statement as it stands at the left margin."""
    return textwrap.dedent(" " * statement.col_offset + scope.segment(statement))
