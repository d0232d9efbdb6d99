"""How many batches the workers of a loader make in advance: `max_queue_size` of Keras, `prefetch_factor` of PyTorch."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from .keras import is_used, written_number
from .loaders import LOADERS

_KERAS, _TORCH = "max_queue_size", "prefetch_factor"
_TAKERS = ("fit", "fit_generator", "evaluate", "evaluate_generator", "predict", "predict_generator", "dict", "__init__")
_MANY = 32  # what a network keeps of a batch is some tens of times the batch
_OF_BATCHES = ("PyDataset", "Sequence")


class BatchQueue(NamedTuple):
    """A place where it is written how many batches wait to be taken."""

    word: str
    """`max_queue_size`, or `prefetch_factor`: of each worker."""
    number: int
    workers: int | None
    node: ast.expr
    """The number, or the name that stands for it there."""
    scope: Scope

    @property
    def batches(self) -> int:
        """How many may be ready."""
        return self.number * (self.workers or 1 if self.word == _TORCH else 1)


def batch_queues(code: Notebook) -> Iterator[BatchQueue]:
    """Yield what the cells say about such queues, newest cell first."""
    for word in (*([_KERAS] if is_used(code) else ()), *([_TORCH] if code.imports("torch") else ())):
        for scope in code.scopes_mentioning(word):
            for node in scope.nodes:
                match node:
                    case ast.Call(keywords=given) if _takes(word, node, scope, code):
                        entries = {one.arg: one.value for one in given}
                    case ast.Dict(keys=keys, values=values):
                        entries = {getattr(key, "value", None): one for key, one in zip(keys, values, strict=True)}
                    case _:
                        continue
                found = written_number(entries.get(word), scope, code)
                if found is None:
                    continue
                workers = entries.get("num_workers" if word == _TORCH else "workers")
                known = None if workers is None else Origins(code).number(workers, scope)
                given_as, where = entries[word], scope
                if isinstance(given_as, ast.Name) and given_as.id in scope.parameters:
                    given_as, where = found[1:]
                yield BatchQueue(word, found[0], None if known is None else known[0], given_as, where)


def hold_many_batches(code: Notebook) -> bool:
    """Whether so many batches may wait that a step is little to them."""
    return any(one.batches >= _MANY for one in batch_queues(code))


def _takes(word: str, call: ast.Call, scope: Scope, code: Notebook) -> bool:
    """Whether a call is one that such a number is for, or makes a dict of arguments."""
    if word == _TORCH:
        return last_name(call.func) == "dict" or code.qualified(call.func, scope) in LOADERS
    if last_name(call.func) in _TAKERS:
        return True
    made = code.definition(call.func, scope)
    bases = [] if made is None else [base for _, one in code.with_bases(made) for base in one.bases]
    return any(last_name(base) in _OF_BATCHES for base in bases)
