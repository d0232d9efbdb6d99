"""What an entry is: calls that make too much, what is wrong with them, and a snippet that makes less.

`calls` are full names, `networkx.*` for all of a package; or `.fetchall`, any method of that name, `.*`, any method
that no rule has a full name for, or `.()`, any object that is called. A snippet may name
`{owner}` (what a method is called on, or the object), `{table}` (where that begins), `{column}` (without `.str`),
`{function}` (what is called), `{a0}`, `{a1}` (the call's first arguments as they are written), `{of0}`, `{of1}` (the
same, so that a slice can follow), `{to}` (the name that the result gets), `{step}` (how many rows at a time), and what
the entry's test gives.

Where `one_by_one` names something that the test did not give, there is only the snippet.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

from ..calls import CLASSES, calls_at, is_own
from ..case import Case
from ..code.calls import given_to, last_name
from ..code.notebook import Call
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.trees import walk
from ..death import Death
from ..edits import Changes
from ..fix import Proposal
from ..frameworks.gone_through_once import instead_of_list, is_gone_through_once
from ..place import grew_in
from ..units import quote
from .imported import with_imports

Test: TypeAlias = Callable[[Call, Death], bool | Mapping[str, str]]
"""Whether an entry is about a call; and, where it is, what more its snippet may name."""

_LONGEST = 50
_LONGEST_LINE = 160
_STAND_INS = {
    "a0": "data",
    "of0": "data",
    "a1": "other",
    "of1": "other",
    "function": "f",
    "owner": "table",
    "column": "column",
    "table": "table",
}
"""Names in a snippet for what is not written, or too long: lines above it say what they stand for."""
_PARTS = 8  # of the missing memory: what is smaller, with some copies of it, does not explain that
_COPIES = ("numpy.sort", "numpy.argsort", "numpy.unique", "numpy.median", "numpy.percentile", "numpy.quantile")
"""What takes about as much memory as it is given."""
_FOR_THREADS = ("map", "submit", "imap", "imap_unordered", "starmap")
"""Methods of pools of threads: what a thread runs has none of the kernel's own calls on its stack."""


class LesserWay(NamedTuple):
    """What a function makes too much of, and another way."""

    calls: tuple[str, ...]
    title: str
    makes: str
    """What is wrong with the call, as a sentence that follows it."""
    snippet: str
    example: Case | None = None
    """In which it is proposed, by its title; None: in a call of the first of its functions."""
    fits: Test = lambda _call, _death: True
    one_by_one: str = ""
    """What gives the same items one after the other: the edit where all that is done with them is go through them."""
    silent: tuple[Case | str, ...] = ()
    """In which it is not; a text is another last cell of its example."""

    @property
    def shown(self) -> Case:
        """Its example."""
        name = self.calls[0]
        return self.example or Case(f"import {name.partition('.')[0]}", f"result = {name}(data)")


def examples(ways: Iterable[LesserWay]) -> list[Case]:
    """Return the examples of entries. Each is answered by its own entry, not by another about the same call."""
    return [way.shown.saying(way.title) for way in ways]


def counterexamples(ways: Iterable[LesserWay]) -> list[Case]:
    """Return the cases in which entries are not proposed."""
    return [Case(*way.shown.cells[:-1], one) if isinstance(one, str) else one for way in ways for one in way.silent]


def first_running(
    ways: Iterable[LesserWay], death: Death, only_in: Scope | None = None, within: ast.stmt | None = None
) -> Iterator[Proposal]:
    """Propose the first entry of which a call was running, where the cell took the memory.

    Only calls in a scope or in a statement are looked at, where one is given.
    """
    if not death.is_of_this_cell:
        return
    given = {node for scope in death.code.running for node in _given_to_running(scope, death)}

    def may_be_it(call: Call) -> bool:
        is_within = call.scope is (only_in or call.scope) and call.statement is (within or call.statement)
        is_running = is_within and call.node not in given
        return is_running and not _is_too_small(call, death) and _took_memory(call, death)

    by_name, by_word = ({of: [*filter(may_be_it, them)] for of, them in one.items()} for one in _running_calls(death))
    words = {name.rpartition(".")[2] for name in by_name} | by_word.keys() | _called_methods(death)
    for way in ways:
        if (last_words := _last_words(way.calls)) and last_words.isdisjoint(words):
            continue
        found = [call for name in way.calls if not name.startswith(".") for call in _named(name, by_name)]
        of_classes = [name for name in way.calls if name.rpartition(".")[0] in CLASSES]
        found += filter(may_be_it, calls_at(death, *of_classes) if of_classes else ())
        found += [call for name in way.calls if name.startswith(".") for call in _methods(name[1:], by_word)]
        for call, named in _fitting(way, found, death):
            edits, why = _one_by_one(way, call, named, death), f"{quote(call.text)} {way.makes}"
            why += " The items can be gone through once then." if edits else ""
            text = _stand_ins(way.snippet, call) + way.snippet.format(**named)
            snippet = None if edits else with_imports(text, death)
            yield Proposal(edits, why, death.memory.missing_bytes, way.title, snippet)
            return


@cache
def _last_words(names: tuple[str, ...]) -> frozenset[str]:
    """Return the last word of each name in an entry, most of which no cell has; no words where one is a pattern."""
    words = frozenset(name.rpartition(".")[2] for name in names)
    return frozenset() if any("*" in word for word in words) else words


def _called_methods(death: Death) -> set[str]:
    """Return the names of all methods that are called in what may have run."""
    nodes = (node for scope in death.code.running for node in scope.calls)
    return {node.func.attr for node in nodes if isinstance(node.func, ast.Attribute)}


def _one_by_one(way: LesserWay, call: Call, named: Mapping[str, str], death: Death) -> Changes:
    """Return the edit that takes one item after the other; none where more is done with them, or they are kept."""
    try:
        text = way.one_by_one.format(**named)
    except KeyError:
        return ()
    if not text or not is_gone_through_once(call.node, call.scope, death.code):
        return ()
    return instead_of_list(call.node, call.scope, text)


def _running_calls(death: Death) -> tuple[dict[str, list[Call]], dict[str, list[Call]]]:
    """Return the calls that may have been running, by the full name of the function, and by that of the method."""
    by_name: dict[str, list[Call]] = {}
    by_word: dict[str, list[Call]] = {}
    for node, scope in death.code.running.nodes(ast.Call):
        if death.was_running(node, scope):
            name = death.code.qualified(node.func, scope)
            if name is not None and (death.is_of_this_cell or not death.is_about_memory):
                by_name.setdefault(name, []).append(Call(node, scope, name))
            for word in _called(node) if death.is_of_this_cell else ():
                by_word.setdefault(word, []).append(Call(node, scope, f".{word}"))
    return by_name, by_word


def _given_to_running(scope: Scope, death: Death) -> set[ast.AST]:
    """Return what was worked out before the user's function that was running, as it is given to that."""
    frames = [one.frame.function.rpartition(".")[2] for one in death.user_frames[:-1] if not one.is_cell]
    called = [one for one in scope.calls if last_name(one.func) in frames and death.was_running(one, scope)]
    own = [one for one in called if is_own(one.func, scope, death)]
    words = map(given_to, own)
    return {inner for given in words for one in given for inner in walk(one)}


def _named(name: str, by_name: Mapping[str, list[Call]]) -> Iterable[Call]:
    if not name.endswith("*"):
        return by_name.get(name, ())
    return [call for known, calls in by_name.items() if known.startswith(name[:-1]) for call in calls]


def _methods(word: str, by_word: Mapping[str, list[Call]]) -> Iterable[Call]:
    return by_word.get(word, ()) if word != "*" else [call for calls in by_word.values() for call in calls]


def _fitting(way: LesserWay, calls: Iterable[Call], death: Death) -> Iterator[tuple[Call, dict[str, str]]]:
    """Yield the calls that an entry is about, and what its texts name."""
    for call in calls:
        if (told := way.fits(call, death)) is not False:
            yield call, {**names(call), "step": _step(call, death), **({} if told is True else told)}


def _took_memory(call: Call, death: Death) -> bool:
    """Whether memory may have grown in a call, or in the user's function that it is given for threads to run."""
    if grew_in(death, call.node, call.scope) is not False:
        return True
    given = call.node.args[:1] if last_name(call.node.func) in _FOR_THREADS else []
    functions = (Origins(death.code).called(one, call.scope) for one in given)
    nodes = ((one.node, one) for one in functions if one is not None)
    return any(isinstance(node, ast.FunctionDef) and grew_in(death, node, scope) for node, scope in nodes)


def _step(call: Call, death: Death) -> str:
    """Return how many rows a loop takes at a time: 1,000, and at most a tenth where it is known how many there are."""
    value = death.values.of(call.node.args[0], call.scope) if call.node.args else None
    rows = 10_000 if value is None or value.rows is None else value.rows
    return str(max(1, min(1000, rows // 10)))


def _is_too_small(call: Call, death: Death) -> bool:
    """Whether neither what the call is given nor what it gives can explain the missing memory, as far as is known."""
    if call.name == "pandas.concat":
        return False  # parts with other columns or labels make far more than they are
    parts = call.node.args if call.name in _COPIES else [call.node, *call.node.args]
    values = [death.values.of(one, call.scope) for one in parts]
    known = [one.bytes for one in values if one is not None and one.bytes is not None]
    return bool(known) and len(known) == len(values) and max(known) < (death.memory.missing_bytes or 0) // _PARTS


def _called(node: ast.Call) -> tuple[str, ...]:
    """Return the method that is called, "()" for an object, and both where an attribute of `self` may be either."""
    match node.func:
        case ast.Attribute(attr=method, value=ast.Name(id="self")):
            return method, "()"
        case ast.Attribute(attr=method):
            return (method,)
    return ("()",)


def _texts(call: Call) -> dict[str, str]:
    """Return what is written of a call, in one line each."""
    segment, function = call.scope.segment, call.node.func
    owner = segment(called_object(call))
    written = [one for one in call.node.args[:2] if not isinstance(one, ast.Starred)]
    table = owner.split(".")[0].split("[")[0] if not owner.startswith("self.") else owner.split("[")[0]
    owner = segment(function) if call.name.startswith("jax.") else owner
    full = {
        **{f"a{at}": segment(one) for at, one in enumerate(written)},
        **{f"of{at}": call.scope.operand(one) for at, one in enumerate(written)},
        "function": segment(function),
        "owner": owner,
        "column": owner.removesuffix(".str"),
        "table": table,
    }
    return {key: " ".join(text.split()) for key, text in full.items()}


def names(call: Call) -> dict[str, str]:
    """Return what the texts of an entry may name of a call; another name for what is long."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=to)], value=value) if value is call.node:
            pass
        case _:
            to = "result"
    return {**_STAND_INS, "to": to, **{key: _short(text, _STAND_INS[key]) for key, text in _texts(call).items()}}


def _stand_ins(snippet: str, call: Call) -> str:
    """Return the lines that say what the other names in a snippet stand for."""
    named, lines = names(call), dict[str, str]()
    for key, text in _texts(call).items():
        if f"{{{key}}}" in snippet and named[key] == _STAND_INS[key] and len(text) > _LONGEST:
            is_whole = text.count("(") == text.count(")") and len(text) <= _LONGEST_LINE
            lines[named[key]] = f"{named[key]} = {text if is_whole else '...  # as before'}\n"
    return "".join(lines.values())


def owner_of(call: Call) -> str:
    """Return the whole text of what a method is called on: an edit can name nothing shorter in its place."""
    function = call.node.func
    return call.scope.operand(function.value) if isinstance(function, ast.Attribute) else call.scope.segment(function)


def _short(text: str, other: str) -> str:
    """Return a text, without line breaks, where that is short enough for a snippet; else another name."""
    text = text if text.count("(") == text.count(")") else text.lstrip("( ")  # the beginning of a longer one
    return text if len(text) <= _LONGEST and text else other


def called_object(call: Call) -> ast.expr:
    """Return what a method is called on, or the object that is called: also `self.encode(texts)`."""
    function = call.node.func
    return function.value if isinstance(function, ast.Attribute) and call.name != ".()" else function
