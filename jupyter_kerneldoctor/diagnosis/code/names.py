"""Which thing a name in a cell stands for: `k` is `os.kill` after `from os import kill as k`."""

from __future__ import annotations

import ast

_OWN = (
    *("os.getpid()", "os.getpgrp()", "os.getpgid()", "psutil.Process().pid"),
    *("threading.get_ident()", "threading.main_thread().ident", "threading.current_thread().ident"),
)
_LONGEST = 200  # characters; a chain beyond that is no name of anything


class Names:
    """The names that imports and plain assignments bound, in the order the cells ran."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def learn(self, tree: ast.Module) -> None:
        """Take in what a cell binds, also inside of functions and branches."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    self._known[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self._known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Assign):
                self._bind(node.targets, node.value)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._known.pop(node.name, None)

    def resolve(self, node: ast.expr | None) -> str | None:
        """Return the dotted name an expression stands for.

        A call is its name with `()`, or with `(…)` if its arguments name anything but this process itself:
        `psutil.Process()` and `psutil.Process(os.getpid())` are the same, `psutil.Process(42)` is another.
        """
        if isinstance(node, ast.Name):
            return self._known.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return None if owner is None or len(owner) > _LONGEST else f"{owner}.{node.attr}"
        if isinstance(node, ast.Call):
            function = self.resolve(node.func)
            if function is None or len(function) > _LONGEST:
                return None
            own = not node.keywords and all(self.is_own(argument) for argument in node.args)
            return f"{function}()" if own else f"{function}(…)"
        return None

    def is_own(self, node: ast.expr) -> bool:
        """Whether an expression stands for the id of this process, its group, or its thread (0 is short for them)."""
        if isinstance(node, ast.Constant):
            return node.value == 0
        return self.resolve(node) in _OWN

    def _bind(self, targets: list[ast.expr], value: ast.expr) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                name = self.resolve(value)
                if name is None or name == target.id:
                    self._known.pop(target.id, None)
                else:
                    self._known[target.id] = name
