import ast

from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_ENDS = frozenset({"os.abort", "os.kill", "os.killpg", "signal.raise_signal", "faulthandler._sigsegv"})
_NATIVE_NOWHERE = ("builtins.", "time.", "gc.", "threading.")
"""What only waits for others, or works on what they left: the crash is somewhere else."""

_SNIPPET = (
    "import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor\n\n"
    "def attempt():  # runs in a copy of the kernel, which has its variables\n    return {call}\n\n"
    "with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('fork')) as other:\n"
    "    result = other.submit(attempt).result()  # BrokenProcessPool in place of a dead kernel"
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

    What it costs: The other process is a copy of the kernel. What it gives back is copied; graphics cards, windows and
    threads of the kernel cannot be used there.
    """

    id, title, general = "call-in-a-process", "Run the call in a process of its own: the kernel lives", True
    causes = ("segfault", "abort", "heap-corruption")
    unless_offered = frozenset({"bound-what-c-writes"})

    FIRES = [
        Case("import geo", "area = geo.area(shape, 3)", says=("return geo.area(shape, 3)",)),
        Case("import geo\nindex = geo.Index()", "index.build(x)", cause="abort", says=("return index.build(x)",)),
        Case("import geo", "print('now')\ngeo.area(shape)", says=("return geo.area(shape)",)),
        Case("v = as_strided(x, shape=(9, 9))", "v.sum(axis=0)", says=("return v.sum(axis=0)",)),
        Case("make(x).build(y)", says=("return make(x).build(y)",)),
    ]
    SILENT = [
        Case("x = 1"),
        Case("import torch", "m.cuda()"),
        Case("f(x)", cause="oom-cgroup"),
        Case("import time", "time.sleep(1)"),
        Case("totals = list(pool.map(f, parts))"),
        Case("import os\nos.abort()", cause="abort"),
        Case("import geo", "index = geo.Index()\nindex.build(x)"),
    ]

    def propose(self, death: Death) -> Proposals:
        if death.background is not None or any(
            map(death.code.imports, ("torch", "tensorflow", "jax", "PyQt5", "PySide6", "cv2", "vtk"))
        ):
            return
        line = death.causes[0].line if death.line is None else death.line
        module = next(iter(death.code.scopes(death.code.last)), None) if death.cell is not None else None
        if module is None:
            return
        found: list[ast.Call] = []
        for node in module.nodes:
            match node:
                case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                    name = death.code.qualified(call.func, module) or ""
                    if name in _ENDS:
                        return
                    is_there = line is None or node.lineno <= line <= (node.end_lineno or 0)
                    found += [call] if is_there and not name.startswith(_NATIVE_NOWHERE) else []
        if found and (line is not None or len(found) == 1):  # else it may have been any of them
            text = module.segment(found[0])
            yield Proposal((), _WHY.format(call=quote(text)), snippet=_SNIPPET.format(call=text))
