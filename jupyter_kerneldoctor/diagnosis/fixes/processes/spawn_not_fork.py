import ast

from ...code.notebook import Notebook
from ...code.trees import unparse
from ...fix import Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.forked_workers import forked_workers, functions_given, in_threads, spawned

_MODULE_FORM = (
    "# workers.py, a file beside the notebook:\n{define}\n    ...  # the function, with its imports\n\n"
    "# in another cell:\nimport multiprocessing\nfrom workers import {name}\n"
)
_POOL = "with multiprocessing.get_context('spawn').Pool(4) as pool:\n    results = pool.map({name}, {items})"
_PROCESS = "multiprocessing.get_context('spawn').Process(target={name}, args=(…))  # as before"


class SpawnNotFork(Fix):
    """Start workers afresh, or let threads do the work; do not copy a kernel that has threads.

    What it does: A fork copies the kernel with one of its threads. Locks that another thread held stay locked in the
    copy for ever, and libraries with threads of their own (OpenMP, Polars, PyTorch, CUDA) do not work in it. With
    `spawn` a worker is a new Python that imports the function, so the function must stand in a file. A function of a
    cell runs in threads instead; they need no copy.

    When it is offered: The kernel is stuck because its workers are copies of it that wait for ever or end at once.

    What it costs: A spawned worker takes seconds to start and gets its data by pickling. Threads share all variables,
    and only one of them runs Python code at a time; NumPy, Polars and PyTorch work beside each other in them.
    """

    id, title, causes = "spawn-not-fork", "Start workers with spawn, not as copies of the kernel", ("fork-unsafe",)

    FIRES = [
        Case(
            "import multiprocessing as mp\nfrom cleaning import tidy\n",
            "with mp.get_context('fork').Pool(2) as p:\n    p.map(tidy, names)",
            becomes={"fork": "spawn"},
        ),
        Case(
            "from multiprocessing import Pool\nfrom cleaning import tidy\n",
            "with Pool(8) as p: p.map(tidy, names)  # é",
            becomes="import multiprocessing\n"
            'with multiprocessing.get_context("spawn").Pool(8) as p: p.map(tidy, names)  # é',
        ),
        Case(
            "import multiprocessing as mp\ndef work(x): return df[x]",
            "with mp.get_context('fork').Pool(2) as p:\n    p.map(work, names)",
            becomes="from multiprocessing.pool import ThreadPool\nwith ThreadPool(2) as p:\n    p.map(work, names)",
            says=("spawn", "`work`", "workers.py", "pool.map(work, names)"),
        ),
        Case(
            "import torch.multiprocessing as mp\ndef train(rank): pass",
            "ps = [mp.Process(target=train, args=(r,)) for r in range(2)]\nfor p in ps: p.start()",
            becomes="from threading import Thread\nps = [Thread(target=train, args=(r,)) for r in range(2)]\n"
            "for p in ps: p.start()",
        ),
    ]
    SILENT = [
        Case("import multiprocessing as mp", "with mp.get_context('spawn').Pool(2) as p: p.map(f, x)"),
        Case("import multiprocessing as mp\ndef f(x): pass", "mp.Pool(2).map(f, x)", cause="hang"),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        given = functions_given(code)
        own = [name for name, is_own in given if is_own]
        for call, kind in forked_workers(code):
            if own:
                edits = in_threads(call, kind, code)
                why = (
                    f"{quote(call.text)} copies the kernel (a fork), but not its threads. {quote(own[0])} stands in a "
                )
                why += "cell, where spawned workers cannot find it: threads can. For processes, put it into a .py file "
                why += "and use the `spawn` context."
                title = "Use threads in place of copies of the kernel, or spawn with the function in a file"
                yield Proposal(edits, why, title=title, snippet=_form(own[0], kind, code))
            else:
                why = (
                    f"{quote(call.text)} copies the kernel (a fork), but not its threads. With `spawn` each worker is "
                )
                why += "a new Python. What it runs must be imported from a file."
                name = given[0][0] if given else "work"
                yield Proposal(spawned(call, kind, code), why, snippet=_form(name, kind, code))


def _form(name: str, kind: str, code: Notebook) -> str:
    scope = next(code.functions_named(name), None)
    define = f"def {name}(item):" if scope is None else f"def {name}({unparse(scope.arguments)}):"
    form = _MODULE_FORM + (_PROCESS if kind == "Process" else _POOL)
    given = (
        one.args[1] for scope in code.running for one in scope.calls if len(one.args) > 1 and _names(one.args[0], name)
    )
    items = next(map(unparse, given), "items")
    return form.replace("{define}", define).replace("{name}", name).replace("{items}", items)


def _names(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
