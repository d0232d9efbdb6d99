"""What the cells do with a container that a loop fills: through other names, arguments, attributes and results."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope

_ADDS = ("append", "appendleft", "add", "extend", "extendleft", "insert", "update", "setdefault", "put", "__setitem__")
_TAKES = ("clear", "pop", "popleft", "popitem", "remove", "get_nowait", "discard")
_VIEWS = ("values", "items", "keys", "copy", "tolist", "numpy", "reset_index", "astype", "to_numpy")
"""Methods that give the same items in another form."""
_GIVE = frozenset(
    (
        *(f"builtins.{one}" for one in ("list", "tuple", "iter", "enumerate", "zip", "reversed")),
        *(f"numpy.{one}" for one in ("array", "asarray", "stack", "concatenate", "vstack", "hstack")),
        *("torch.stack", "torch.cat", "torch.tensor", "tensorflow.stack", "tensorflow.concat", "pandas.Series"),
        *("pandas.concat", "pandas.DataFrame", "polars.concat", "polars.DataFrame", "tqdm.tqdm", "tqdm.auto.tqdm"),
        *("itertools.chain.from_iterable", "collections.deque"),
    )
)
"""Functions that do."""
_SHAPES = ("shape", "size", "columns", "dtypes", "index")
_MOST, _DEEPEST = 12, 7


class Use(NamedTuple):
    """One thing that is done with a container."""

    kind: str
    """`for`, `each` (a comprehension), `given` (to a function), `method` (of what it became), `column`, `last`,
    `first`, `entry`, `in`, `length`, `filled` (or emptied), or `other`."""
    node: ast.AST
    scope: Scope
    through: tuple[str, ...]
    """What it went through before: `("items",)`, `("pandas.concat",)`."""
    place: ast.expr
    """The expression that stands for the container there."""

    @property
    def text(self) -> str:
        """Its text on one line; of a loop the head."""
        if isinstance(self.node, ast.For):
            head = f"for {self.scope.segment(self.node.target)} in {self.scope.segment(self.node.iter)}"
            return " ".join(head.split())
        whole = parent_of(self.node, self.scope) if self.kind == "each" else self.node
        whole = whole if isinstance(whole, ast.Call) else self.node
        return " ".join(self.scope.segment(whole).split()) if isinstance(whole, ast.expr) else ""


def later_uses(name: str, scope: Scope, fillers: Iterable[ast.AST], code: Notebook) -> list[Use]:
    """Return what is done with a container of this name, beside the statements that fill it.

    One of several names, `self.rows`, is followed by its last word, wherever that stands behind a dot.
    """
    finder, word = _Finder(code, set(fillers)), name.rpartition(".")[2]
    if "." in name:
        return list(finder.of_attribute(word))
    return list(finder.of_name(name, _home(name, scope), ()))


def _home(name: str, scope: Scope) -> Scope:
    """Return the function that a name is local to, or the cell."""
    home = scope
    while home.parent is not None and (name not in home.bindings or name in home.outside):
        home = home.parent
    return home


def _before(target: ast.expr, name: str, scope: Scope) -> list[ast.expr]:
    """Return where a name is read before it stands for the container: `out` of a loop, and `out = cat(outs)` behind it.

    None where a loop is around both: its next round reads what the one before has put there.
    """
    loops = set(scope.loops_around(target))
    read = (one for one in scope.named(name) if (one.end_lineno or one.lineno) < target.lineno)
    return [one for one in read if not loops & set(scope.loops_around(one))]


class _Path(NamedTuple):
    """How an expression that stands for the container was come to."""

    scope: Scope
    through: tuple[str, ...] = ()
    depth: int = 0

    def on(self, *through: str) -> "_Path":
        """Return the path one step further on."""
        return self._replace(through=(*self.through, *through), depth=self.depth + 1)


class _Finder:
    def __init__(self, code: Notebook, fillers: set[ast.AST]) -> None:
        self.code, self.fillers, self.origins = code, fillers, Origins(code)
        self._seen, self._parents = set[object](), dict[ast.AST, dict[ast.AST, ast.AST]]()

    def of_attribute(self, word: str, through: tuple[str, ...] = (), depth: int = 0) -> Iterator[Use]:
        """Follow all attributes of a name, but methods."""
        for scope in self.code.scopes_mentioning(word):
            for node in scope.names:
                if isinstance(node, ast.Attribute) and node.attr == word and not isinstance(node.ctx, ast.Store):
                    parent = self._parent(node, scope)
                    if not (isinstance(parent, ast.Call) and parent.func is node):
                        yield from self.of(node, _Path(scope, through, depth))

    def of_name(self, name: str, home: Scope, through: tuple[str, ...], depth: int = 0) -> Iterator[Use]:
        """Follow a name in the function or the notebook that it belongs to."""
        scopes = self.code.scopes_mentioning(name) if home.is_cell else home.tree.scopes
        for scope in scopes:
            own = _home(name, scope)
            for node in scope.named(name) if own is home or (home.is_cell and own.is_cell) else ():
                if isinstance(node.ctx, ast.Load):
                    yield from self.of(node, _Path(scope, through, depth))

    def of(self, node: ast.expr, path: _Path) -> Iterator[Use]:
        """Follow an expression that stands for the container, or for what became of it."""
        if node in self._seen or len(self._seen) > _MOST * _DEEPEST or path.depth > _DEEPEST:
            return
        self._seen.add(node)
        self.code.spend(4)
        user = self._parent(node, path.scope)
        if isinstance(user, ast.keyword | ast.Starred):
            user = self._parent(user, path.scope)
        match user:
            case ast.Attribute():
                yield from self._attribute(node, user, path)
            case ast.Call():
                yield from self._given(node, user, path)
            case ast.Subscript(value=value) if value is node:
                yield from self._entry(user, path)
            case ast.List() | ast.Tuple() | ast.Await() | ast.NamedExpr():
                yield from self.of(user, path)
            case ast.Assign(targets=[target], value=value) if value is node and path.depth < _DEEPEST:
                yield from self._named(target, path)
            case ast.Return():
                yield from self._returned(node, path)
            case ast.Expr() | ast.Delete():
                return  # shown, or given up
            case _:
                yield self._use(node, user, path)

    def _use(self, node: ast.expr, user: ast.AST | None, path: _Path) -> Use:
        """Return what is done with it directly."""
        kind, at = "other", node if user is None else user
        match user:
            case ast.For(iter=taken) if taken is node:
                kind = "for"
            case ast.comprehension(iter=taken) if taken is node:
                kind, at = "each", self._parent(user, path.scope) or user
            case ast.Compare(ops=[ast.In() | ast.NotIn()]) if node is not user.left:
                kind = "in"
            case ast.If() | ast.While() | ast.UnaryOp() | ast.BoolOp() | ast.IfExp():
                kind = "length"  # whether there are any
        return Use(kind, at, path.scope, path.through, node)

    def _named(self, target: ast.expr, path: _Path) -> Iterator[Use]:
        match target:
            case ast.Name(id=name):
                home = _home(name, path.scope)
                self._seen |= set(_before(target, name, path.scope)) if home is path.scope else set()
                yield from self.of_name(name, home, path.through, path.depth + 1)
            case ast.Attribute(attr=word):
                yield from self.of_attribute(word, path.through, path.depth + 1)
            case _:
                yield Use("other", target, path.scope, path.through, target)

    def _returned(self, node: ast.expr, path: _Path) -> Iterator[Use]:
        calls = self.origins.calls_of(path.scope) if path.scope.function else []
        if not calls:
            yield Use("other", node, path.scope, path.through, node)
        for call, caller in calls:
            yield from self.of(call, path.on()._replace(scope=caller))

    def _attribute(self, node: ast.expr, user: ast.Attribute, path: _Path) -> Iterator[Use]:
        call, attr = self._parent(user, path.scope), user.attr
        if not isinstance(call, ast.Call) or call.func is not user:
            kind = "length" if attr in _SHAPES else "column"
            yield Use(kind, user, path.scope, path.through, node)
        elif attr in _VIEWS:
            yield from self.of(call, path.on(attr))
        elif attr not in _ADDS or path.scope.statement_of(node) not in self.fillers:
            kind = (
                "filled" if attr in (*_ADDS, *_TAKES) else "entry" if attr == "get" and not path.through else "method"
            )
            yield Use(kind, call, path.scope, path.through, node)

    def _given(self, node: ast.expr, call: ast.Call, path: _Path) -> Iterator[Use]:
        name, function = self.code.qualified(call.func, path.scope) or "", None
        if name == "builtins.len":
            yield Use("length", call, path.scope, path.through, node)
            return
        if name in _GIVE:
            yield from self.of(call, path.on(name))
            return
        function = self.origins.called(call.func, path.scope)
        words = () if function is None else self.origins.arguments(call, function).items()
        given = [word for word, one in words if one is node]
        if function is not None and len(given) == 1:
            yield from self.of_name(given[0], function, path.through, path.depth + 1)
        elif path.scope.statement_of(node) not in self.fillers:
            yield Use("given", call, path.scope, path.through, node)

    def _entry(self, user: ast.Subscript, path: _Path) -> Iterator[Use]:
        if isinstance(user.ctx, ast.Store):
            return
        is_its_own = path.scope.statement_of(user) in self.fillers and not path.through
        if is_its_own and isinstance(self._parent(user, path.scope), ast.Attribute | ast.Subscript):
            return  # of the statement that fills it: `rows[key].append(x)`
        kind = "entry"
        match user.slice:
            case _ if isinstance(user.ctx, ast.Del):
                kind = "filled"
            case ast.UnaryOp(op=ast.USub()) | ast.Slice(lower=ast.UnaryOp(op=ast.USub()), upper=None):
                kind = "last"
            case ast.Slice(lower=None, upper=ast.expr(), step=None):
                kind = "first"
            case ast.Slice(lower=ast.Constant(value=1), upper=None, step=None):
                yield from self.of(user, path.on("next"))
                return
            case ast.Slice():
                kind = "other"
            case ast.Constant(value=str()) | ast.List() if path.through:
                kind = "column"
        yield Use(kind, user, path.scope, path.through, user.value)

    def _parent(self, node: ast.AST, scope: Scope) -> ast.AST | None:
        return parent_of(node, scope, self._parents)


def parent_of(
    node: ast.AST, scope: Scope, known: dict[ast.AST, dict[ast.AST, ast.AST]] | None = None
) -> ast.AST | None:
    """Return what an expression is directly a part of."""
    own = scope.node.body if isinstance(scope.node, ast.Lambda) else None  # its statement has no parts of it
    statement, known = own or scope.statement_of(node), {} if known is None else known
    if statement is None:
        return None
    if statement not in known:
        known[statement] = {child: one for one in scope.inside(statement) for child in ast.iter_child_nodes(one)}
    return known[statement].get(node)


def is_filled_elsewhere(uses: Iterable[Use]) -> bool:
    """Whether items are put in or taken out in other places than those that are known."""
    return any(one.kind in ("filled", "other") for one in uses)
