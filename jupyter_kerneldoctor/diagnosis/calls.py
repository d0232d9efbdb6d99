"""The calls that may have been running at the death, of functions, of methods, and of what made the objects they use.

calls_at(death, "numpy.zeros", "pandas.DataFrame.merge")
nodes_at(death, ast.BinOp)
makers(death, "sklearn.cluster.DBSCAN")   # DBSCAN(eps=0.5), where `model.fit(X)` was running
"""

import ast
import re
from collections.abc import Iterator
from typing import TypeVar

from .code.notebook import Call, Notebook
from .code.origins import Origins, all_origins
from .code.scopes import Scope
from .death import Death
from .frameworks.evaluation import is_forward
from .frameworks.torch import Kind, Tensors

N = TypeVar("N", bound=ast.expr | ast.stmt)

_METHODS_OF = {
    **dict.fromkeys(("pandas.DataFrame", "pandas.Series", "pandas.Series.str"), ("pandas",)),
    "scipy.sparse": ("scipy", "sklearn"),
}
"""Classes whose methods are found by the object that they are called on, and the packages that make such objects."""

_LAZY = ("resample", "groupby", "rolling", "expanding")
"""Methods of tables that only note what to do."""

_LIBRARIES = ("ctypes.", "cffi.", "numpy.ctypeslib.load_library")
"""What loads a native library whose calls Python cannot check."""

CLASSES = frozenset(_METHODS_OF)

_MOST_STEPS = 8

_RUNS = ("fit", "fit_transform", "fit_predict", "transform", "predict", "predict_proba", "score")
"""Methods that run an estimator of scikit-learn."""

_FITTERS = tuple(
    f"sklearn.model_selection.{name}"
    for name in (
        *("cross_validate", "cross_val_score", "cross_val_predict", "learning_curve", "validation_curve"),
        "permutation_test_score",
    )
)
"""Functions that fit the estimator they are given first to the rows they are given next."""


def calls_at(death: Death, *functions: str) -> Iterator[Call]:
    """Yield the calls of these functions that may have been running at the death, where the cell took the memory."""
    if death.is_about_memory and not death.is_of_this_cell:
        return
    methods = [one for one in functions if one.rpartition(".")[0] in _METHODS_OF]
    for call in (*death.code.running.calls(*functions), *method_calls(death, *methods)):
        if death.was_running(call.node, call.scope) or _works_in_the_next(call, death):
            yield call


def _works_in_the_next(call: Call, death: Death) -> bool:
    """Whether a call does its work in the next one of the chain, which was running: `df.resample("1s").ffill()`."""
    if call.name.rpartition(".")[2] not in _LAZY:
        return False
    for node in call.scope.inside(call.statement):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Subscript(value=inner) | inner)) if inner is call.node:
                return death.was_running(node, call.scope)
    return False


def nodes_at(death: Death, *kinds: type[N]) -> Iterator[tuple[N, Scope]]:
    """Yield the nodes of these kinds that may have been running, with their scope, where the cell took the memory."""
    for scope in death.code.running if death.is_of_this_cell else ():
        for node in scope.nodes:
            if isinstance(node, kinds) and death.was_running(node, scope):
                yield node, scope


def method_calls(death: Death, *names: str) -> Iterator[Call]:
    """Yield the calls, in all that may have run, of methods with these names: `pandas.DataFrame.merge`."""
    methods = {name.rpartition(".")[2]: name for name in names}
    for scope in death.code.running if methods else ():
        for node in scope.calls:
            match node.func:
                case ast.Attribute(attr=method, value=owner) if method in methods:
                    packages = _METHODS_OF[methods[method].rpartition(".")[0]]
                    is_named = death.code.qualified(node.func, scope) is not None or is_own(node.func, scope, death)
                    if not is_named and is_of(packages, owner, scope, death):
                        yield Call(node, scope, methods[method])


def is_own(function: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a cell defines the function or method that is called, whatever library has one of that name."""
    return Origins(death.code).called(function, scope) is not None


def is_of(packages: tuple[str, ...], node: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether an expression stands for an object of these packages: by the code, the recording, or the stack."""
    for one, where in all_origins(node, scope, death.code):
        if isinstance(one, ast.Call) and (name := death.code.qualified(one.func, where)):
            if name.split(".")[0] in packages:
                return True
            if not name.startswith("builtins."):
                return False
        if isinstance(one, ast.Name) and one.id in death.recorded_types:
            return death.recorded_types[one.id].split(".")[0] in packages
    return ran_in(death, *(f"/{package}/" for package in packages))


def ran_in(death: Death, *parts: str) -> bool:
    """Whether the last stack went through a file whose path has one of these parts."""
    frames = death.last_stack.frames if death.last_stack is not None else ()
    return any(part in frame.file for frame in frames for part in parts)


def ran_in_function(death: Death, *functions: str) -> bool:
    """Whether the last stack went through a function of one of these names."""
    frames = death.last_stack.frames if death.last_stack is not None else ()
    return any(frame.function.rpartition(".")[2] in functions for frame in frames)


def is_in_library(death: Death, code: re.Pattern[str]) -> bool:
    """Whether the last stack went through code of a library that is named so: `torch/optim/adam.py:step`."""
    frames = death.last_stack.frames if death.last_stack is not None else ()
    return any(code.search(f"{frame.file}:{frame.function}") for frame in frames if "site-packages" in frame.file)


def makers(death: Death, *functions: str) -> Iterator[tuple[Call, Call]]:
    """Yield the calls of these classes whose objects a running `fit`, `transform` or the like uses, and the use.

    A `cross_validate(model, X, y)` is a use like `model.fit(X, y)`; no text can be replaced there.
    """
    found: dict[ast.Call, tuple[Call, Call]] = {}
    runs: list[Call] = []
    for scope in death.code.running if death.is_of_this_cell else ():
        for call in scope.calls:
            match call.func:
                case ast.Attribute(attr=method, value=owner) if method in _RUNS and death.was_running(call, scope):
                    used = Call(call, scope, method)
                case _ if (fit := _fitted(call, scope, death)) is not None:
                    owner, used = call.args[0], fit
                case _:
                    continue
            runs.append(used)
            for one, where in all_origins(owner, scope, death.code, parts=True):
                name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
                if isinstance(one, ast.Call) and name in functions:
                    found[one] = Call(one, where, name), used
    for made in death.code.calls(*functions) if runs and not found else ():  # a step of a pipeline, say
        if ran_in(death, f"/{made.name.rpartition('.')[0].replace('.', '/')}/"):
            found[made.node] = made, runs[-1]
    yield from found.values()


def _fitted(call: ast.Call, scope: Scope, death: Death) -> Call | None:
    """Return what a running `cross_validate(model, X, y)` does with the model: `model.fit(X, y)`."""
    if not call.args or death.code.qualified(call.func, scope) not in _FITTERS or not death.was_running(call, scope):
        return None
    fit = ast.Call(ast.Attribute(call.args[0], "fit", ast.Load()), call.args[1:], call.keywords)
    return Call(fit, scope, "fit")


def network_call_at(death: Death) -> tuple[ast.Call, Scope] | None:
    """Return the outermost call of a PyTorch network that may have been running and is given something."""
    tensors = Tensors(death.code)
    found = [
        (call, scope)
        for scope in (death.code.running if tensors.in_use and death.is_of_this_cell else ())
        for call in scope.calls
        if (call.args or call.keywords)
        and tensors.kind(call.func, scope) is Kind.MODULE
        and not tensors.is_scalar(call, scope)
        and death.was_running(call, scope)
    ]
    return min(found, key=lambda one: (is_forward(one[1], death.code), not one[1].is_cell), default=None)


def native_calls(death: Death, *, anywhere: bool = False) -> Iterator[Call]:
    """Yield the calls into native libraries; where the crash report names a line of a cell, only those at this line.

    `anywhere`: all the same, as the write came before the line at which it was noticed.
    """
    for scope in death.code.running:
        for node in scope.calls:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if owner is None or not (anywhere or death.is_at_crash(node, scope)):
                continue
            if library_of(owner, scope, death.code).startswith(_LIBRARIES):
                yield Call(node, scope, getattr(node.func, "attr", ""))


def library_of(node: ast.expr, scope: Scope, code: Notebook) -> str:
    """Return what `lib`, or `self.lib` that another method set, stands for: `ctypes.CDLL(…)`; "" if that is not known.

    A name or an attribute is followed, a call is not.
    """
    origins, waiting = Origins(code), [(node, scope)]
    for one, where in waiting:  # it grows meanwhile
        if (named := code.described(one, where)) is not None:
            return named
        waiting += [] if len(waiting) > _MOST_STEPS else origins.of(one, where)
    return ""
