"""Which columns the code takes from a frame that it reads: by its name, through chains, attributes and functions."""

import ast
from dataclasses import dataclass
from typing import NamedTuple

from ..code.attributes import class_of_self
from ..code.notebook import Call, Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.trees import unparse
from .column_names import aggregated, of_query, texts

_OF_FRAMES = {
    *("T", "at", "attrs", "axes", "columns", "dtypes", "empty", "flags", "iat", "iloc", "index", "loc", "ndim"),
    *("plot", "shape", "size", "sparse", "style", "values"),
}
"""Attributes of every data frame: any other that is not called is a column."""
_MOST_COLUMNS = 8
_DEEPEST = 6  # names, attributes and functions that a frame is handed on to
_ROWS = ("head", "tail", "sample", "copy", "sort_index")
"""Methods that give some of the rows, whatever columns there are."""
_ROWS_BY = {"sort_values": "by", "drop_duplicates": "subset", "dropna": "subset", "set_index": "keys"}
"""Methods that look at the columns they are given, and hand on all of them."""
_MASKS = ("isin", "between", "notna", "isna", "notnull", "isnull", "contains", "startswith", "endswith", "duplicated")


@dataclass(frozen=True)
class Columns:
    """The columns of a file that the code takes from the frame that a read gives."""

    names: tuple[str, ...]
    are_all: bool
    """Nothing else is done with the frame, as far as the code that ran shows."""

    @property
    def text(self) -> str:
        """Return them as they stand in a list, with words in the place of those that are not known."""
        named = [repr(one) for one in self.names[:_MOST_COLUMNS]]
        others = () if self.are_all else ("'the others you need'",) if named else ("'the columns'", "'you need'")
        return ", ".join((*named, *others))


def columns_read(call: Call, code: Notebook) -> Columns:
    """Return which columns of the file are used; those that the code creates before are none of them."""
    return columns_of(call.node, call.scope, code)


def columns_of(made: ast.expr, scope: Scope, code: Notebook, *, is_many: bool = False) -> Columns:
    """Return which columns are used of the frame that an expression gives, or of many: `map(pd.read_csv, files)`."""
    reader = _Reader(code)
    is_known = reader.follow_many(made, scope) if is_many else reader.follow(made, scope)
    return Columns(tuple(reader.read), is_known and bool(reader.read))


class _Name(NamedTuple):
    """A name that a frame goes by, from a statement on."""

    name: str
    scope: Scope
    begin: ast.stmt | None


class _Reader:
    """Follows a frame, and notes the columns that are read; each method returns whether that is all that is done."""

    def __init__(self, code: Notebook) -> None:
        self.code, self.origins = code, Origins(code)
        self.read: dict[str, None] = {}
        self.made, self._seen = set[str](), set[object]()
        self._depth = 0

    def follow(self, node: ast.expr, scope: Scope) -> bool:
        """Follow the frame that an expression stands for into what is done with it there."""
        self.code.spend(3)
        use = _parent(node, scope)
        match use:
            case ast.Subscript(value=value, slice=key) if value is node:
                return self._taken(use, key, scope)
            case ast.Attribute(value=value) if value is node:
                return self._attribute(use, scope)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return self._named(_Name(name, scope, use))
            case ast.Assign(targets=[ast.Attribute(value=ast.Name() as owner, attr=key)]):
                return class_of_self(self.code, owner, scope) is not None and self._set_on(key)
            case ast.Return():
                return self._given_back(scope)
            case ast.Call(func=ast.Name(id="len")) | ast.Delete():
                return True
            case ast.ListComp(elt=one) | ast.GeneratorExp(elt=one) if one is node:
                return self.follow_many(use, scope)
            case ast.Call(func=ast.Attribute(attr="append", value=ast.Name(id=name))):
                return self._list(name, scope)
            case ast.Call(func=function) if function is not node:
                return self._handed_on(node, use, scope)
        return False

    def follow_many(self, node: ast.expr, scope: Scope) -> bool:
        """Follow many frames, `[read(f) for f in files]`, to where they are put together."""
        use = _parent(node, scope)
        match use:
            case ast.Call(func=ast.Name(id="list" | "tuple")):
                return self.follow_many(use, scope)
            case ast.Call(args=[first, *_]) if first is node:
                return self.code.qualified(use.func, scope) == "pandas.concat" and self.follow(use, scope)
            case ast.Assign(targets=[ast.Name(id=name)]):
                return self._list(name, scope)
        return False

    def _list(self, name: str, scope: Scope) -> bool:
        """Follow a list of frames that is filled, and put together, and used for nothing else."""
        if not self._enter((name, scope)):
            return True  # it was followed from another frame that is put into it
        joined: list[ast.Call] = []
        for node in scope.names:
            if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store):
                continue
            match _parent(node, scope):
                case ast.Attribute(attr="append" | "extend") | ast.Call(func=ast.Name(id="len")):
                    pass
                case ast.Call(func=function) as call if self.code.qualified(function, scope) == "pandas.concat":
                    joined.append(call)
                case _:
                    return False
        self._depth -= 1
        return len(joined) == 1 and self.follow(joined[0], scope)

    def _note(self, names: list[str] | None) -> bool:
        self.read.update(dict.fromkeys(name for name in names or () if name not in self.made))
        return names is not None

    def _taken(self, use: ast.Subscript, key: ast.expr, scope: Scope) -> bool:
        """Follow `df[key]`: columns, or some of the rows."""
        if isinstance(key, ast.Compare | ast.BinOp | ast.UnaryOp) or self._is_mask(key, scope):
            return self.follow(use, scope)  # what the mask is made of is another use
        texts = self._texts(key, scope)
        is_made = isinstance(use.ctx, ast.Store) and not isinstance(_parent(use, scope), ast.AugAssign)
        self.made.update(texts or () if is_made else ())
        return bool(texts) if is_made else self._note(texts)

    def _texts(self, node: ast.expr, scope: Scope) -> list[str] | None:
        """Return the texts that an expression stands for, also by a name: `COLUMNS`, `self.keys`."""
        found = self.origins.of(node, scope) if isinstance(node, ast.Name | ast.Attribute) else []
        return texts(found[0].node if len(found) == 1 else node)

    def _is_mask(self, key: ast.expr, scope: Scope) -> bool:
        found = [one.node for one in self.origins.of(key, scope)] if isinstance(key, ast.Name) else [key]
        return bool(found) and all(
            isinstance(one, ast.Compare | ast.UnaryOp)
            or (isinstance(one, ast.Call) and getattr(one.func, "attr", "") in _MASKS)
            or (isinstance(one, ast.BinOp) and isinstance(one.op, ast.BitAnd | ast.BitOr))
            for one in found
        )

    def _attribute(self, use: ast.Attribute, scope: Scope) -> bool:
        call = _parent(use, scope)
        if isinstance(call, ast.Call) and call.func is use:
            return self._method(use.attr, call, scope)
        if use.attr in ("shape", "index"):
            return True
        match call:
            case ast.Subscript(slice=ast.Tuple(elts=[_, key]), ctx=ast.Load()) if use.attr == "loc":
                return self._note(self._texts(key, scope))
            case ast.Subscript(slice=key, ctx=ast.Load()) if use.attr == "loc" and self._is_mask(key, scope):
                return self.follow(call, scope)
        return use.attr not in _OF_FRAMES and self._note([use.attr])

    def _method(self, name: str, call: ast.Call, scope: Scope) -> bool:
        words = {word.arg: word.value for word in call.keywords}
        first = call.args[0] if call.args else words.get("by" if name == "groupby" else _ROWS_BY.get(name, ""))
        keys = None if first is None else self._texts(first, scope)
        if name in _ROWS or (name == "reset_index" and unparse(words.get("drop", call)) == "True"):
            return self.follow(call, scope)
        if name == "query" and isinstance(first, ast.Constant) and isinstance(first.value, str):
            self.code.spend(len(first.value))
            return self._note(of_query(first.value)) and self.follow(call, scope)
        if keys is None:
            return False
        if name in _ROWS_BY:
            return self._note(keys) and self.follow(call, scope)
        if name == "value_counts":
            return self._note(keys)
        return name == "groupby" and self._grouped(keys, call, scope)

    def _grouped(self, keys: list[str], call: ast.Call, scope: Scope) -> bool:
        use = _parent(call, scope)
        match use, _parent(use, scope) if use is not None else None:
            case ast.Subscript(slice=chosen), _:
                more = self._texts(chosen, scope)
            case ast.Attribute(attr="agg" | "aggregate"), ast.Call() as inner:
                more = aggregated(inner)
            case ast.Attribute(attr="size" | "ngroup"), ast.Call():
                more = []
            case ast.Attribute(attr="ngroups" | "groups" | "indices"), _:
                more = []
            case ast.Attribute(attr=column), inner if not (isinstance(inner, ast.Call) and inner.func is use):
                more = [column]
            case _:
                more = None
        return more is not None and self._note([*keys, *more])

    def _named(self, frame: _Name) -> bool:
        """Follow a name, until another object has it."""
        if not self._enter((frame.name, frame.scope, frame.begin)):
            return False
        are_all, begin, scope = True, frame.begin, frame.scope
        uses = scope.named(frame.name)
        for node in sorted(uses, key=lambda one: _place(one, scope)):
            if begin is not None and (scope.tree.statements[node].lineno, node.lineno) <= (begin.lineno, begin.lineno):
                continue
            if isinstance(node.ctx, ast.Store):
                break
            if not self.follow(node, scope):
                are_all = False
        self._depth -= 1
        return are_all

    def _set_on(self, key: str) -> bool:
        """Follow an attribute of `self`, and of any object that has one of that name."""
        if not self._enter(key):
            return True  # `self.df = self.df[…]`: its uses are looked at
        scopes = list(self.code.scopes_mentioning(key))
        uses = [
            (one, scope)
            for scope in scopes
            for one in scope.nodes
            if isinstance(one, ast.Attribute) and one.attr == key and isinstance(one.ctx, ast.Load)
        ]
        uses.sort(key=lambda use: not isinstance(getattr(_parent(*use), "ctx", None), ast.Store))  # what is made first
        known = [self.follow(one, scope) for one, scope in uses]
        self._depth -= 1
        return all(known)

    def _given_back(self, scope: Scope) -> bool:
        """Follow a function's result to its one caller."""
        calls = self.origins.calls_of(scope)
        if len(calls) != 1 or sum(isinstance(one, ast.Return) for one in scope.nodes) != 1 or not self._enter(scope):
            return False
        is_known = self.follow(*calls[0])
        self._depth -= 1
        return is_known

    def _handed_on(self, node: ast.expr, call: ast.Call, scope: Scope) -> bool:
        """Follow a frame into a function of the user's, which changes nothing in it."""
        function = self.origins.called(call.func, scope)
        if function is None:
            return False
        found = [name for name, given in self.origins.arguments(call, function).items() if given is node]
        stores = any(isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store) for one in function.nodes)
        return len(found) == 1 and not stores and self._named(_Name(found[0], function, None))

    def _enter(self, place: object) -> bool:
        if place in self._seen or self._depth >= _DEEPEST:
            return False
        self._seen.add(place)
        self._depth += 1
        return True


def _parent(node: ast.AST, scope: Scope) -> ast.AST | None:
    statement = scope.statement_of(node)
    for one in scope.inside(statement) if statement is not None else ():
        if any(child is node for child in ast.iter_child_nodes(one)):
            return one
    return None


def _place(node: ast.Name, scope: Scope) -> tuple[int, bool, int]:
    """Return where a use counts: what an assignment stores comes after all that it reads."""
    statement = scope.tree.statements[node]
    value = statement.value if isinstance(statement, ast.Assign) else None
    stores = value is not None and (node.lineno, node.col_offset) < (value.lineno, value.col_offset)
    return statement.lineno, stores, node.col_offset
