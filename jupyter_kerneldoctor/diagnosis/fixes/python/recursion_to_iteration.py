import ast

from ...analysis.traceback import reports
from ...code.calls import last_name
from ...code.deep_calls import DeepCall
from ...code.literals import number
from ...code.notebook import Notebook
from ...code.origins import all_origins
from ...code.recursion import calls_itself, names_itself
from ...code.trees import unparse
from ...edits import replace
from ...examples import cell_file, crash_in, crash_report
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...units import sentence, share_of

_SANE = "3000"
_HIGHEST_SANE = 10_000  # about 20,000 calls through C use up the usual 8 MB of stack
_LOWERED = "Get a RecursionError in place of the dead kernel: keep the recursion limit low"
_DEEPER = """

# or, where it is right and only deep, in a thread with a larger stack:
import sys, threading
sys.setrecursionlimit(1_000_000)
threading.stack_size(512 << 20)
results = []
worker = threading.Thread(target=lambda: results.append({target}))
worker.start(); worker.join()  # what it gave is results[0]"""
_INSTEAD = "# another way, in place of the low limit:"
_COMPARES = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
_PAIRS = """def {0}({1}):
    waiting = [({1})]
    while waiting:
        {1} = waiting.pop()
        …  # return, where these two differ in what is their own
        waiting.extend(…)  # the pairs of what they hold, in place of comparing those here
    return …  # all were equal"""
_BASE_CASE = "Check its base case first: a recursion without an end needs a correction, not a deeper stack."
_FLATTER = "Keep the levels in a list before they are copied, saved or printed, or nest them less deep."
_FLAT = """flat, waiting = [], [data]
while waiting:
    one = waiting.pop()
    flat.append(…)  # its own values, and to which it belongs
    waiting.extend(…)  # those that it holds
# copy, save or print `flat`"""
_JOINED = "Collect the parts in a list, and go through them once, in place of wrapping the iterator in each round"
_PARTS = "parts = []\nfor part in …:\n    parts.append(part)\n{} = itertools.chain.from_iterable(parts)"
_SIDE_BY_SIDE = "Keep the steps side by side in one tuple, not each in the next"
_STEPS = """steps = []  # in place of {0} = (step, {0})
for step in …:
    steps.append(step)
{0} = tuple(steps)  # flat: its hash needs no nested calls"""

_FROM_BELOW = """for step in range(0, {0}, 200):
    {1}(step)  # the cache then holds all smaller ones: no call goes deep
print({1}({0}))"""

_NODE = "sys.setrecursionlimit(10**6)\nclass Node:\n    def __bool__(self): return bool(self.next)\nhead = Node()"
_EQUAL = (
    "import sys\nsys.setrecursionlimit(10**6)\nclass Node:\n    def __eq__(self, o):\n"
    "        return self.value == o.value and self.next == o.next"
)
_COMPARED = crash_report("Segmentation fault", *[(cell_file(_EQUAL), 5, "__eq__")] * 100, cut=True)
_ASKS = (
    "class Bag:\n    def __init__(self, d):\n        self._d = d\n    def __getattr__(self, name):\n"
    "        return self._d.get(name)"
)
_ASKED = crash_report("Segmentation fault", *[(cell_file(_ASKS), 5, "__getattr__")] * 100, cut=True)
_CRASH = crash_report("Segmentation fault", *[(cell_file(_NODE), 3, "__bool__")] * 100, cut=True)


class RecursionToIteration(Fix):
    """Lower the recursion limit again, and use a loop where calls go deep.

    What it does: Each call of a function inside itself takes a piece of the stack, 8 MB as a rule. When it is used up,
    the process ends without a Python error. Python's own limit of 1000 calls is there to turn that into a
    `RecursionError` with a traceback. The edit lowers a raised `sys.setrecursionlimit(...)` to 3000; the snippet shows
    the same walk with a list in place of the call stack, which may be as long as memory allows.

    When it is offered: The stack overflowed, or memory ran out little by little in a function that calls itself after
    the limit was raised above 10,000 (from Python 3.11 on, calls of pure Python code take memory, not stack).

    What it costs: Code that needs more than 3000 nested calls stops with a `RecursionError` until it is rewritten as a
    loop.
    """

    id, title = "recursion-to-iteration", "Use a loop where the recursion is deep"
    causes = ("stack-overflow", Family.MEMORY)

    FIRES = [
        Case(
            "import sys",
            _NODE,
            "bool(head)",
            crash=_CRASH,
            becomes={2: _NODE.replace("10**6", "3000")},
            says=("1,000,000", "__bool__", "RecursionError in place of"),
        ),
        Case(
            "from sys import setrecursionlimit as deeper\ndeeper( 500_000 )  # tiefer",
            "def walk(tree, depth=0):\n    for child in tree.children: walk(child, depth + 1)",
            "walk(root)",
            becomes={"500_000": "3000"},
            says=("def walk(tree, depth=0):", "while waiting:", "threading.stack_size"),
        ),
        Case(
            "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1) + 1",
            "f(0)",
            becomes={"10**9": "3000"},
            says=("accounts for all 1.8 GiB",),
            cause="oom-cgroup",
        ),
        Case(
            "import sys\nlimit = 10**7\nsys.setrecursionlimit(limit)",
            "def height(node): return 1 + max(map(height, node.children), default=0)",
            "height(root)",
            becomes={"(limit)": "(3000)"},
            says=("10,000,000", "waiting.extend"),
        ),
        Case(
            "def depth(tree): return 1 + max(map(depth, tree), default=0)",
            "depth(nested)",
            says=("depth", "Use a loop"),
        ),
        Case(
            "import sys, pickle\nsys.setrecursionlimit(10**6)\ndef save(tree): return pickle.dumps(tree)",
            "save(head)",
            crash=crash_in("save(head)"),
            becomes={"10**6": "3000"},
            says=("Native code that goes through nested data", "waiting.extend", "RecursionError in place of"),
        ),
        Case(
            "from itertools import chain\ndef joined(pages):\n    out = iter(())\n    for page in pages:\n"
            "        out = chain(out, page)\n    return out",
            "words = joined(pages)",
            "count = sum(1 for _ in words)",
            crash=crash_in("count = sum(1 for _ in words)"),
            says=("Collect the parts in a list", "words = itertools.chain.from_iterable(parts)"),
        ),
        Case(
            "path = ()\nfor step in steps: path = (step, path)",
            "seen.add(path)",
            crash=crash_in("seen.add(path)"),
            says=("side by side", "path = tuple(steps)"),
        ),
        Case(
            _EQUAL,
            "same = a == b",
            crash=_COMPARED,
            becomes={"10**6": "3000"},
            says=("# another way, in place of", "waiting = [(self, o)]", "results.append(…)"),
        ),
        Case(
            _ASKS,
            "copy.copy(Bag({}))",
            crash=_ASKED,
            says=("if name in ('_d',):", "raise AttributeError(name)\n    …  # as before"),
        ),
        Case(
            "import sys\nfrom functools import cache\nsys.setrecursionlimit(sys.getrecursionlimit() * 1000)",
            "@cache\ndef ways(n): return n if n < 2 else ways(n - 1) + ways(n - 2)",
            "ways(10**6)",
            becomes={"sys.getrecursionlimit() * 1000": "3000"},
            says=("raised Python's limit. With", "for step in range(0, 10**6, 200):\n    ways(step)"),
        ),
    ]
    SILENT = [
        Case("import sys\nsys.setrecursionlimit(5000)", "work()"),
        Case("import sys\nsys.setrecursionlimit(10**9)", "x = [0] * 10**10", cause="oom-cgroup"),
        Case("import sys\nsys.setrecursionlimit(10**6)", "crash()", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, memory = death.code, death.memory
        if (deep := death.deep_call) is not None and deep.wraps is not None:
            yield _unnested(deep)
            return
        limits = [(one, _limit(one, death)) for one in code.calls("sys.setrecursionlimit")]
        worked_out = () if death.is_about_memory else (ast.Call, ast.BinOp)  # a limit that overflows the stack is high
        raised = [
            one
            for one, limit in limits
            if limit > _HIGHEST_SANE or (not limit and isinstance(next(iter(one.node.args), None), worked_out))
        ]
        others = {one.function: one for one in code.running.functions}
        functions = [scope for scope in code.running.functions if calls_itself(scope, others, code)]
        shown = [one.recursion for one in reports(death.recording.crash_text) if one.recursion]
        if not death.is_about_memory:
            named = [scope for one in shown[-1:] for scope in code.functions_named(one.function.rsplit(".", 1)[-1])]
            functions = named or functions
            if not raised and any("setrecursionlimit" in cell.source for cell in code.cells):
                return  # the limit is low already
        elif not (raised and functions and memory.grew_here):
            return
        explains = memory.ramp_bytes if death.is_about_memory else None
        function = functions[0] if functions else None
        if death.is_about_memory and function is not None:
            share = share_of(memory.ramp_bytes, memory.missing_bytes or 0)
            why = f"{quote(function.name)} calls itself, and each call stays in memory. "
            why += f"That accounts for {share} that the cell took. "
        elif shown:
            name = quote(function.name if function is not None else shown[-1].function)
            why = f"{name} calls itself until the stack is used up: {shown[-1].share} in the crash report are its own. "
        elif function is None and death.traceback is not None:
            why = "Native code that goes through nested data calls itself for each level, until the stack is used up. "
        else:
            who = "A function" if function is None else quote(function.name)
            why = f"{who} calls itself until the stack is used up. "
        for one in raised:
            limit = _limit(one, death)
            why += (
                f"{sentence(code.cell_name(one.cell))} raised Python's limit{f' to {limit:,} calls' if limit else ''}. "
                f"With {_SANE} it stops with a RecursionError and a traceback: the kernel lives, but there is "
                "no result until the function goes less deep, or is a loop. "
            )
            break
        in_c = function is None and not shown and death.traceback is not None and not death.is_about_memory
        why += _FLATTER if in_c else _BASE_CASE
        edits = tuple(change for one in raised for change in replace(one.scope, one.node.args[0], _SANE))
        snippet = _FLAT if in_c else _written(function, death)
        snippet = f"{_INSTEAD}\n{snippet}" if snippet and edits else snippet
        yield Proposal(edits, why, explains, _LOWERED if raised else None, snippet)


def _written(function: Scope | None, death: Death) -> str | None:
    """Return the function as a loop, or asked from below; where it is only deep, also how it gets a larger stack."""
    snippet = _from_below(function, death.code) or _snippet(function)
    if snippet is None or function is None or death.is_about_memory or "AttributeError" in snippet:
        return snippet
    target = "…" if function.owner is not None else f"{function.function}(…)"
    return snippet + (_DEEPER.replace("{target}", target) if snippet.startswith("def ") else "")


def _unnested(deep: DeepCall) -> Proposal:
    why = f"{quote(deep.name)} {deep.why}. In a list nothing is nested."
    if deep.is_data:
        return Proposal((), why, None, _SIDE_BY_SIDE, _STEPS.format(deep.name))
    return Proposal((), why, None, _JOINED, _PARTS.format(deep.name) if "chain" in (deep.wraps or "") else None)


def _limit(call: Call, death: Death) -> int:
    """Return the limit that a call sets, also where the number has a name; 0 where it is not known."""
    if not call.node.args or isinstance(call.node.args[0], ast.BinOp | ast.Call):
        return number(call.node.args[0]) or 0 if call.node.args else 0
    given = [one.node for one in all_origins(call.node.args[0], call.scope, death.code)]
    return next((found for one in given if (found := number(one)) is not None), 0)


def _from_below(scope: Scope | None, code: Notebook) -> str | None:
    """Return how a function that keeps its results is asked for the small numbers first; None for any other one."""
    names = [] if scope is None else [one for one in scope.parameters if one not in ("self", "cls")]
    kept = [] if scope is None else [last_name(getattr(one, "func", one)) for one in scope.decorators]
    if scope is None or len(names) != 1 or not {"cache", "lru_cache"} & {*kept}:
        return None
    inner = [one.args[0] for one in scope.calls if last_name(one.func) == scope.function and one.args]
    if not inner or not all(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) for one in inner):
        return None
    asked = [
        (outer.segment(one.func), outer.segment(one.args[0]))
        for outer in code.running
        for one in outer.calls
        if outer is not scope and last_name(one.func) == scope.function and len(one.args) == 1
    ]
    call, most = asked[0] if asked else (scope.function, "…")
    return _FROM_BELOW.format(most, call)


def _asked_of_self(scope: Scope) -> str:
    """Return the attributes that a `__getattr__` reads of its own object, which may not be there yet."""
    read, stored = set[str](), set[str]()
    for node in scope.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in scope.parameters[:1]:
                (read if isinstance(node.ctx, ast.Load) else stored).add(attribute)
    asked = sorted(one for one in read - stored if not (one.startswith("__") and one.endswith("__")))
    return ", ".join(map(repr, asked))


def _snippet(scope: Scope | None) -> str | None:
    """Return the user's function with a list in place of the call stack."""
    if scope is not None and scope.function == "__getattr__" and (asked := _asked_of_self(scope)):
        return (
            f"def __getattr__({unparse(scope.arguments)}):\n    if {scope.parameters[-1]} in ({asked},):"
            "  # not there yet: copies are made without __init__\n"
            f"        raise AttributeError({scope.parameters[-1]})\n    …  # as before"
        )
    if scope is not None and scope.owner is not None and scope.function in _COMPARES:
        return _PAIRS.format(scope.function, ", ".join(scope.parameters))
    names = [] if scope is None else [name for name in scope.parameters if name not in ("self", "cls")]
    if scope is None or not names:
        return None  # a special method that leads back to itself is a slip, not a walk
    if scope.owner is not None and not names_itself(scope):
        names = scope.parameters  # it is called on the next object
    return (
        f"def {scope.function}({unparse(scope.arguments)}):\n    waiting = [{names[0]}]\n    while waiting:\n"
        f"        {names[0]} = waiting.pop()\n        …  # the work on this {names[0]}\n"
        f"        waiting.extend(…)  # in place of the recursive call"
    )
