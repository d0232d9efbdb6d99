import ast
from dataclasses import replace

from ...code.trees import unparse
from ...edits import Changes
from ...edits import replace as put
from ...fix import Advice, Case, Death, Proposals, Scope

_COMPILED = "import numpy as np\nfrom numba import njit\n@njit\ndef fill(a, n):\n    for i in range(n): a[i] = i"
_COMPILERS = ("numba.jit", "numba.njit", "numba.vectorize", "numba.guvectorize")


class BoundscheckNumba(Advice):
    """Let numba check each index, so that a wrong one raises an IndexError in place of a crash.

    What it does: Code that numba compiled does not check indices: `a[n]` of an array of n items writes into memory of
    something else. With `boundscheck=True` it raises an `IndexError` that names the line. Find the loop that goes too
    far with it, and take it away again afterwards. The edit does so in the functions that ran.

    When it is offered: Native code crashed or damaged memory, and the cells compile a function with numba that stores
    or reads by an index.

    What it costs: The function is slower while it checks, by up to half.
    """

    id, title = "boundscheck-numba", "Get an IndexError in place of the crash: boundscheck=True"
    causes = ("segfault", "heap-corruption", "abort")
    words_stay = True
    why = (
        "{compiled} is compiled by numba, which does not check whether an index lies within its array. With "
        "`boundscheck=True` the wrong index raises an IndexError with its line. Check the range of the loop first."
    )
    snippet = "{decorated}\n{define}\n    ...\n\n# or look at it in Python, not compiled:\n{name}.py_func(...)"

    FIRES = [
        Case(
            _COMPILED,
            "fill(np.zeros(10), 10**7)",
            becomes={1: _COMPILED.replace("@njit", "@njit(boundscheck=True)")},
            says=("@njit(boundscheck=True)", "`fill`"),
        ),
        Case(
            "import numba as nb\n@nb.jit(nopython=True)\ndef count(v, out):\n    for x in v: out[x] += 1",
            "count(v, out)\nz = 1",
            cause="heap-corruption",
            becomes={"True": "True, boundscheck=True"},
            says=("@nb.jit(nopython=True, boundscheck=True)",),
        ),
    ]
    SILENT = [
        Case("from numba import njit\n@njit\ndef add(a, b): return a + b", "add(1, 2)"),
        Case("from numba import njit\n@njit(boundscheck=True)\ndef f(a): a[0] = 1", "f(x)"),
        Case("def njit(f): return f\n@njit\ndef f(a): a[0] = 1", "f(x)"),
        Case(_COMPILED, "fill(a, 9)", cause="oom-cgroup"),
    ]

    def propose(self, death: Death) -> Proposals:
        ran = [scope for scope in death.code.running.functions if _decorator(scope, death) is not None]
        edits = tuple(change for scope in ran for change in _checked(scope, death))
        for one in super().propose(death):
            yield replace(one, edits=edits)

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the compiled function that ran, or else the newest that the cells define: the damage may be older."""
        code, cause = death.code, death.causes[0].id
        scopes = list(code.running.functions)
        if cause != "segfault" or not any(_decorator(one, death) for one in scopes):
            scopes += code.scopes_mentioning("numba", "njit")
        for scope in scopes:
            if (found := _decorator(scope, death)) is not None:
                name, head = scope.function, f"def {scope.function}({unparse(scope.arguments)}):"
                return {"compiled": f"`{name}`", "name": name, "decorated": found, "define": head}
        return None


def _checked(scope: Scope, death: Death) -> Changes:
    """Return the edit of the decorator of a function that `jit` or `njit` compiles."""
    text = _decorator(scope, death)
    for one in scope.decorators if text is not None else ():
        function = one.func if isinstance(one, ast.Call) else one
        if death.code.qualified(function, scope.parent or scope) in _COMPILERS[:2]:
            return put(scope, one, (text or "").removeprefix("@"))
    return ()


def _decorator(scope: Scope, death: Death) -> str | None:
    """Return the decorator with the check, of a compiled function that uses an index."""
    if not any(isinstance(node, ast.Subscript) for node in scope.nodes):
        return None
    for one in scope.decorators:
        function = one.func if isinstance(one, ast.Call) else one
        given = one.keywords if isinstance(one, ast.Call) else []
        if death.code.qualified(function, scope.parent or scope) in _COMPILERS and all(
            word.arg != "boundscheck" for word in given
        ):
            words = [scope.segment(part) for part in (*(one.args if isinstance(one, ast.Call) else ()),)]
            words += [f"{word.arg}={scope.segment(word.value)}" for word in given]
            return f"@{scope.segment(function)}({', '.join([*words, 'boundscheck=True'])})"
    return None
