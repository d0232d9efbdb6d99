"""Texts made against each regular expression of the package: none takes much longer than another of its length.

`re` holds the interpreter until it is done: a pattern that takes minutes keeps a whole server from answering. The
patterns are found by themselves, in modules and in calls of `re`; for each of their repetitions there are texts in
which it repeats without end, at one place and at many.
"""

import ast
import importlib
import pkgutil
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from support import requires

import jupyter_kerneldoctor
from jupyter_kerneldoctor.sidecar.meters import mappings

try:
    from re import _constants as codes
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as codes
    import sre_parse as parser

pytestmark = requires.linux

SHORT, LONG = 4_000, 20_000
"""How many characters a text has at first, and where that took suspiciously long."""
SUSPICIOUS_S, ENOUGH_S = 0.006, 0.15
"""Of processor time. The square of 20,000 takes longer; what grows with the length takes a hundredth."""

ANYWHERE = {"search", "findall", "finditer", "sub", "subn", "split"}
FROM_ONE_PLACE = {"match", "fullmatch"}
VERBS = ANYWHERE | FROM_ONE_PLACE

BOUNDED = {mappings._OF_INTEREST.pattern, r"(.+?)\1*"}
"""Patterns for the name of a file, and for 200 characters."""


class Found(NamedTuple):
    pattern: str | bytes
    flags: int
    is_anywhere: bool
    """Whether it is looked for at every place of a text."""
    where: str = ""


def modules():
    """Return all modules of the package that have to do with patterns, with their trees."""
    names = [one.name for one in pkgutil.walk_packages(jupyter_kerneldoctor.__path__, "jupyter_kerneldoctor.")]
    found = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    have = [one for one in found if any(value is re or isinstance(value, re.Pattern) for value in vars(one).values())]
    return [(module, ast.parse(Path(module.__file__).read_text(encoding="utf-8"))) for module in have]


def texts_in(value, depth=0):
    """Yield the texts and compiled patterns in a value of a module, also in tables and dataclasses."""
    if isinstance(value, str | bytes | re.Pattern):
        yield value
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        yield from texts_in([getattr(value, name) for name in value.__dataclass_fields__], depth)
    elif isinstance(value, dict):
        yield from texts_in([*value, *value.values()], depth)
    elif isinstance(value, tuple | list | set | frozenset) and depth < 5:
        for one in value:
            yield from texts_in(one, depth + 1)


def text_of(node, names):
    """Return the pattern that an expression stands for, with a word where it is only known when it runs."""
    with suppress(Exception):
        return eval(compile(ast.Expression(node), "pattern", "eval"), dict(names))
    match node:
        case ast.JoinedStr(values=parts):
            return "".join(text_of(one, names) or "name" for one in parts)
        case ast.FormattedValue(value=value):
            known = text_of(value, names)
            return known if isinstance(known, str) else "name"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (text_of(left, names) or "name") + (text_of(right, names) or "name")
    return None


def compiled_in(module, used, elsewhere):
    """Yield the compiled patterns of a module, with how its own code, or others', use them."""
    for name, value in vars(module).items():
        verbs = used.get(name) or used[""]
        if not name.startswith("_"):
            verbs = verbs | elsewhere.get(name, set())
        for one in texts_in(value):
            if isinstance(one, re.Pattern):
                yield Found(one.pattern, one.flags, not verbs or bool(verbs & ANYWHERE), name)


def called_in(module, tree):
    """Yield the patterns that functions of `re` are given; of a loop over a table, all texts of the tables there."""
    chained = {id(one.value): one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
    tables = [value for value in vars(module).values() if isinstance(value, tuple | list | dict | frozenset)]
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=verb), args=[given, *_]):
                verb = chained.get(id(node), verb)
                text = text_of(given, vars(module))
                named = re.findall("MULTILINE|DOTALL|IGNORECASE", ast.unparse(node))
                flags = sum(getattr(re, one) for one in {*named})
                known = [text] if text is not None else texts_in(tables)
                if verb in VERBS:
                    yield from (
                        Found(one, flags, verb in ANYWHERE, f"line {node.lineno}") for one in known if is_pattern(one)
                    )


def is_pattern(text):
    """Whether a text is a regular expression with a repetition: without one nothing takes long."""
    with suppress(re.error, TypeError):
        return bool(re.search(r"[*+{]", text)) and bool(re.compile(text))
    return False


def uses(tree):
    """Return which functions of patterns are called on which names, on what a loop goes through, and on others ("")."""
    used, nodes = {"": set()}, [*ast.walk(tree)]
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in VERBS:
            used.setdefault(getattr(node.value, "id", ""), set()).add(node.attr)
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension):
            names = [
                [one.id for one in ast.walk(part) if isinstance(one, ast.Name)] for part in (node.target, node.iter)
            ]
            verbs = {verb for name in names[0] for verb in used.get(name, ())}
            for name in names[1] if verbs else ():
                used.setdefault(name, set()).update(verbs)
    return used


def all_patterns():
    """Return all patterns of the package, each once."""
    found, known = {}, modules()
    used = {module: uses(tree) for module, tree in known}
    elsewhere = {}
    for one in used.values():
        for name, verbs in one.items():
            elsewhere.setdefault(name, set()).update(verbs)
    for module, tree in known:
        where = module.__name__.removeprefix("jupyter_kerneldoctor.")
        for one in (*compiled_in(module, used[module], elsewhere), *called_in(module, tree)):
            found[one[:3]] = one._replace(where=f"{where}, {one.where}")
    return [one for one in found.values() if one.pattern not in BOUNDED]


CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
ATOMIC = getattr(codes, "ATOMIC_GROUP", None)
REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, getattr(codes, "POSSESSIVE_REPEAT", None)}
KINDS = {codes.IN, codes.ANY, codes.NOT_LITERAL}
ALPHABET = "a0 _.\n\t-/'\"([{)]}=,:;<>#%!$@\\|+*&^~`ZéE\r\0"


def accepts(op, argument, character):
    """Whether a part of a pattern that stands for one character stands for this one."""
    match op:
        case codes.LITERAL:
            return ord(character) == argument
        case codes.NOT_LITERAL:
            return ord(character) != argument
        case codes.ANY:
            return character != "\n"
        case codes.RANGE:
            return argument[0] <= ord(character) <= argument[1]
        case codes.CATEGORY:
            return re.match(CATEGORIES[argument], character) is not None
        case codes.IN:
            is_other = argument[0][0] is codes.NEGATE
            return any(accepts(*one, character) for one in argument if one[0] is not codes.NEGATE) != is_other
    return False


def below(op, argument):
    """Return the patterns within a part of one."""
    if op in REPEATS:
        return [argument[2]]
    if op is codes.BRANCH:
        return argument[1]
    if op is codes.SUBPATTERN:
        return [argument[3]]
    if op in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    return [argument] if op is ATOMIC else []


class Texts:
    """Texts in which what a pattern repeats is repeated without end."""

    def __init__(self, pattern):
        self.tree = parser.parse(pattern)
        single = [*self._parts(self.tree)]
        literals = {chr(argument) for op, argument in single if op is codes.LITERAL}
        kinds = {}
        for character in (*ALPHABET, *sorted(literals)):
            alike = *(accepts(*one, character) for one in single if one[0] in KINDS), character in literals
            kinds.setdefault(alike, character)
        self.characters = [*kinds.values()]
        """One of each kind that the pattern tells apart."""

    def _parts(self, tree):
        for op, argument in tree:
            yield op, argument
            for one in below(op, argument):
                yield from self._parts(one)

    def samples(self, tree):
        """Return some texts that the pattern may match."""
        texts = [""]
        for op, argument in tree:
            here = [text for one in below(op, argument) for text in self.samples(one)[:6]] or [""]
            if op in REPEATS:
                here = [one * max(argument[0], 1) for one in here]
            elif op is codes.LITERAL:
                here = [chr(argument)]
            elif op in KINDS:
                here = [one for one in self.characters if accepts(op, argument, one)] or ["x"]
            elif op in (codes.ASSERT, codes.ASSERT_NOT):
                here = [""]
            texts = [text + one for one in here[:6] for text in texts][:12]
        return texts

    def repeated(self, tree, before=""):
        """Yield what comes before a repetition, and what is repeated."""
        for op, argument in tree:
            if op in REPEATS and argument[1] > 20:
                yield from ((before, one) for one in self.samples(argument[2]))
            for one in below(op, argument):
                yield from self.repeated(one, before)
            before += self.samples([(op, argument)])[0]

    def hostile(self):
        """Yield how texts begin, and what they repeat, each once."""
        for before, unit in dict.fromkeys(self.repeated(self.tree)):
            ways = {(before, unit), ("", before + unit), ("", before), ("", unit + before)}
            yield from (way for way in sorted(ways) if way[1])


class TooLongError(Exception):
    """It is not over yet."""


def used_s(found, text):
    """Return how long a pattern takes for a text; no more than twice of what is enough is waited for."""

    def stop(*_):
        raise TooLongError

    pattern = re.compile(found.pattern, found.flags)
    if isinstance(pattern.pattern, bytes):
        text = text.encode("latin-1", "replace")
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * ENOUGH_S)
    began = time.thread_time()
    try:
        if found.is_anywhere:
            sum(1 for _ in pattern.finditer(text))
        else:
            pattern.match(text), pattern.fullmatch(text)
    except TooLongError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - began


def is_slow(found, once, again):
    """Whether it takes too long for a text, twice: a busy machine is slow once."""
    short, long = (once + again * (length // len(again)) + "\0" for length in (SHORT, LONG))
    return used_s(found, short) > SUSPICIOUS_S and all(used_s(found, long) > ENOUGH_S for _ in range(2))


@pytest.mark.slow
def test_no_pattern_of_the_package_takes_the_square_of_a_texts_length():
    slow = [(one, text) for one in all_patterns() for text in Texts(one.pattern).hostile() if is_slow(one, *text)]
    assert slow == []


@pytest.mark.parametrize("pattern", ["(a+)+b", r"\s+$", r"(?:\w+\.)*\w*Error"])
def test_patterns_that_do_are_found(pattern):
    found = Found(pattern, 0, is_anywhere=True)
    assert any(is_slow(found, *text) for text in Texts(pattern).hostile())
