import ast
from typing import TypeGuard

from ...code.calls import last_name
from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size

_WAITED_FOR = {"MemoryError", "RuntimeError", "OutOfMemoryError", "ResourceExhaustedError", "XlaRuntimeError"}
_PART = 0.9  # of the limit
_SEARCH = (
    "import torch\ndef largest(net, n=2):\n    while True:\n        try:\n"
    "            net(torch.ones(n, 3)).sum().backward()\n            n *= 2\n"
    "        except RuntimeError:  # out of memory\n            return n // 2"
)


class BoundTheSearch(Fix):
    """End a search for the largest size before the memory is full.

    What it does: Code that tries larger and larger sizes until an exception comes finds the end of a graphics card's
    memory. Linux refuses nothing: it ends the process where the memory is full. Below a limit of its own the process
    gets the exception that the loop waits for. Or the loop ends at the largest size that you would use.

    When it is offered: The kernel was killed in a loop that makes a number larger, with a `try` whose `except` is for
    memory that is refused.

    What it costs: Nothing. Some libraries end the process when memory is refused.
    """

    id, title, causes = "bound-the-search", "End the search before the memory is full", (Family.MEMORY,)

    FIRES = [
        Case(_SEARCH, "largest(net)", says=("`n *= 2`", "while n <= 1024:", "resource.RLIMIT_DATA, (1887436800")),
        Case(
            "total = 1\nfor _ in range(99):\n    try:\n        rows = [0] * total\n        total = total * 2\n"
            "    except MemoryError:\n        break",
            says=("`total = total * 2`",),
        ),
    ]
    SILENT = [
        Case(_SEARCH.replace("RuntimeError", "KeyError"), "largest(net)"),
        Case(_SEARCH.replace("n *= 2", "rate *= 0.9"), "largest(net)"),
        Case(_SEARCH.replace("return n // 2", "n //= 4"), "largest(net)"),  # it goes on with less
    ]

    def propose(self, death: Death) -> Proposals:
        limit = death.memory.limit_bytes
        if limit is None or death.signal != "SIGKILL":
            return
        for tried, scope in death.code.running.nodes(ast.Try):
            larger = [one for part in tried.body for one in walk(part) if _is_made_larger(one)]
            if not larger or not scope.loops_around(tried) or not any(map(_ends_it, tried.handlers)):
                continue
            grown = scope.segment(larger[0])
            why = f"{quote(grown)} goes on until an exception comes, but none came: Linux ended the "
            why += f"kernel at {size(limit)}. With a limit of its own just below that, the exception comes."
            snippet = "import resource  # before the search\nresource.setrlimit(resource.RLIMIT_DATA, "
            snippet += f"({int(_PART * limit)}, resource.RLIM_INFINITY))\n\n"
            snippet += f"# or end it at the largest that you would use:\nwhile {grown.split()[0]} <= 1024:\n    ..."
            yield Proposal(why=why, explains=death.memory.missing_bytes, snippet=snippet)
            return


def _is_made_larger(node: ast.AST) -> TypeGuard[ast.stmt]:
    """Whether a statement multiplies a name by a whole number, or a constant: `n *= 2`, `n = n * 2`."""
    match node:
        case ast.AugAssign(target=ast.Name(), op=ast.Mult() | ast.LShift(), value=ast.Constant(value=int())):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant())):
            return last_name(left) == name
    return False


def _ends_it(handler: ast.ExceptHandler) -> bool:
    """Whether it waits for memory that is refused, and the loop is over then."""
    caught = {last_name(one) for one in walk(handler.type)} if handler.type is not None else set()
    return bool(caught & _WAITED_FOR) and any(isinstance(one, ast.Return | ast.Break) for one in walk(handler))
