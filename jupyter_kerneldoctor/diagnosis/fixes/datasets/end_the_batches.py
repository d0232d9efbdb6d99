import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...calls import nodes_at
from ...code.calls import last_name
from ...code.origins import Origins, all_origins
from ...code.trees import walk
from ...edits import import_as, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import grew_in

_OF_KERAS = ("flow", "flow_from_directory", "flow_from_dataframe")
_AROUND = ("enumerate", "tqdm")
_LEAVES = (ast.Break, ast.Return, ast.Raise)
_MAY_END = ("next", "load", "get", "get_nowait", "recv", "read", "readline", "readexactly", "pop", "popleft", "input")
"""What raises an error when there is no more."""
_GEN = "from keras.preprocessing.image import ImageDataGenerator\ngen = ImageDataGenerator().flow(X, y, batch_size=64)"
_KEEP = "for x, y in {}:\n    xs.append(x)"
_OWN = "def rows():\n    while True:\n        for x in data:\n            yield x"


class EndTheBatches(Fix):
    """Take as many batches as there are: the generator never ends.

    What it does: Generators that are made to be trained on begin again after the last batch: those of Keras's
    `ImageDataGenerator`, a `tf.data` pipeline with `repeat()`, a function with `while True: ... yield`. A loop over one
    of them ends only by itself. The edit takes `len(generator)` batches, which is each row once.

    When it is offered: Memory grew in a loop over such a generator which nothing leaves. It is an edit where the
    generator is one of Keras, which knows how many batches it has.

    What it costs: Nothing: with `shuffle` the order of the rows is another one each time, as it was before.
    """

    id, title = "end-the-batches", "End the loop after the last batch: the generator never ends"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _GEN,
            _KEEP.format("gen"),
            becomes="from itertools import islice\n" + _KEEP.format("islice(gen, len(gen))"),
            says=("begins again",),
        ),
        Case(
            _GEN + "\ndef collect(batches):\n    return [x for x, y in batches]",
            "X = collect(gen)",
            becomes={
                1: "from itertools import islice\n" + _GEN + "\ndef collect(batches):\n"
                "    return [x for x, y in islice(batches, len(batches))]"
            },
        ),
        Case(
            "from keras.preprocessing.image import ImageDataGenerator\nmore = ImageDataGenerator()\ngen = more.flow(X)",
            "xs = [x for x in gen]",
            becomes="from itertools import islice\nxs = [x for x in islice(gen, len(gen))]",
        ),
        Case(
            "import tensorflow as tf\nds = tf.data.Dataset.range(9).repeat().batch(3)",
            "for x in ds: kept.append(x)",
            says=("for x in ds.take(100):",),
        ),
        Case(
            _GEN,
            _KEEP.format("source.flow(X, y, batch_size=32)"),
            says=("batches = source.flow(X, y, batch_size=32)", "islice(batches, len(batches))"),
        ),
        Case(
            "import tensorflow as tf\ndef load(x, n):\n    ds = tf.data.Dataset.from_tensor_slices(x)\n"
            "    return ds.repeat().batch(n)",
            "p = model.predict(load(x, 32), verbose=0)",
            says=("model.predict(load(x, 32), verbose=0, steps=n)", "asks for all of it"),
        ),
        Case(_OWN, "for i, x in enumerate(rows()):\n    kept.append(x)", says=("islice(rows(), 100)",)),
    ]
    SILENT = [
        Case(_GEN, _KEEP.format("gen") + "\n    if len(xs) == len(gen): break"),
        Case(_GEN, _KEEP.format("zip(range(9), gen)")),
        Case("gen = flow(X)", _KEEP.format("gen")),
        Case("import tensorflow as tf\nds = tf.data.Dataset.range(9).repeat(2)", "for x in ds: kept.append(x)"),
        Case("import tensorflow as tf\nds = tf.data.Dataset.range(9).repeat().take(9)", "for x in ds: kept.append(x)"),
        Case(_OWN + "\n            if stop: return", "for x in rows(): kept.append(x)"),
        Case(
            "import tensorflow as tf\nds = tf.data.Dataset.range(9).repeat().batch(3)",
            "p = model.predict(ds, steps=3)",
        ),
        Case(_GEN, "big = [0] * 10**10\n" + _KEEP.format("gen"), line=1),
        Case(  # also a list of batches is given to it, which has no more
            _GEN + "\ndef collect(batches):\n    return [x for x, y in batches]\nfew = collect(read())",
            "X = collect(gen)",
        ),
        Case(  # it ends with an error at the end of the file
            "def rows(file):\n    while True:\n        yield pickle.load(file)", "for x in rows(f): kept.append(x)"
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        yield from _predicted(death)
        for one in _endless(death) if death.memory.grew_here else ():
            scope, given = one.scope, one.scope.segment(one.given)
            ends = "has no end" if one.snippet is _SOME else "begins again after its last batch"
            why = f"{quote(given)} {ends}, so the loop over it never ends, and what it keeps of each round adds up."
            if one.snippet:
                snippet = one.snippet.format(given=given, targets=one.targets)
                yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
            else:
                name, imported = import_as(scope, death.code, "itertools.islice", "islice")
                edits = imported + replace(scope, one.given, f"{name}({given}, len({given}))")
                why += f" {quote(f'len({given})')} batches are each row once."
                yield Proposal(edits, why, death.memory.missing_bytes)
            return


def _predicted(death: Death) -> Proposals:
    """Tell of a prediction for a pipeline that repeats without end, which Keras goes through to its end."""
    for node, scope in nodes_at(death, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="predict"), args=[given, *_], keywords=words):
                is_counted = any(word.arg in ("steps", None) for word in words)
                if is_counted or not _without_end(given, scope, death) or not death.code.imports("tensorflow"):
                    continue
                text, data = scope.segment(node), quote(scope.segment(given))
                why = f"{data} begins again after its last batch, and {quote(text)} asks for all of it."
                title = "Say how many batches to predict: the data set repeats without end"
                snippet = f"n = len(x) // batch_size + 1  # x: what {data.strip('`')} is made of\n{text[:-1]}, steps=n)"
                snippet += "\n# or make it without .repeat() for predictions: that is for training only"
                yield Proposal((), why, death.memory.missing_bytes, title, snippet)
                return


class _Endless(NamedTuple):
    """What a loop goes through that does not end."""

    given: ast.expr
    scope: Scope
    targets: str
    snippet: str
    """What to write in place of it; "" where it knows its length."""


def _endless(death: Death) -> Iterator[_Endless]:
    """Yield what the loops that memory grew in go through, where that does not end and nothing leaves the loop."""
    for scope in death.code.running:
        for node in scope.nodes:
            match node:
                case ast.For(iter=given, target=target):
                    leaves = any(isinstance(one, _LEAVES) for one in scope.inside(node))
                    grew = grew_in(death, node, scope)
                case ast.ListComp(generators=[ast.comprehension(iter=given, target=target)]):
                    leaves, grew = False, grew_in(death, node, scope)
                case _:
                    continue
            match given:
                case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in _AROUND:
                    given = inner
                    target = target.elts[-1] if name == "enumerate" and isinstance(target, ast.Tuple) else target
            if not leaves and grew is not False and (snippet := _without_end(given, scope, death)) is not None:
                yield _Endless(given, scope, scope.segment(target), snippet)


def _without_end(given: ast.expr, scope: Scope, death: Death) -> str | None:
    """Return what to write in place of what never ends, "" where it knows its length; None for what may end."""
    code = death.code
    if isinstance(given, ast.Call) and (function := Origins(code).called(given.func, scope)) is not None:
        outer = [one for one in function.body if isinstance(one, ast.While)]
        forever = [one for one in outer if isinstance(one.test, ast.Constant) and one.test.value]
        inside = [part for one in forever for part in walk(one)]
        if any(isinstance(one, ast.Yield) for one in inside):
            ends = any(isinstance(one, ast.Call) and last_name(one.func) in _MAY_END for one in inside)
            return _SOME if not ends and not any(isinstance(one, _LEAVES) for one in inside) else None
    made = [one.node for one in all_origins(given, scope, code)]
    for one in made:
        match one:
            case ast.Call(func=ast.Attribute(attr="take")):
                return None
            case ast.Call(func=ast.Attribute(attr="repeat"), args=[], keywords=[]) if code.imports("tensorflow"):
                return "for {targets} in {given}.take(100):  # so many batches\n    ..."
            case ast.Call(func=ast.Attribute(attr=name)) if name in _OF_KERAS:
                of_keras = any(map(code.imports, ("keras", "tensorflow"))) and _are_all_of_keras(given, scope, death)
                return None if not of_keras else "" if isinstance(given, ast.Name | ast.Attribute) else _COUNTED
    return None


def _are_all_of_keras(given: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a name stands for such generators only: a function may be given a list, too."""
    found = list(all_origins(given, scope, death.code))
    made = [(one, where) for one, where in found if isinstance(one, ast.Call) and last_name(one.func) in _OF_KERAS]
    owners = [(one.func.value, where) for one, where in made if isinstance(one.func, ast.Attribute)]
    behind = {one.node for owner in owners for one in all_origins(*owner, death.code)}
    known = behind | {one for one, _ in made}
    return all(isinstance(one, ast.Name | ast.Attribute) or one in known for one, _ in found)


_COUNTED = (
    "from itertools import islice\n\nbatches = {given}\n"
    "for {targets} in islice(batches, len(batches)):  # each row once; more for more variants of it\n    ..."
)
_SOME = "from itertools import islice\n\nfor {targets} in islice({given}, 100):  # so many items\n    ..."
