"""Tables that a loop fills with an answer for all that could be asked, and that are only looked up later."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..code.calls import last_name, plain_names
from ..code.scopes import Scope
from ..code.stores import Store, container_name
from ..code.trees import walk
from .kept_items import lines_of
from .later_uses import Use

_LOOKUPS = frozenset({"entry", "in", "length"})
_LONGEST_BODY = 6
_CHANCE = re.compile(r"rand|choice|sample|shuffle|next|read|input|time|uuid|pop")
_ANSWER = (
    "from functools import lru_cache\n\n@lru_cache(maxsize={newest})  # keeps the newest answers\n"
    "def answer({words}):  # worked out when it is asked for, in place of {asked}\n{body}    return {value}\n\n"
    "if {key} in wanted:  # or a table of those only that can be asked\n    {store}"
)
_OTHER_WAY = (
    "from functools import lru_cache\n\n@lru_cache(maxsize={newest})  # keeps the newest answers\n"
    "def answer({words}):  # worked out when it is asked for, in place of {asked}\n"
    "    for {other} in {near}:  # where it goes both ways, as one edit of a word does\n"
    "        if {other} in known:  # known: a set of each {other} that the loop goes through\n"
    "            return {value}\n    return None\n\n"
    "if {key} in wanted:  # or a table of those only that can be asked\n    {store}"
)
_SEARCHED = (
    "def answer(asked):  # goes through them when it is asked, in place of {asked}\n"
    "    for {other} in {near}:\n        if {key} == asked:\n            return {value}\n    return None\n\n"
    "if {key} in wanted:  # or a table of those only that are asked for, wanted: a set of them\n    {store}"
)


class Table(NamedTuple):
    """What is put into a table, under which key, by which loops."""

    name: str
    scope: Scope
    statement: ast.stmt
    keys: tuple[ast.expr, ...]
    """More than one where its entries are tables."""
    value: ast.expr
    loops: tuple[ast.For | ast.comprehension, ...]
    """Outermost first."""

    def text(self, node: ast.AST) -> str:
        """Return the text of an expression on one line."""
        text = " ".join(self.scope.segment(node).split()) if isinstance(node, ast.expr) else ""
        return f"({text})" if isinstance(node, ast.Tuple) and not text.startswith("(") else text

    def answered(self, uses: Sequence[Use], newest: str) -> str | None:
        """Return the function that gives one answer when it is asked; None where it cannot, or all are gone through."""
        kinds = {one.kind for one in uses}
        if not kinds <= _LOOKUPS or not kinds & {"entry", "in"} or self._is_read_there():
            return None
        targets = plain_names(*(one.target for one in self.loops))
        words = [name for key in self.keys for name in _names(self._made_of(key)) if name in targets]
        if not words or len({*words}) < len(words):
            return None
        names = {
            "newest": newest,
            "words": ", ".join(words),
            "asked": self.name + "".join(f"[{self.text(one)}]" for one in self.keys),
            "key": self.text(self.keys[-1]),
            "store": self.scope.segment(self.statement).split("\n")[0],
        }
        if (body := self._body(set(words), targets)) is not None:
            return _ANSWER.format(**names, body="".join(f"    {one}\n" for one in body), value=self.text(self.value))
        match self.loops[-2:], self.value:
            case [outer, ast.For(target=ast.Name(id=word), iter=ast.Call() as near)], ast.Name(id=other):
                if [word] == words and plain_names(outer.target) & plain_names(near) == {other}:
                    other_way = re.sub(rf"\b{other}\b", word, self.text(near))
                    return _OTHER_WAY.format(**names, other=other, near=other_way, value=other)
        match self.loops, self.keys:
            case [ast.For(target=target, iter=items)], [key] if isinstance(self._made_of(key), ast.Call):
                key = self._made_of(key)
                if plain_names(key) & plain_names(target) and isinstance(self.value, ast.Name | ast.Tuple):
                    found = {"other": self.scope.segment(target), "near": self.text(items), "key": self.text(key)}
                    return _SEARCHED.format(**{**names, **found}, value=self.text(self.value))
        return None

    def _made_of(self, key: ast.expr) -> ast.expr:
        """Return what a key is made of in the round: `f"{a}-{b}"` of `key`."""
        for one in (one for loop in self.loops for one in getattr(loop, "body", ())):
            match one, key:
                case ast.Assign(targets=[ast.Name(id=name)], value=made), ast.Name(id=word) if name == word:
                    return made
        return key

    def _body(self, words: set[str], targets: set[str]) -> list[str] | None:
        """Return the lines that work a value out of its key alone; None where it needs more of the round, or others."""
        made, needed, body = list[ast.expr](), plain_names(self.value), list[ast.stmt]()
        made.append(self.value)
        for one in reversed([one for loop in self.loops for one in getattr(loop, "body", ())]):
            if (one.end_lineno or one.lineno) >= self.statement.lineno:
                continue
            bound = plain_names(*one.targets) if isinstance(one, ast.Assign) else set[str]()
            if isinstance(one, ast.Assign) and bound & needed:
                if bound & plain_names(one.value):
                    return None  # it goes on from round to round
                body.insert(0, one)
                needed = needed | plain_names(one.value)
                made.append(one.value)
        inside = [node for loop in self.loops for node in _inside(loop, self.scope)]
        changed = {name for one in inside if isinstance(one, ast.AugAssign) for name in plain_names(one.target)}
        calls = [one for part in made for one in walk(part) if isinstance(one, ast.Call)]
        works = any(
            isinstance(one, ast.Call | ast.BinOp | ast.ListComp) and plain_names(one) & words
            for part in made
            for one in walk(part)
        )
        if not works or needed & (targets - words) or needed & changed:
            return None
        if any(_CHANCE.search(last_name(one.func)) for one in calls) or len(body) > _LONGEST_BODY:
            return None
        return [line for one in body for line in lines_of(one, self.scope).split("\n")]

    def _is_read_there(self) -> bool:
        """Whether the loops read the table that they fill: each entry is made of others."""
        own = set(walk(self.statement)) - set(walk(self.value))
        nodes = [node for loop in self.loops for node in _inside(loop, self.scope)]
        return any(
            isinstance(one, ast.Name | ast.Attribute) and one not in own and container_name(one) == self.name
            for one in nodes
        )


def tables(stores: Sequence[Store]) -> Iterator[Table]:
    """Yield what these statements put into tables under keys."""
    for store in stores:
        scope, at = store.scope, store.statement
        loops = tuple(one for one in reversed(scope.loops_around(at)) if isinstance(one, ast.For))
        match at:
            case ast.Assign(targets=[ast.Subscript(value=owner, slice=key)], value=value):
                keys: tuple[ast.expr, ...] = (key,)
                if isinstance(owner, ast.Subscript) and container_name(owner.value) == store.container:
                    keys = (owner.slice, key)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="setdefault"), args=[key, value])):
                keys = (key,)
            case _:
                continue
        if loops and not any(isinstance(one, ast.Slice) for one in keys):
            yield from _inner(Table(store.container, scope, at, keys, value, loops))


def made_table(statement: ast.stmt, scope: Scope) -> Iterator[Table]:
    """Yield the table that a comprehension makes: `{word: near(word) for word in words}`."""
    match statement:
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute() as target], value=ast.DictComp(key=key, value=value, generators=loops)
        ):
            yield from _inner(Table(container_name(target), scope, statement, (key,), value, tuple(loops)))


def _inner(table: Table) -> Iterator[Table]:
    """Yield a table; where its entries are made as tables by a comprehension, what is in those."""
    match table.value:
        case ast.DictComp(key=key, value=value, generators=loops):
            yield table._replace(keys=(*table.keys, key), value=value, loops=(*table.loops, *loops))
        case _:
            yield table


def _names(key: ast.expr) -> list[str]:
    """Return the names in a key in their order."""
    return list(
        dict.fromkeys(one.id for one in walk(key) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
    )


def _inside(loop: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    yield from scope.inside(loop) if isinstance(loop, ast.stmt) else walk(loop)
