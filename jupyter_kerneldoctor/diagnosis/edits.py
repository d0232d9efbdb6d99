"""Edits of the user's own text: each verb changes one thing in a cell, and no character besides.

    set_argument(call, "full_matrices", "False")
    wrap(scope, [loop], "with torch.no_grad():")

A verb returns changes; those of several verbs are joined with `+`. It raises EditRefusedError where the text does not
allow the edit, as where a statement follows another on its line; the fix is then left out. IPython's magics, line ends,
tabs and comments stay as they are.
"""

import ast
import dataclasses
import re
from collections.abc import Sequence
from itertools import takewhile

from .changes import Change, Changes, EditRefusedError, joined
from .code.calls import given_to
from .code.cellsource import line_of, lines_of, mask, offset, parse, span
from .code.notebook import Call, Notebook
from .code.scopes import Scope
from .code.trees import after_future
from .indentation import first_line, indent_unit, indentation, line_end, lines_within_texts, own_line

__all__ = [
    "Change",
    "Changes",
    "EditRefusedError",
    "append",
    "dedent",
    "drop_argument",
    "hide_output",
    "import_as",
    "indent",
    "indent_unit",
    "insert_after",
    "insert_before",
    "remove",
    "replace",
    "replace_by_lines",
    "replace_magic",
    "set_argument",
    "text_of",
    "wrap",
]
"""The verbs, and what a fix needs beside them."""

_SIMPLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


def replace(scope: Scope, node: ast.expr | ast.stmt, text: str) -> Changes:
    """Put a text in a node's place."""
    return (Change(scope.cell, *span(scope.tree.source, node), text),)


def replace_by_lines(scope: Scope, statement: ast.stmt, *lines: str) -> Changes:
    """Put lines in a statement's place, as far indented as it is."""
    source = scope.tree.source
    indent, freed = own_line(scope, statement) if len(lines) > 1 else ("", ())
    return freed + replace(scope, statement, (line_end(source) + indent).join(lines))


def append(scope: Scope, node: ast.expr, text: str) -> Changes:
    """Write a text directly behind an expression, `.item()`; put the expression in parentheses where it needs them."""
    start, end = span(scope.tree.source, node)
    if isinstance(node, _SIMPLE):
        return (Change(scope.cell, end, end, text),)
    return Change(scope.cell, start, start, "("), Change(scope.cell, end, end, ")" + text)


def set_argument(call: Call, name: str, value: str, position: int | None = None) -> Changes:
    """Give a call an argument by its name, or another value for it where it has one.

    `position` is where the argument may also be given without its name. Raises EditRefusedError where `*` or `**` in
    the call may give it already.
    """
    given = call.argument(name) if position is None else call.argument(name, position)
    if given is not None:
        return replace(call.scope, given, value)
    hides_names = any(word.arg is None for word in call.node.keywords)
    if hides_names or (position is not None and any(isinstance(one, ast.Starred) for one in call.node.args)):
        raise EditRefusedError(f"`*` or `**` in {call.text} may give {name} already")
    source, (start, end) = call.scope.tree.source, span(call.scope.tree.source, call.node)
    node, written = call.node, f"{name}={value}"
    places = [span(source, one)[1] for one in given_to(node)]
    tries = [(max(places), f", {written}"), (end - 1, f", {written}")] if places else []
    before = _arguments(call.text)
    for place, text in [*tries, (end - 1, written)]:  # the last argument may stand in parentheses of its own
        if _arguments(source[start:place] + text + source[place:end]) == before + 1:
            return (Change(call.cell, place, place, text),)
    raise EditRefusedError(f"{name} finds no place in {call.text}")


def drop_argument(call: Call, name: str) -> Changes:
    """Take an argument that is given by its name out of a call. Raises EditRefusedError when it is not given so."""
    source = call.scope.tree.source
    given = next((word for word in call.node.keywords if word.arg == name), None)
    if given is None:
        raise EditRefusedError(f"{call.text} has no {name}")
    start, end = span(source, given)
    if (comma := re.search(r",\s*$", source[:start])) is not None:
        start = comma.start()
    elif (comma := re.compile(r"\s*,[ \t]*").match(source, end)) is not None:
        end = comma.end()
    return (Change(call.cell, start, end, ""),)


def insert_before(scope: Scope, statement: ast.stmt, *lines: str) -> Changes:
    """Write lines before a statement, as far indented as it is."""
    source, (indent, freed) = scope.tree.source, own_line(scope, statement)
    end, start = line_end(source), offset(source, first_line(statement), 0)
    if freed:
        start = freed[0].end
        return (*freed, Change(scope.cell, start, start, "".join(f"{line}{end}{indent}" for line in lines)))
    return (Change(scope.cell, start, start, "".join(f"{indent}{line}{end}" for line in lines)),)


def insert_after(scope: Scope, statement: ast.stmt, *lines: str) -> Changes:
    """Write lines after a statement, as far indented as it is."""
    source, end = scope.tree.source, span(scope.tree.source, statement)[1]
    rest = re.compile(r"[^\S\r\n]*(#[^\r\n]*)?").match(source, end)
    place = end if rest is None else rest.end()
    if source[place : place + 1] not in ("", "\r", "\n"):
        raise EditRefusedError("a statement follows on the same line")
    indent, freed = own_line(scope, statement)
    return (*freed, Change(scope.cell, place, place, "".join(line_end(source) + indent + line for line in lines)))


def remove(scope: Scope, statement: ast.stmt) -> Changes:
    """Take a statement out that has its lines for itself."""
    source = scope.tree.source
    indentation(source, statement)
    start, end = offset(source, first_line(statement), 0), span(source, statement)[1]
    rest = re.compile(r"[^\S\r\n]*(\r\n|\r|\n|$)").match(source, end)
    if rest is None:
        raise EditRefusedError("more stands on the statement's line")
    return (Change(scope.cell, start, rest.end(), ""),)


def indent(scope: Scope, statements: Sequence[ast.stmt]) -> Changes:
    """Indent statements that follow each other by one level, in the way in which the cell indents."""
    source, unit = scope.tree.source, indent_unit(scope, statements[0])
    _, freed = own_line(scope, statements[0])
    for one in statements[1:]:
        indentation(source, one)  # each begins its own line
    last = statements[-1].end_lineno or statements[-1].lineno
    masked = mask(source)
    text = source if masked is None else masked.text  # a magic ends its line, too
    behind = text[span(source, statements[-1])[1] : offset(source, last, 0) + len(line_of(source, last))]
    if not re.fullmatch(r"[ \t;]*(#.*)?[\r\n]*", behind):
        raise EditRefusedError("a statement follows on the same line")
    texts = {line for one in statements for line in lines_within_texts(one)}
    lines = (line for line in range(first_line(statements[0]), last + 1) if line not in texts)
    starts = [offset(source, line, 0) for line in lines if line_of(source, line).strip()]
    starts[:1] = [freed[0].end] if freed else starts[:1]
    return (*freed, *(Change(scope.cell, start, start, unit) for start in starts))


def dedent(scope: Scope, block: ast.With | ast.AsyncWith, first: ast.stmt) -> Changes:
    """Move a statement of a block, and all that follow it there, behind the block, with their comments."""
    moved = block.body[block.body.index(first) :]
    source, unit = scope.tree.source, indent_unit(scope, block)
    if len(moved) == len(block.body):
        raise EditRefusedError("nothing would be left in the block")
    for one in moved:
        indentation(source, one)  # each begins its own line
    before, last = block.body[len(block.body) - len(moved) - 1], moved[-1].end_lineno or moved[-1].lineno
    begin = indentation(source, moved[0]) + "#"
    last += sum(1 for _ in takewhile(lambda line: line.startswith(begin), lines_of(source)[last:]))  # below them
    texts = {line for one in moved for line in lines_within_texts(one)}
    changes = list[Change]()
    for line in range((before.end_lineno or before.lineno) + 1, last + 1):
        text = line_of(source, line)
        if line in texts or not text.strip():
            continue
        start = offset(source, line, 0)
        if text.startswith(unit):
            changes.append(Change(scope.cell, start, start + len(unit), ""))
        elif not text.lstrip().startswith("#"):
            raise EditRefusedError("a line is indented in another way")
    return tuple(changes)


def wrap(scope: Scope, statements: Sequence[ast.stmt], header: str) -> Changes:
    """Put statements that follow each other below a header, `with torch.no_grad():`."""
    return insert_before(scope, statements[0], header) + indent(scope, statements)


def hide_output(module: Scope | None) -> Changes:
    """Write a `;` behind the expression that a cell ends with: IPython neither shows nor keeps it.

    None where it has one, where the cell ends with another statement, or with a name, whose value is kept anyway.
    """
    source = "" if module is None else module.tree.source.rstrip()
    match module.body[-1:] if module is not None else []:
        case [ast.Expr(value=ast.Name() | ast.Constant())]:
            return ()
        case [ast.Expr() as last]:
            end = span(source, last)[1]
            is_hidden = source[end:].lstrip().startswith(";")
            return () if module is None or is_hidden else (Change(module.cell, end, end, ";", is_for_ipython=True),)
    return ()


def replace_magic(code: Notebook, cell: int, pattern: re.Pattern[str], text: str) -> Changes:
    """Put another magic in the place of each that a pattern fits as a whole, `%matplotlib qt`."""
    source = code.source(cell)
    masked = mask(source)
    found = ((source[start:end], start, end) for start, end in (() if masked is None else masked.spans))
    return tuple(
        Change(cell, start, start + len(old.rstrip()), text, is_for_ipython=True)
        for old, start, end in found
        if pattern.fullmatch(old.rstrip())
    )


def import_as(scope: Scope, code: Notebook, module: str, usual: str) -> tuple[str, Changes]:
    """Return the name by which the cells know a module, and the edit that imports it at the top of a cell, if needed.

    A cell that imports it by this name is enough, as long as nothing else goes by that name since.
    """
    for cell in code.mentioning(module.rpartition(".")[2]):
        for name, bound in cell.bindings.items():
            if bound[-1].imported == module and (known := code.lookup(name, scope)) and known.imported == module:
                return name, ()
    top = code.module(scope.cell)
    first = after_future(top.body) if top else None
    if top is None or first is None or code.lookup(usual, scope) is not None:
        raise EditRefusedError(f"{module} cannot be imported as {usual}")
    module_name, _, part = module.rpartition(".")
    if usual == module:
        line = f"import {module}"
    else:
        line = f"from {module_name} import {part}" if usual == part and module_name else f"import {module} as {usual}"
    return usual, insert_before(top, first, line)


def text_of(call: Call, changes: Changes) -> str:
    """Return the call as it would be written with these changes of it, for a snippet."""
    start = span(call.scope.tree.source, call.node)[0]
    moved = (dataclasses.replace(one, start=one.start - start, end=one.end - start) for one in changes)
    return joined(call.text, moved)


def _arguments(text: str) -> int:
    """Return how many arguments a call has; -1 for a text that is no call."""
    tree = parse(text)
    match tree and tree.body:
        case [ast.Expr(value=ast.Call() as call)]:
            return len(call.args) + len(call.keywords)
    return -1
