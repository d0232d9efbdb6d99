"""Arrays and data frames that a loop makes anew in each round, one piece longer: `df = pd.concat([df, part])`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..code.notebook import Call, Notebook
from ..code.origins import Origins
from ..code.scopes import Loop, Scope
from ..code.trees import unparse


@dataclass(frozen=True)
class Growing:
    """A call in a loop that puts what was there and a new piece together, under the old name."""

    call: Call
    name: str
    piece: ast.expr
    loop: Loop
    around: Scope
    """Where the loop stands: the call's own scope, or what calls its function."""

    @property
    def gathered(self) -> str:
        """The loop with a list of the pieces, which are put together after it."""
        scope, parts = self.call.scope, f"{self.name}_parts"
        once, function = self.call.text, scope.segment(self.call.node.func)
        if self.call.name == "numpy.append":
            axis = self.call.argument("axis", 2)
            flat = f"[{function[:-6]}ravel(one) for one in {parts}]" if axis is None else parts
            once = f"{function[:-6]}concatenate({flat}{'' if axis is None else f', axis={scope.segment(axis)}'})"
        elif "." in self.name:
            once = once.replace(scope.segment(self.piece), f"*{parts}", 1)
        else:
            once = once.replace(scope.segment(self.call.node.args[0]), parts, 1)
        if "." in self.name:
            added = f"{parts}.append({scope.segment(self.piece)})  # in place of the copy; {parts} = [] before"
            return f"{added}\n\n{self.name} = {once}  # once, at the end"
        piece = scope.segment(self.piece)
        head = (
            f"while {scope.segment(self.loop.test)}"
            if isinstance(self.loop, ast.While)
            else (f"for {scope.segment(self.loop.target)} in {scope.segment(self.loop.iter)}")
        )
        return f"{parts} = [{self.name}]\n{head}:\n    {parts}.append({piece})\n{self.name} = {once}"


def growing(code: Notebook, *functions: str) -> Iterator[Growing]:
    """Yield what grows in this way in a loop, where nothing else in the loop uses the whole.

    An attribute, `self.trace`, may also grow in a method that a loop calls.
    """
    for call in code.running.calls(*functions):
        scope, pair = call.scope, call.node.args[:2]
        match call.node.args[:1]:
            case [ast.List(elts=elements) | ast.Tuple(elts=elements)]:
                pair = elements
        match call.statement, pair:
            case ast.Assign(targets=[ast.Name(id=name)], value=value), [ast.Name(id=first), piece]:
                loops = scope.loops_around(call.node)
                if value is not call.node or first != name or not loops:
                    continue
                uses = [one for one in scope.inside(loops[0]) if isinstance(one, ast.Name) and one.id == name]
                stays = not any(isinstance(one, ast.Return | ast.Yield) for one in scope.inside(loops[0]))
                if len(uses) == 2 and stays and not loops[0].orelse:
                    yield Growing(call, name, piece, loops[0], scope)
            case ast.Assign(targets=[ast.Attribute() as target], value=value), [ast.Attribute() as old, piece]:
                if value is call.node and unparse(old) == unparse(target):
                    for place, around in [(call.node, scope), *Origins(code).calls_of(scope)]:
                        for loop in around.loops_around(place)[:1]:
                            yield Growing(call, unparse(old), piece, loop, around)
