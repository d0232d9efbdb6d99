import ast

from ...code.origins import all_origins
from ...code.stores import container_name, stores
from ...code.trees import unparse, walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...place import guilty_place

_FILE = (
    "with open('all.txt', '{mode}') as file:  # around the loop\n"
    "    file.write({value})  # in it, in the place of {name} += ..."
)


class WritePartsToAFile(Fix):
    """Write each part of a long text to a file.

    What it does: `text += part` in a loop keeps all parts in one text, which is copied whenever it has to move. What is
    written to a file takes no memory, and `print(*rows, file=file)` writes it as it would stand on the screen.

    When it is offered: Memory ran out in a loop that makes a text longer.

    What it costs: What comes later reads the file, best line by line.
    """

    id, title, causes = "write-parts-to-a-file", "Write each part to a file, not into one long text", (Family.MEMORY,)

    FIRES = [
        Case("s = ''\nfor c in chunks:\n    s += f'{c}; '", line=3, says=("file.write(f'{c}; ')", "one text")),
        Case("s = ''\nfor r in rows:\n    s = s + r", line=3, says=("file.write(r)",)),
        Case("s = ''\nfor r in rows:\n    s = s + r + end", line=3, says=("file.write(r + end)",)),
        Case("d = b''\nwhile (c := s.recv(9)):\n    d += c", line=3, says=("'wb'", "file.write(c)")),
    ]
    SILENT = [
        Case("text = 'x' * 9\nwhile True:\n    text += text", line=3),
        Case("n = 0\nfor c in chunks:\n    n += c", line=3),
        Case("s = ''\ns += load()", line=2),
        Case("s = ''\nfor c in chunks:\n    s += c\nbig = load()", line=4),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        for store in () if at is None else stores([at.scope]):
            match store.statement:
                case (
                    ast.AugAssign(op=ast.Add(), target=ast.Name() | ast.Attribute() as text, value=value)
                    | ast.Assign(targets=[ast.Name() | ast.Attribute() as text], value=ast.BinOp(op=ast.Add()) as value)
                ) if at is not None and store.statement is at.node and store.scope.loops_around(at.node):
                    added = _added(value, text) if isinstance(store.statement, ast.Assign) else [value]
                    if not added:
                        continue
                    origins = (one.node for one in all_origins(text, store.scope, death.code))
                    names = (one for part in added for one in walk(part) if isinstance(one, ast.Name | ast.Attribute))
                    texts = [one.value for one in origins if isinstance(one, ast.Constant)]
                    begins = next((one for one in texts if isinstance(one, str | bytes)), None)
                    if begins is not None and all(container_name(one) != store.container for one in names):
                        why = f"{quote(at.text)} keeps all parts in one text, which is copied whenever it has to move."
                        mode = "w" if isinstance(begins, str) else "wb"
                        snippet = _FILE.format(
                            name=store.container, value=" + ".join(map(store.scope.segment, added)), mode=mode
                        )
                        yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)


def _added(value: ast.expr, text: ast.expr) -> list[ast.expr]:
    """Return what is put behind a text: `row`, `end` of `text + row + end`; nothing where it does not begin with it."""
    parts = list[ast.expr]()
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts.insert(0, value.right)
        value = value.left
    return parts if unparse(value) == unparse(text) else []
