import ast

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.recursion import names_itself
from ...edits import Changes, import_as, replace, set_argument
from ...examples import MIB
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.recursive_results import of_cached_recursion
from ...postmortem import Grown

_TYPE = "_lru_cache_wrapper"
_MOST = 128  # what functools.lru_cache takes where nothing is said
_LARGEST_KEY = 4096  # bytes of what a call was given, beside its result
_USED = 0.25  # of the room, for what caches keep
_BODY = "def basis(i):\n    return np.ones(10**6) * i"
_LOOP = "for i in range(10**4): use(basis(i))"
_BASIS = NamedObject("basis", f"functools.{_TYPE}", 1600 * MIB, items=200, grew_bytes=1500 * MIB, items_before=0)


class BoundFunctionCache(Fix):
    """Let the cache of a function forget its oldest results.

    What it does: `@cache` and `@lru_cache(maxsize=None)` keep the result of every call for as long as the function
    lives. With a number they keep that many, the ones used last. A function that calls itself would work out again and
    again what it has forgotten: a loop from the smallest up needs only the newest results.

    When it is offered: Memory grew in the cache of a function, as the recording shows.

    What it costs: A result that was forgotten is worked out again.
    """

    id, title, causes = "bound-function-cache", "Give the function's cache a limit: maxsize", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\nfrom functools import lru_cache\n\n@lru_cache(maxsize=None)  # schnell\n" + _BODY,
            _LOOP,
            becomes={"None": "32"},
            grew=_BASIS,
            says=("basis", "200 results"),
        ),
        Case(
            "import functools, numpy as np\n\n@functools.cache\n" + _BODY,
            _LOOP,
            becomes={"cache": "lru_cache(maxsize=32)"},
            grew=_BASIS,
        ),
        Case(  # what is forgotten would be worked out again with all below it
            "from functools import cache\n@cache\ndef basis(i): return basis(i - 1) + basis(i - 2)",
            _LOOP,
            grew=_BASIS,
            says=("for i in range(1, largest + 1):  # from the smallest up",),
        ),
        Case(  # each call is given a copy of the rest
            "from functools import cache\n@cache\ndef basis(a, b): return basis(a[1:], b) or basis(a, b[1:])",
            _LOOP,
            grew=_BASIS,
            says=("def basis(i, j):", "basis(i + 1, j) in place of basis(a[1:], b)"),
        ),
    ]
    SILENT = [
        Case("from functools import cache\n@cache\n" + _BODY, _LOOP),  # nothing shows that it grew
        Case("from functools import lru_cache\n@lru_cache(maxsize=99)\n" + _BODY, _LOOP, grew=_BASIS),
        Case("from mine import cache\n@cache\n" + _BODY, _LOOP, grew=_BASIS),
    ]

    def propose(self, death: Death) -> Proposals:
        grown = [one for one in death.growth.objects if (one.type or "").endswith(_TYPE)]
        first = death.growth.container or next((one for one in grown if _has_many_keys(one, death)), None)
        if first not in grown or not death.memory.grew_here:
            return
        for one in sorted(grown, key=lambda one: one is not first):
            most = _most(one, len(grown), death)
            for scope in death.code.scopes_mentioning(one.name):
                is_it = scope.function == one.name
                if is_it and names_itself(scope) and (less := of_cached_recursion(scope)) is not None:
                    held = death.memory.ramp_bytes if _has_many_keys(one, death) else one.grew_bytes or one.bytes or 0
                    yield Proposal((), less.told, held, less.title, less.code)
                    return
                if is_it and not names_itself(scope) and (edits := _bounded(scope, most, death)):
                    held = one.grew_bytes or one.bytes or 0
                    count = f" of {one.length:,} results" if one.length else ""
                    why = (
                        f"The cache of {quote(one.name)} grew by {size(held)} while the cell ran, and forgets nothing. "
                        f"In place{count} it will keep {most}."
                    )
                    yield Proposal(edits, why, held, leaves=int(_USED * (death.safe_headroom_bytes or 0)))
                    break


def _has_many_keys(one: Grown, death: Death) -> bool:
    """Whether what the calls were given, which no look can measure, may be what took the memory."""
    return death.memory.ramp_bytes < _LARGEST_KEY * death.growth.items_gained(one)


def _most(one: Grown, caches: int, death: Death) -> int:
    """Return how many results may be kept: those that take a quarter of the room, shared by all caches that grew."""
    gained, headroom = death.growth.items_gained(one), death.safe_headroom_bytes
    if not gained or not one.grew_bytes or not headroom or headroom < 0:
        return _MOST
    fit = int(headroom * _USED / caches) // max(1, one.grew_bytes // gained)
    return min(_MOST, 1 << max(0, fit.bit_length() - 1))


def _bounded(scope: Scope, most: int, death: Death) -> Changes:
    """Return the edit of the decorator that keeps everything; none where there is no such."""
    outside = scope.parent or scope
    for decorator in scope.decorators:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = death.code.qualified(called, outside)
        if name == "functools.cache" and called is decorator:
            module, imported = import_as(outside, death.code, "functools", "functools")
            return imported + replace(outside, decorator, f"{module}.lru_cache(maxsize={most})")
        if name == "functools.lru_cache" and isinstance(decorator, ast.Call):
            call = Call(decorator, outside, name)
            given = call.argument("maxsize", 0)
            if isinstance(given, ast.Constant) and given.value is None:
                return set_argument(call, "maxsize", str(most), 0)
    return ()
