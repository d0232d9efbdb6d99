"""A call that stands in a cell."""

import ast
from dataclasses import dataclass

from .scopes import Scope
from .trees import walk


def last_name(node: ast.AST | None) -> str:
    """Return the last part of a name: "fit" of `model.fit` and of `fit`; "" for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def plain_names(*nodes: ast.AST) -> set[str]:
    """Return the names in expressions: {"f", "x"} of `f(x.y)`."""
    return {one.id for node in nodes for one in walk(node) if isinstance(one, ast.Name)}


def given_to(call: ast.Call) -> list[ast.expr]:
    """Return all that a call is given, with a name or without."""
    return [*call.args, *(word.value for word in call.keywords)]


@dataclass(frozen=True)
class Call:
    """A call of a function whose full name is known."""

    node: ast.Call
    scope: Scope
    name: str
    """The function's full name: `pandas.read_csv`."""

    @property
    def cell(self) -> int:
        """The cell it stands in, as an index of `Notebook.cells`."""
        return self.scope.cell

    @property
    def statement(self) -> ast.stmt:
        """The innermost statement it stands in."""
        return self.scope.tree.statements[self.node]

    @property
    def text(self) -> str:
        """The call as the user wrote it."""
        return self.scope.segment(self.node)

    @property
    def is_written_out(self) -> bool:
        """Whether it hides no arguments in `*args` or `**options`."""
        starred = any(isinstance(one, ast.Starred) for one in self.node.args)
        return not starred and all(word.arg is not None for word in self.node.keywords)

    def argument(self, *names: str | int) -> ast.expr | None:
        """Return what is given under the first of these keywords or positions that is given: `argument("dtype", 1)`.

        None where none is, or not in so many words: `*args`, `**options`.
        """
        for name in names:
            if isinstance(name, str):
                given = [word.value for word in self.node.keywords if word.arg == name]
            else:
                given = self.node.args[: name + 1]
                given = [] if any(isinstance(one, ast.Starred) for one in given) else given[name:]
            if given:
                return given[0]
        return None
