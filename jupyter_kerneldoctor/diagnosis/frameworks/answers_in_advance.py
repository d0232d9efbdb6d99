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
    "def answer({words}):  # worked out when it is asked for, in place of {asked}\n{body}    return {value}"
)
_WANTED = "  # or a table of those only that can be asked"
_OTHER_WAY = (
    "from functools import lru_cache\n\n@lru_cache(maxsize={newest})  # keeps the newest answers\n"
    "def answer({words}):  # worked out when it is asked for, in place of {asked}\n"
    "    for {other} in {near}:  # where it goes both ways, as one edit of a word does\n"
    "        if {other} in known:  # known: a set of each {other} that the loop goes through\n"
    "            return {value}\n    return None"
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

    @property
    def is_list(self) -> bool:
        """Whether it is a list, in which the number of a round is the key."""
        return any(isinstance(one.ctx, ast.Store) for one in self.keys if isinstance(one, ast.Name))

    def answered(self, uses: Sequence[Use], newest: str) -> str | None:
        """Return the function that gives one answer when it is asked; None where it cannot, or all are gone through."""
        kinds = {one.kind for one in uses}
        if not kinds <= _LOOKUPS or not kinds & {"entry", "in"} or self._is_read_there():
            return None
        if self.is_list and ("in" in kinds or any(one.scope.function == "__getitem__" for one in uses)):
            return None  # a data set reads all of them
        targets = plain_names(*(one.target for one in self.loops))
        words = [name for key in self.keys for name in _names(self._made_of(key)) if name in targets]
        if not words or len({*words}) < len(words):
            return None
        names = {
            "newest": newest,
            "words": ", ".join(words),
            "asked": self.name + "".join(f"[{self.text(one)}]" for one in self.keys),
            "key": self.text(self.keys[-1]),
        }
        wanted = self._of_the_wanted()
        if (body := self._body(set(words), targets)) is not None:
            code = _ANSWER.format(**names, body="".join(f"    {one}\n" for one in body), value=self.text(self.value))
            return self._names_of_the_function(words) + code + ("" if self.is_list else wanted)
        if self.is_list:
            return None
        match self.loops[-2:], self.value:
            case [outer, ast.For(target=ast.Name(id=word), iter=ast.Call() as near)], ast.Name(id=other):
                if [word] == words and plain_names(outer.target) & plain_names(near) == {other}:
                    other_way = re.sub(rf"\b{other}\b", word, self.text(near))
                    return _OTHER_WAY.format(**names, other=other, near=other_way, value=other) + wanted
        match self.loops, self.keys:
            case [ast.For(target=target, iter=items)], [key] if isinstance(self._made_of(key), ast.Call):
                key = self._made_of(key)
                if plain_names(key) & plain_names(target) and isinstance(self.value, ast.Name | ast.Tuple):
                    found = {"other": self.scope.segment(target), "near": self.text(items), "key": self.text(key)}
                    found["store"] = self._first_line
                    return _SEARCHED.format(**{**names, **found}, value=self.text(self.value))
        return None

    def _of_the_wanted(self) -> str:
        """Return the table, as it is made of the keys only that can be asked."""
        outer = tuple(one for one in self.loops if isinstance(one, ast.For)) or self.loops[:1]
        known = {name for one in outer for each in (one, *getattr(one, "body", ())) for name in _targets(each)}
        key = self.text(next((one for one in reversed(self.keys) if plain_names(one) & known), self.keys[0]))
        match self.statement:
            case ast.Assign(value=ast.DictComp(generators=[first, *_]) as made) if first is self.loops[0]:
                return f"\n\n{self.name} = {self.text(made)[:-1]} if {key} in wanted}}{_WANTED}"
        return f"\n\nif {key} in wanted:{_WANTED}\n    {self._first_line}"

    @property
    def _first_line(self) -> str:
        return self.scope.segment(self.statement).split("\n")[0]

    def _names_of_the_function(self, words: Sequence[str]) -> str:
        """Return a line that says which names of the function stand in what is worked out."""
        parts = (self.value, *(one for loop in self.loops for one in getattr(loop, "body", ())))
        used = {name for one in parts for name in plain_names(one)} - {*words, self.name.partition(".")[0]}
        own = [one for one in self.scope.parameters if one in used]
        return f"# {', '.join(own)}: as in {self.scope.function}\n" if own else ""

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
            bound = _bound(one.targets) if isinstance(one, ast.Assign) else set[str]()
            if isinstance(one, ast.Assign) and bound & needed:
                if bound & plain_names(one.value):
                    return None  # it goes on from round to round
                body.insert(0, one)
                needed = needed | plain_names(one.value)
                made.append(one.value)
        changed = {name for loop in self.loops for one in _inside(loop, self.scope) for name in _changed(one, body)}
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
            case _ if (number := _number(loops[-1:])) is not None and len(store.values) == 1 and store.adds_items:
                if at not in loops[-1].body or any(isinstance(one, ast.Continue) for one in scope.inside(loops[-1])):
                    continue  # some rounds add nothing
                keys, value = (number,), store.values[0]  # a list, by the number of the round
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
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.ListComp(elt=value) as made):
            if (number := _number(made.generators)) is not None:
                table = Table(container_name(target), scope, statement, (number,), value, tuple(made.generators))
                yield from _inner(table)


def _inner(table: Table) -> Iterator[Table]:
    """Yield a table; where its entries are made as tables by a comprehension, what is in those."""
    match table.value:
        case ast.DictComp(key=key, value=value, generators=loops):
            yield table._replace(keys=(*table.keys, key), value=value, loops=(*table.loops, *loops))
        case ast.ListComp(elt=value, generators=loops) if (number := _number(loops)) is not None:
            yield table._replace(keys=(*table.keys, number), value=value, loops=(*table.loops, *loops))
        case _:
            yield table


def _number(loops: Sequence[ast.For | ast.comprehension]) -> ast.Name | None:
    """Return what counts the rounds from 0, which is the index of what a round adds to a list; None without it."""
    match loops:
        case [ast.For() | ast.comprehension() as loop] if not getattr(loop, "ifs", ()):
            match loop.target, loop.iter:
                case ast.Name() as number, ast.Call(func=ast.Name(id="range"), args=[_]):
                    return number
    return None


def _targets(node: ast.AST) -> set[str]:
    match node:
        case ast.For(target=target) | ast.comprehension(target=target) | ast.Assign(targets=[target]):
            return plain_names(target)
    return set()


def _changed(node: ast.AST, but: Sequence[ast.stmt]) -> set[str]:
    """Return the names that a statement of a round gives a value, or changes: `row.append(x)`, `row[i] = x`."""
    match node:
        case ast.Assign(targets=targets) if node not in but:
            return _bound(targets)
        case ast.AugAssign(target=target):
            return _bound([target])
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return {name}
    return set()


def _bound(targets: Sequence[ast.expr]) -> set[str]:
    """Return the names that targets bind, or change a part of: not those of an index."""
    parts = [part for one in targets for part in getattr(one, "elts", [one])]
    return {container_name(one) for one in parts} - {""}


def _names(key: ast.expr) -> list[str]:
    """Return the names in a key in their order."""
    return list(dict.fromkeys(one.id for one in walk(key) if isinstance(one, ast.Name)))


def _inside(loop: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    yield from scope.inside(loop) if isinstance(loop, ast.stmt) else walk(loop)
