import ast
from collections.abc import Iterator

from ...fix import Case, Death, Fix, Proposal
from ...units import quote

_ENDS = frozenset({"os.abort", "os.kill", "os.killpg", "signal.raise_signal", "faulthandler._sigsegv"})
_NATIVE_NOWHERE = ("builtins.", "time.", "gc.", "threading.")
"""What only waits for others, or works on what they left: the crash is somewhere else."""

_SNIPPET = (
    "import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor\n\n"
    "context = multiprocessing.get_context('fork')  # the functions of the notebook are there\n"
    "with ProcessPoolExecutor(1, mp_context=context) as other:\n"
    "    result = other.submit({function}{given}).result()  # BrokenProcessPool in place of a dead kernel"
)
_WHY = (
    "{call} crashes in native code, where Python can catch nothing. In a process of its own only that one ends: the "
    "kernel keeps its variables, and you can try with less or with other input until it is clear which one it is."
)


class CallInAProcess(Fix):
    """Run the call that crashes in a process of its own, until it is clear why.

    What it does: A crash in native code ends the whole process. In another process it ends that one only; the kernel
    gets a `BrokenProcessPool` and keeps its variables. So the input that crashes can be found by trying.

    When it is offered: Native code crashed or aborted at a line that calls a function. It comes after fixes that know
    why.

    What it costs: The other process is a copy of the kernel. What it is given and gives back is copied; graphics cards,
    windows and threads of the kernel cannot be used there.
    """

    id, title, general = "call-in-a-process", "Run the call in a process of its own: the kernel lives", True
    causes = ("segfault", "abort", "heap-corruption")

    FIRES = [
        Case("import geo", "area = geo.area(shape, 3)", cause="segfault", says=("submit(geo.area, shape, 3)",)),
        Case("import geo\nindex = geo.Index()", "index.build(x)", cause="abort", says=("submit(index.build, x)",)),
        Case("import geo", "print('now')\ngeo.area(shape)", cause="segfault", says=("submit(geo.area, shape)",)),
    ]
    SILENT = [
        Case("x = 1", cause="segfault"),
        Case("import torch", "m.cuda()", cause="segfault"),
        Case("f(x)"),
        Case("import time", "time.sleep(1)", cause="segfault"),
        Case("totals = list(pool.map(f, parts))", cause="segfault"),
        Case("make(x).build(y)", cause="segfault"),  # what is made first is made in the kernel
        Case("import os\nos.abort()", cause="abort"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Name the call of the line that crashed."""
        if any(map(death.code.imports, ("torch", "tensorflow", "jax", "PyQt5", "PySide6", "cv2", "vtk"))):
            return
        line = death.causes[0].line if death.line is None else death.line
        module = next(iter(death.code.scopes(death.code.last)), None) if death.cell is not None else None
        if module is None:
            return
        for node in (one for one in module.nodes if isinstance(one, ast.Expr | ast.Assign)):
            inner = node.value
            name = death.code.qualified(inner.func, module) or "" if isinstance(inner, ast.Call) else ""
            owner = getattr(getattr(inner, "func", None), "value", None)
            if name in _ENDS:
                return
            if name.startswith(_NATIVE_NOWHERE) or isinstance(owner, ast.Call):
                continue
            is_there = line is None or node.lineno <= line <= (node.end_lineno or 0)
            if isinstance(inner, ast.Call) and is_there and not inner.keywords:
                given = "".join(f", {module.segment(one)}" for one in inner.args)
                snippet = _SNIPPET.format(function=module.segment(inner.func), given=given)
                yield Proposal((), _WHY.format(call=quote(module.segment(inner))), snippet=snippet)
                return
