"""Arrays and data frames that a loop makes anew in each round, one piece longer: `df = pd.concat([df, part])`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..edits import insert_after, insert_before, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..code.notebook import Call, Notebook
    from ..code.scopes import Loop
    from ..edits import Changes


@dataclass(frozen=True)
class Growing:
    """A call in a loop that puts what was there and a new piece together, under the old name."""

    call: Call
    name: str
    piece: ast.expr
    loop: Loop

    def gathered(self) -> Changes:
        """Return the edit that keeps the pieces in a list and puts them together once, after the loop."""
        scope, parts = self.call.scope, f"{self.name}_parts"
        whole = self.call.node.args[0]
        start, text = self.call.text, scope.segment(whole)
        once = f"{self.name} = {start.replace(text, parts, 1)}"
        return (
            *insert_before(scope, self.loop, f"{parts} = [{self.name}]"),
            *replace(scope, self.call.statement, f"{parts}.append({scope.segment(self.piece)})"),
            *insert_after(scope, self.loop, once),
        )


def growing(code: Notebook, *functions: str) -> Iterator[Growing]:
    """Yield what grows in this way in a loop, where nothing else in the loop uses the whole."""
    for call in code.running.calls(*functions):
        match call.statement, call.node.args[:1]:
            case ast.Assign(targets=[ast.Name(id=name)], value=value), [ast.List(elts=[ast.Name(id=first), piece])] | [
                ast.Tuple(elts=[ast.Name(id=first), piece])
            ]:
                loops = call.scope.loops_around(call.node)
                if value is not call.node or first != name or not loops:
                    continue
                uses = [one for one in call.scope.inside(loops[0]) if isinstance(one, ast.Name) and one.id == name]
                stays = not any(isinstance(one, ast.Return | ast.Yield) for one in call.scope.inside(loops[0]))
                if len(uses) == 2 and stays and not loops[0].orelse:
                    yield Growing(call, name, piece, loops[0])
