import ast
import re

from ...edits import Changes, replace
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_FLAG = re.compile(r"-m(?:arch|cpu)=(?!native\b|x86-64\b)[\w.+-]+|-m(?:avx512\w*|fma4|xop)\b")
_BUILD = (
    "import subprocess\nsubprocess.run(['cc', '-O3', '-march=native', '-shared', '-fPIC', '-o', 'lib.so', 'lib.c'])"
)


class CompileForThisCpu(Fix):
    """Compile for the processor at hand: `-march=native`.

    What it does: A compiler that is told `-march=...` uses the instructions of that processor. On another one the
    program ends at the first that is not known there. The edit lets the compiler look which processor it is.

    When it is offered: The process was ended by an illegal instruction, and a cell compiles for a certain processor.

    What it costs: The library must be compiled anew on each kind of machine; `-march=x86-64-v2` runs on nearly all.
    """

    id, title, causes = "compile-for-this-cpu", "Compile for this processor: -march=native", ("illegal-instruction",)

    FIRES = [
        Case(
            "FLAGS = '-O3 -march=bdver2 -shared'",
            "lib.axpy(a, x, y, n)",
            becomes={1: "FLAGS = '-O3 -march=native -shared'"},
            says=("`-march=bdver2`", "x86-64-v2"),
        ),
        Case("!gcc -O3 -mavx512f -o a.so -shared a.c", "f(1)", says=("`-mavx512f`",)),
    ]
    SILENT = [
        Case("FLAGS = '-march=native'", "f(1)"),
        Case("FLAGS = '-march=bdver2'", "f(1)", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        for index in death.code.with_text("-m"):
            source = death.code.source(index)
            if (found := _FLAG.search(source)) is None:
                continue
            module = death.code.module(index)
            edits: Changes = ()
            for scope in death.code.scopes(index) if module is not None else ():
                for node in scope.nodes:
                    if not edits and isinstance(node, ast.Constant) and isinstance(node.value, str):
                        text = scope.segment(node)
                        edits = replace(scope, node, _FLAG.sub("-march=native", text)) if _FLAG.search(text) else ()
            place = death.code.cell_name(index)
            why = (
                f"{quote(found[0])} in {place} lets the compiler use instructions that this processor does not have. "
                "`-march=native` takes those that it has, `-march=x86-64-v2` those that nearly all have."
            )
            yield Proposal(edits, why, snippet=_BUILD)
            return
