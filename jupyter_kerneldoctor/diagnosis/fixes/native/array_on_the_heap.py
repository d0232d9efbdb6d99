from functools import partial

from ...calls import native_calls
from ...code.c_stack_arrays import StackArray, large_stack_arrays
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote, size

_MERGE = (
    "code = r'''\nvoid merge(double *a, long n, long m) {\n    double L[n], R[m];  /* halves */\n    L[0] = a[0];\n}\n"
    "void sort(double *a, long n) {\n    merge(a, n / 2, n - n / 2);\n}\n'''"
)
_LOADED = "import ctypes\nlib = ctypes.CDLL('./sort.so')\nlib.sort.argtypes = [ctypes.c_void_p, ctypes.c_long]"
_GRID = (
    "%%writefile heat.c\n#include <stdio.h>\n#define N 2000\nvoid step(int rounds)\n{\n    double grid[N][N];\n"
    "    float row[N];\n}"
)
_HEAT = "import ctypes\nheat = ctypes.CDLL('./heat.so')"
_FEW = 100_000
"""Bytes that any stack has room for."""


class ArrayOnTheHeap(Fix):
    """Take the memory for large arrays in C from the heap.

    What it does: A local array of a C function lies on the stack, which has 8 MiB, however much memory the machine has.
    A large one, or one whose length comes with the input, goes beyond its end. The snippet takes it with `malloc`, or
    runs the call in a thread that has a larger stack.

    When it is offered: Native code crashed in a function whose C code a cell holds, and it, or one that it calls, has
    such an array.

    What it costs: Some nanoseconds for each call. What `malloc` gave has to be freed.
    """

    id, title = "array-on-the-heap", "Take the array in C from malloc: it does not fit on the stack"
    causes = ("segfault", "stack-overflow")

    FIRES = [
        Case(_MERGE, _LOADED, "lib.sort(p, n)", says=("`merge`", "`double L[n]`", "malloc(n * sizeof *L)", "free(R)")),
        Case(
            _MERGE, _LOADED, "lib.sort(p, 3_000_000)", line=1, says=("threading.stack_size", "lib.sort(p, 3_000_000)")
        ),
        Case(
            _GRID.replace("[N];\n    float", "[N] = {0};\n    float"),
            _HEAT,
            "heat.step(3)",
            says=("`double grid[N][N]`", "31 MiB", "(*grid)[N] = calloc(N, sizeof *grid)"),
        ),
        Case(
            _MERGE.replace("double L[n], R[m];", "unsigned long L[n]; clear(L, sizeof(L));"),
            _LOADED,
            "lib.sort(p, n)",
            says=("unsigned long *L = malloc(n * sizeof *L);  // sizeof(L) is that of a pointer then",),
        ),
        Case(
            _MERGE.replace("double L[n], R[m];", "double *L = (double *)alloca(n * sizeof(double));"),
            _LOADED,
            "lib.sort(p, n)",
            says=("`alloca(n * sizeof(double))`",),
        ),
        Case(_MERGE, _LOADED, "lib.sort(p, n)", cause="stack-overflow", says=("malloc",)),
        Case(_GRID, _HEAT, "heat.step(p, 3)", says=("`double grid[N][N]`",)),
    ]
    SILENT = [
        Case(_MERGE, _LOADED, "lib.sort(p, 1000)"),
        Case(_MERGE.replace("double L[n], R[m];", "double L[64];"), _LOADED, "lib.sort(p, n)"),
        Case(
            _MERGE.replace("double L[n]", "static double L[9000000]").replace(", R[m]", ""), _LOADED, "lib.sort(p, n)"
        ),
        Case(_MERGE.replace("double L[n], R[m];", "double *L = malloc(n * sizeof *L);"), _LOADED, "lib.sort(p, n)"),
        Case(_GRID.replace("2000", "200"), _HEAT, "heat.step(3)"),
        Case(_MERGE, _LOADED, "lib.other(p, n)"),
        Case(_MERGE, _LOADED, "lib.sort(1000)"),
        Case(_MERGE.replace("double L[n], R[m];", "double *L[64], *R[n];"), _LOADED, "lib.sort(p, n)"),
        Case(_LOADED, "lib.sort(p, n)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in native_calls(death):
            is_there = death.code.is_at_line(call.node, call.scope)
            arrays = death.find(partial(large_stack_arrays, function=call.name)) if is_there else None
            arrays = [one for one in arrays or () if one.bytes is not None or not _is_small(call, death)]
            if arrays:
                yield _proposal(call, arrays, death)
                return


def _is_small(call: Call, death: Death) -> bool:
    """Whether every number that the function is given is known, and a small one; one argument may be an array."""
    known = [number for one in call.node.args if (number := death.values.number(one, call.scope)) is not None]
    return bool(known) and 8 * max(known) < _FEW and len(known) >= len(call.node.args) - 1


def _proposal(call: Call, arrays: list[StackArray], death: Death) -> Proposal:
    first = arrays[0]
    same = [one for one in arrays if one.function == first.function]
    told = " and ".join(quote(one.declared) for one in same[:3])
    where = f"{quote(first.function)} ({death.code.cell_name(first.cell)}, line {first.line})"
    large = f", {size(first.bytes)}," if first.bytes is not None else ""
    comes = f" That is room for a million doubles, and {quote(first.sizes[0])} is known only when it runs."
    length = "" if first.bytes is not None else comes
    why = f"{where} has {told}{large} on the stack, which has 8 MiB however much memory there is.{length}"
    text = call.text
    taken = [f"# {one.taken}" for one in same]
    freed = [f"# free({one.name});" for one in same]
    lines = [
        "# in the C code, with #include <stdlib.h>:",
        *taken,
        "# ...",
        *freed[:-1],
        f"{freed[-1]}  // before it returns",
    ]
    lines += ["", "# or, with the C code as it is, in a thread with a larger stack:", "import threading"]
    lines += ["threading.stack_size(1 << 30)", f"thread = threading.Thread(target=lambda: {text})"]
    lines += ["thread.start()", "thread.join()"]
    return Proposal((), why, snippet="\n".join(lines))
