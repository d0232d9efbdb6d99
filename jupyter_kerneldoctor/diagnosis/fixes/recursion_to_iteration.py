"""The fix `recursion-to-iteration`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jupyter_kerneldoctor.diagnosis.analysis.traceback import Recursion, reports
from jupyter_kerneldoctor.diagnosis.code.literals import number
from jupyter_kerneldoctor.diagnosis.units import cell_name, quote, sentence

from ._edits import replace_node
from ._examples import Example
from ._numbers import MEMORY, grew_here, is_memory_death, of_words, ramp_bytes
from ._rule import CellEdit, Draft, FixRule, Size

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability

_SANE = 3000
_HIGHEST_SANE = 10_000  # about 20,000 calls through C use up the usual 8 MB of stack
_SPECIAL = {
    "__bool__": "bool", "__len__": "len", "__str__": "str", "__repr__": "repr", "__hash__": "hash", "__iter__": "iter",
    "__next__": "next", "__abs__": "abs", "__int__": "int", "__float__": "float", "__format__": "format",
}  # fmt: skip


@dataclass(frozen=True)
class Raised:
    """A call of `sys.setrecursionlimit` with a number no stack is made for."""

    cell: int
    argument: ast.expr
    limit: int


@dataclass(frozen=True)
class Deep:
    """What recurses, and what let it."""

    raised: tuple[Raised, ...]
    function: Scope | None
    """The user's own function that calls itself."""
    recursion: Recursion | None
    """What the crash showed."""


class RecursionToIteration(FixRule[Deep]):
    """Lower the recursion limit again, and use a loop where calls go deep.

    What it does
    ------------
    Each call of a function inside itself takes a piece of the stack, 8 MB as a rule. When it is used up, the process
    ends without a Python error. Python's own limit of 1000 calls is there to turn that into a `RecursionError` with a
    traceback. The edit lowers a raised `sys.setrecursionlimit(...)` to 3000; the snippet shows the same walk with a
    list in place of the call stack, which may be as long as memory allows.

    When it is offered
    ------------------
    The stack overflowed, or memory ran out little by little in a function that calls itself after the limit was
    raised above 10,000 (from Python 3.11 on, calls of pure Python code take memory, not stack).

    What it costs
    -------------
    Code that needs more than 3000 nested calls stops with a `RecursionError` until it is rewritten as a loop.

    Example
    -------
    `sys.setrecursionlimit(10**6)` becomes `sys.setrecursionlimit(3000)`.
    """

    id = "recursion-to-iteration"
    title = "Keep the recursion limit low, and use a loop where the recursion is deep"
    causes = ("stack-overflow", *MEMORY)
    applicability: ClassVar[Applicability] = "suggested"

    def detect(self, context: FixContext, code: Notebook) -> Deep | None:
        """A raised limit, and a function that calls itself."""
        ran = (*code.mentioning("setrecursionlimit"), *code.running.functions)
        raised = tuple(one for scope in ran for one in _raised(scope, code))
        functions = [scope for scope in code.running if _calls_itself(scope, code)]
        if is_memory_death(context):
            if not (raised and functions and grew_here(context)):
                return None
            return Deep(raised, functions[0], None)
        recursion = next(
            (one.recursion for one in reversed(reports(context.recording.crash_text)) if one.recursion), None
        )
        named = list(code.functions_named(recursion.function.rsplit(".", 1)[-1])) if recursion else []
        function = next(iter(named or functions), None)
        return Deep(raised, function, recursion) if raised or self._is_advice(context) else None

    def size(self, context: FixContext, code: Notebook, found: Deep) -> Size:  # noqa: ARG002 - same for all rules
        """Of a death of memory, all that grew step by step."""
        return Size(ramp_bytes(context) if is_memory_death(context) else None)

    def fix(self, context: FixContext, code: Notebook, found: Deep) -> Draft:
        """Lower the limit where it was raised; show the loop."""
        edits: dict[int, list[Raised]] = {}
        for one in found.raised:
            edits.setdefault(one.cell, []).append(one)
        return Draft(
            _why(context, code, found),
            tuple(
                CellEdit(cell, tuple(replace_node(code.source(cell), one.argument, str(_SANE)) for one in all_))
                for cell, all_ in edits.items()
            ),
            snippet=_snippet(found),
        )

    @staticmethod
    def _is_advice(context: FixContext) -> bool:
        """Whether there is still something to say: not when asked again about cells whose limit has been lowered."""
        return not any("setrecursionlimit" in cell.source for cell in context.cells)

    examples = (
        Example(
            cells=(
                "import sys\nsys.setrecursionlimit(10**6)",
                "class Node:\n    def __bool__(self): return bool(self.next)\nhead = Node()\nbool(head)",
            ),
            cause="stack-overflow",
            changed={1: "import sys\nsys.setrecursionlimit(3000)"},
            says=("1,000,000", "__bool__"),
        ),
        Example(
            cells=(
                "from sys import setrecursionlimit as deeper\ndeeper( 500_000 )  # tiefer",
                "def walk(tree, depth=0):\n    for child in tree.children: walk(child, depth + 1)",
                "walk(root)",
            ),
            cause="stack-overflow",
            changed={1: "from sys import setrecursionlimit as deeper\ndeeper( 3000 )  # tiefer"},
            says=("def walk(tree, depth=0):", "while waiting:"),
        ),
        Example(
            cells=("import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1) + 1", "f(0)"),
            cause="oom-cgroup",
            changed={1: "import sys\nsys.setrecursionlimit(3000)\ndef f(n): return f(n + 1) + 1"},
            says=("Explains 1.8 of 1.8 GiB",),
        ),
        Example(
            cells=("def depth(tree): return 1 + max(map(depth, tree), default=0)", "depth(nested)"),
            cause="stack-overflow",
            says=("depth",),
        ),
        Example(cells=("import sys\nsys.setrecursionlimit(5000)", "work()"), cause="stack-overflow", fires=False),
        Example(
            cells=("import sys\nsys.setrecursionlimit(10**9)", "x = [0] * 10**10"), cause="oom-cgroup", fires=False
        ),
        Example(cells=("import sys\nsys.setrecursionlimit(10**6)", "crash()"), cause="segfault", fires=False),
    )


def _raised(scope: Scope, code: Notebook) -> list[Raised]:
    found = []
    for node in scope.walk():
        if not (isinstance(node, ast.Call) and len(node.args) == 1):
            continue
        limit = number(node.args[0])
        if limit is not None and limit > _HIGHEST_SANE and code.qualified(node.func, scope) == "sys.setrecursionlimit":
            found.append(Raised(scope.cell, node.args[0], limit))
    return found


def _calls_itself(scope: Scope, code: Notebook) -> bool:
    """Whether a function calls itself, directly or through another; or a special method what calls that method."""
    if scope.is_cell:
        return False
    if scope.owner is not None and (builtin := _SPECIAL.get(scope.function)):
        return any(isinstance(node, ast.Call) and _is_name(node.func, builtin) for node in scope.walk())
    seen, waiting = set[str](), [scope]
    scopes = {other.function: other for other in code.running}
    while waiting:
        for node in waiting.pop().walk():
            called = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if called == scope.function:
                return True
            if called in scopes and called not in seen:
                seen.add(called)
                waiting.append(scopes[called])
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _why(context: FixContext, code: Notebook, found: Deep) -> str:
    text = _what_happened(context, found)
    if found.raised:
        last = found.raised[0]
        where = sentence(cell_name(code.cells[last.cell].execution_count))
        text += (
            f"{where} raised Python's limit to {last.limit:,} calls. With {_SANE} the recursion ends with a "
            "RecursionError and a traceback, and the kernel lives on. "
        )
    return text + "Check its base case first: a recursion without an end needs a correction, not a deeper stack."


def _what_happened(context: FixContext, found: Deep) -> str:
    function = found.function.name if found.function is not None else None
    if found.recursion is not None:
        shown = f"{found.recursion.times} of the {found.recursion.shown} calls that the crash shows"
        name = quote(function or found.recursion.function)
        return f"{name} fills {shown}: it calls itself until the stack is used up. "
    if function is None:
        return "Calls within calls used up the stack. "
    if is_memory_death(context):
        share = of_words(ramp_bytes(context), context.missing_bytes or 0)
        return f"Explains {share}: {quote(function)} calls itself, and each call waits in memory. "
    return f"{quote(function)} calls itself until the stack is used up. "


def _snippet(found: Deep) -> str | None:
    """The user's function with a list in place of the call stack."""
    scope = found.function
    if scope is None or scope.is_cell:
        return None
    names = [name for name in scope.parameters if name not in ("self", "cls")]
    if not names:
        return None  # a special method that leads back to itself is a slip, not a walk
    item = names[0]
    return (
        f"def {scope.function}({ast.unparse(scope.arguments)}):\n"
        f"    waiting = [{item}]\n"
        "    while waiting:\n"
        f"        {item} = waiting.pop()\n"
        f"        …  # the work on one {item}\n"
        f"        waiting.extend(…)  # instead of the call of {scope.function} in itself"
    )
