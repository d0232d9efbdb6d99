import ast

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ...code.trees import walk
from ...fix import Advice, Case, Death, quote, size

_ALLOCATORS = ("malloc", "calloc", "realloc", "aligned_alloc", "valloc")
_LIBC = "import ctypes\nlibc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p"
_LIMITED = [SystemState(-1, "start", rlimits={"AS": Rlimit(3 << 30, 3 << 30)}, address_space_bytes=900 << 20)]


class CheckAllocation(Advice):
    """Allow the process more memory, and check what native code was given.

    What it does: A process may be allowed only so much memory, `ulimit -v` or `ulimit -d`. Beyond it `malloc` returns
    NULL, and code that uses it nevertheless crashes. The snippet raises the limit as far as that is allowed. Where
    there is no memory it raises a `MemoryError` in place of the crash.

    When it is offered: Native code crashed in a process with such a limit, and the cell asks the C library for memory.

    What it costs: Nothing.
    """

    id, title, causes = "check-allocation", "Raise `ulimit -v`, and check the memory you got", ("segfault",)
    headline = "Raise `ulimit -{flag}`, the memory limit of the process, and check for NULL"
    why = (
        "{asked} returns NULL where it gets no memory, and nothing checks it. This process may have only {allowed} "
        "(`ulimit -{flag}`, RLIMIT_{name})."
    )
    snippet = (
        "import resource  # or start Jupyter after `ulimit -{flag} unlimited`\n"
        "_, hard = resource.getrlimit(resource.RLIMIT_{name})\n"
        "resource.setrlimit(resource.RLIMIT_{name}, (hard, hard))\n\n{target} = {code_}\n"
        "if not {target}:\n    raise MemoryError('no memory')  # an error in place of the crash"
    )

    FIRES = [
        Case(
            _LIBC,
            "for i in range(99):\n    p = libc.malloc(256 << 20)\n    libc.memset(p, 1, 4096)",
            system_states=_LIMITED,
            says=("3.0 GiB", "ulimit -v", "if not p:", "NULL"),
        )
    ]
    SILENT = [
        Case(_LIBC, "p = libc.malloc(256 << 20)\nlibc.memset(p, 1, 4096)"),
        Case(_LIBC, "p = libc.malloc(9)\nif not p: stop()\nuse(p)", system_states=_LIMITED),
        Case(_LIBC, "libc.strlen(0)", system_states=_LIMITED),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the limit, and the memory that nothing checks."""
        limits = [(name, death.environment.soft_limit(name)) for name in ("AS", "DATA")]
        name, limit = next(((name, soft) for name, soft in limits if soft is not None), ("", 0))
        for call, scope in death.code.running.nodes(ast.Call) if name else ():
            match call.func, scope.statement_of(call):
                case ast.Attribute(attr=attr), ast.Assign(targets=[ast.Name(id=target)]) if attr in _ALLOCATORS:
                    checks = [one.test for one in scope.nodes if isinstance(one, ast.If | ast.Assert | ast.IfExp)]
                    if any(getattr(n, "id", "") == target for one in checks for n in walk(one)):
                        continue
                    text = scope.segment(call)
                    flag = "v" if name == "AS" else "d"
                    more = {"asked": quote(text), "allowed": size(limit), "flag": flag, "name": name}
                    return {**more, "target": target, "code_": text}
        return None
