"""Calls of `generate` of a model of Transformers that are given what a tokenizer made of many texts."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..code.notebook import Call, Notebook
from ..code.origins import Origins, all_origins
from ..code.scopes import Scope
from ..code.trees import walk

_LISTS = frozenset({"batch_decode", "tolist"})


@dataclass(frozen=True)
class Generation:
    """One call, and where its texts come from."""

    call: ast.Call
    scope: Scope
    model: str
    tokenizer: str
    texts: ast.expr
    """What the tokenizer got; where that is the first parameter of a function, what the function got."""
    outer: ast.Call | None
    """The call of that function."""
    caller: Scope
    """Where `texts` stands."""
    is_list: bool
    """Whether the function gives back a list, with an item for each text."""


def generations(code: Notebook) -> Iterator[Generation]:
    """Yield those that no loop repeats."""
    origins = Origins(code)
    for call, scope in code.running.nodes(ast.Call) if code.imports("transformers") else ():
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "generate":
            continue
        model = scope.segment(function.value)
        for tokenizer, texts in () if origins.is_repeated(call, scope) else tokenized(call, scope, code):
            plain = [one for one in scope.parameters if one != "self"]
            is_given = isinstance(texts, ast.Name) and plain[:1] == [texts.id]
            calls = [one for one in origins.calls_of(scope) if one[0].args] if is_given else []
            if not calls:
                yield Generation(call, scope, model, tokenizer, texts, None, scope, is_list=False)
            elif not _is_in_parts(*calls[0]):
                outer, caller = calls[0]
                yield Generation(call, scope, model, tokenizer, outer.args[0], outer, caller, _gives_list(scope))


def tokenized(call: ast.Call, scope: Scope, code: Notebook) -> Iterator[tuple[str, ast.expr]]:
    """Yield the tokenizer that made what a model is given, and the texts that it got."""
    word = Call(call, scope, "generate").argument("input_ids", "inputs", 0)
    spread = [one.value for one in call.keywords if one.arg is None]
    for one in [*spread, *([word] if word is not None else [])]:
        for made, where in all_origins(one, scope, code, parts=True):
            match made:
                case ast.Call(func=function, args=[texts, *_]) if where is scope and not code.qualified(
                    function, scope
                ):
                    yield scope.segment(function).removesuffix(".batch_encode_plus"), texts
                    return


def _is_in_parts(call: ast.Call, scope: Scope) -> bool:
    return any(isinstance(one, ast.ListComp) and call in walk(one) for one in scope.nodes)


def _gives_list(function: Scope) -> bool:
    returned = [one.value for one in function.nodes if isinstance(one, ast.Return)]
    words = [getattr(getattr(one, "func", None), "attr", "") for one in returned]
    made = zip(returned, words, strict=True)
    return bool(returned) and all(word in _LISTS or isinstance(one, ast.ListComp) for one, word in made)
