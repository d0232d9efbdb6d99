import ast

from ...code.trees import unparse
from ...fix import Advice, Case, Death, quote
from ...frameworks.forked_workers import given_to_workers

_SPAWN = "import multiprocessing as mp\nctx = mp.get_context('spawn')\n"


class SpawnTargetInModule(Advice):
    """Put the function that spawned workers run into a file.

    What it does: A spawned worker is a new Python that imports the function by its module. A function of a cell is in
    no module it can import, so each worker ends with `Can't get attribute`, and a pool starts the next one for ever.

    When it is offered: The kernel waits for spawned workers that run a function of a cell.

    What it costs: Imports and constants that the function uses must stand in the file, too.
    """

    id, title, causes = "spawn-target-in-module", "Put the workers' function into a .py file", ("hang", "fork-unsafe")
    why = (
        "{name_} stands in a cell, where a spawned worker cannot find it: it is a new Python, and imports its function "
        "from a module. Each worker ends at once, and {where} waits for ever."
    )
    snippet = (
        "# workers.py, a file beside the notebook, with its imports:\n{source}\n\n"
        "# in the next cell:\nfrom workers import {plain}\n"
        "# or let joblib send the function itself: Parallel(n_jobs=4)(delayed({plain})(x) for x in items)"
    )

    FIRES = [
        Case(
            _SPAWN + "def work(x):\n    return x * 2",
            "with ctx.Pool(4) as pool:\n    pool.map(work, range(9))",
            says=("`work`", "def work(x):\n    return x * 2\n", "from workers import work"),
        ),
        Case(
            _SPAWN + "def train(rank): ...\np = ctx.Process(target=train, args=(0,))",
            "p = ctx.Process(target=train, args=(1,))\np.start(); p.join()",
            says=("`train`",),
        ),
    ]
    SILENT = [
        Case(_SPAWN + "from workers import work", "ctx.Pool(4).map(work, x)"),
        Case("from multiprocessing import Pool\ndef work(x): ...", "Pool(4).map(work, x)"),
        Case(_SPAWN + "def work(x): ...", "queue.get()"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the function of a cell that spawned workers are given."""
        code = death.code
        if not any(
            "spawn" in unparse(call.node) for call in code.calls("multiprocessing.*", "torch.multiprocessing.*")
        ):
            return None
        for one, scope in given_to_workers(code):
            made = code.definition(one, scope)
            if made is not None and isinstance(made.definition, ast.FunctionDef) and isinstance(one, ast.Name):
                source = made.scope.segment(made.definition)
                return {"name_": quote(one.id), "plain": one.id, "source": source}
        return None
