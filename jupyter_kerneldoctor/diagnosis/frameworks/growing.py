"""Arrays and data frames that a loop makes anew in each round, one piece longer: `df = pd.concat([df, part])`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..code.notebook import Call, Notebook
from ..code.scopes import Loop
from ..edits import Changes, replace_by_lines


@dataclass(frozen=True)
class Growing:
    """A call in a loop that puts what was there and a new piece together, under the old name."""

    call: Call
    name: str
    piece: ast.expr
    loop: Loop

    @property
    def gathered(self) -> str:
        """The loop with a list of the pieces, which are put together after it."""
        scope, parts = self.call.scope, f"{self.name}_parts"
        once = self.call.text.replace(scope.segment(self.call.node.args[0]), parts, 1)
        piece = scope.segment(self.piece)
        head = (
            f"while {scope.segment(self.loop.test)}"
            if isinstance(self.loop, ast.While)
            else (f"for {scope.segment(self.loop.target)} in {scope.segment(self.loop.iter)}")
        )
        return f"{parts} = [{self.name}]\n{head}:\n    {parts}.append({piece})\n{self.name} = {once}"

    def resized(self) -> Changes:
        """Return the edit that makes the array longer where it is: no copy is made of what it holds."""
        name, scope = self.name, self.call.scope
        return replace_by_lines(
            scope,
            self.call.statement,
            f"piece = {scope.segment(self.piece)}",
            f"{name}.resize(({name}.shape[0] + len(piece), *{name}.shape[1:]), refcheck=False)",
            f"{name}[-len(piece):] = piece",
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
