import ast
from collections.abc import Iterator

from ...calls import nodes_at
from ...code.calls import last_name, plain_names
from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_SUFFIXES = "suffixes = []\nfor i in range(len(text)):\n    suffixes.append((text[i:], i))\nsuffixes.sort()"
_KEEPERS = ("append", "add", "sorted", "sort", "list", "set", "tuple", "insort", "setdefault")
_SNIPPET = (
    "starts = sorted(range(len({text})), key=lambda i: {text}[i : i + 100])  # a number for each, no copy of the rest\n"
    "{text}[starts[k] : starts[k] + 50]  # what one of them begins with, when it is asked for\n\n"
    "import bisect\n\n"
    "first = bisect.bisect_left(starts, word, key=lambda i: {text}[i : i + len(word)])  # where a word is\n"
    "# keys of 100 compare no further than that; all of a long text: pydivsufsort.divsufsort({text}.encode())"
)


class KeepWhereItBegins(Fix):
    """Keep where each rest of a text begins, not a copy of the rest.

    What it does: `text[i:]` for each `i` copies half the square of the text's length: 50,000 characters are 1.2 GiB.
    The numbers `i` are enough to sort by what comes there and to look it up.

    When it is offered: Memory ran out where all rests of a text or a list were made, or all its rotations.

    What it costs: Sorting by the first hundred characters leaves those in any order that are the same for longer.
    """

    id, title = "keep-where-it-begins", "Keep where each begins, not a copy of the rest: sort positions by key"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(_SUFFIXES, line=3, says=("sorted(range(len(text)),", "bisect.bisect_left(starts, word")),
        Case(
            "class All:\n    def __init__(self, text):\n        self.all = sorted(text[i:] for i in range(len(text)))",
            "every = All(load())",
        ),
        Case("order = sorted(range(len(s)), key=lambda i: s[i:] + s[:i])"),
    ]
    SILENT = [
        Case(_SUFFIXES.replace("text[i:]", "text[i : i + 9]"), line=3),
        Case("rows = []\nfor i in range(len(text)):\n    rows.append(text[5:])", line=3),
        Case("import numpy as np\nx = np.ones(9)", "views = [x[i:] for i in range(len(x))]"),
        Case("def f(text):\n    return [f(text[i:]) for i in range(len(text))]", "f(load())"),
        Case(_SUFFIXES + "\nbig = [0] * 10**10", line=5),
    ]

    def propose(self, death: Death) -> Proposals:
        inner = ((one, scope) for key, scope in nodes_at(death, ast.Lambda) for one in walk(key))
        for node, scope in (*nodes_at(death, ast.Subscript), *inner):
            if not isinstance(node, ast.Subscript):
                continue
            text = scope.segment(node.value)
            if (
                _is_rest(node, scope)
                and _is_kept(node, scope)
                and not _is_view(node, scope, death)
                and grew_in(death, node, scope) is not False
            ):
                why = f"{quote(scope.segment(node))} copies all of the rest, for each place in {quote(text)}."
                yield Proposal((), why, death.memory.missing_bytes, snippet=_SNIPPET.format(text=text))
                return


def _is_view(node: ast.Subscript, scope: Scope, death: Death) -> bool:
    """Whether it is a part of an array, which is no copy."""
    value = death.values.of(node.value, scope)
    return value is not None and bool(value.shape)


def _is_rest(node: ast.Subscript, scope: Scope) -> bool:
    """Whether it is what follows a place that a loop, a comprehension or the key of a sort goes through."""
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Slice(ast.Name(id=at), None, None)):
            return at in {name for one in _places(node, scope) for name in one}
    return False


def _is_kept(node: ast.Subscript, scope: Scope) -> bool:
    """Whether it is put into a list or sorted by as it is, not only asked for something or handed to a function."""
    for one in walk(scope.tree.statements[node]):
        is_asked = isinstance(one, ast.Compare) or (isinstance(one, ast.Call) and last_name(one.func) not in _KEEPERS)
        if is_asked and any(inner is node for inner in walk(one)):
            return False
    return True


def _places(node: ast.Subscript, scope: Scope) -> Iterator[set[str]]:
    """Yield the names of places in a sequence: `i` of `range(len(text))`, or of a key that sorts them."""
    length = f"len({scope.segment(node.value)})"
    for one in (*scope.loops_around(node), *scope.inside(scope.tree.statements[node])):
        match one:
            case ast.For(target=target, iter=places) if length in scope.segment(places):
                yield plain_names(target)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                for made in one.generators:
                    yield plain_names(made.target) if length in scope.segment(made.iter) else set()
            case ast.Call(func=ast.Name(id="sorted"), args=[places], keywords=words) if length in scope.segment(places):
                keys = [word.value for word in words if word.arg == "key"]
                yield {inner.arg for key in keys for inner in walk(key) if isinstance(inner, ast.arg)}
