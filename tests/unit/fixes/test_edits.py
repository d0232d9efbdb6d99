"""Edits: each changes one thing in the user's text, and nothing besides."""

import ast

import pytest

from jupyter_kerneldoctor.diagnosis import edits
from jupyter_kerneldoctor.diagnosis.changes import Change, EditRefusedError, apply, unified_diff
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.recording.model import Cell


def read(source):
    """The cell's module level, and its notebook."""
    cell = Cell(source)
    code = Notebook([cell], cell)
    return code.module(0), code


def call_of(source):
    scope, code = read("from m import f\n" + source)
    return next(code.calls_in([scope], "m.f"))


def edited_call(source, verb, *arguments):
    call = call_of(source)
    return apply("from m import f\n" + source, verb(call, *arguments)).removeprefix("from m import f\n")


@pytest.mark.parametrize(
    "source",
    [
        "keep(value)",
        "é = 'ü😀'; keep(value)",
        "if x:\r\n\tkeep('a\tb', value)\r\n",
        "%%time\n!ls | wc\nkeep(value)  # 漢字",
        "s = '''\r\nä\r\n'''; keep(value)",
        "a = 1\rkeep(value)",
        "a = 1\x0c\nkeep(value)",
    ],
)
def test_nodes_are_found_in_the_users_text(source):
    scope, _ = read(source)
    (node,) = [one for one in scope.names if getattr(one, "id", "") == "value"]
    assert apply(source, edits.append(scope, node, ".item()")) == source.replace("value", "value.item()")
    assert apply(source, edits.replace(scope, node, "b")) == source.replace("value", "b")


def test_append_puts_an_operation_in_parentheses():
    scope, _ = read("keep(a + b)")
    (node,) = [one for one in scope.nodes if isinstance(one, ast.BinOp)]
    assert apply("keep(a + b)", edits.append(scope, node, ".item()")) == "keep((a + b).item())"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f(X)", "f(X, k=1)"),
        ("f()", "f(k=1)"),
        ("f(X,)", "f(X, k=1,)"),
        ("f((X))", "f((X), k=1)"),
        ("f((X),)", "f((X),k=1)"),
        ("f(*X)", "f(*X, k=1)"),
        ("f(\n    X,  # data\n)", "f(\n    X, k=1,  # data\n)"),
        ("f('ä', b=(2))", "f('ä', b=(2), k=1)"),
        ("f(X, k=False)", "f(X, k=1)"),
        ("%time y = f(X)", "%time y = f(X, k=1)"),
        ("y = await f(X)", "y = await f(X, k=1)"),
    ],
)
def test_set_argument(source, expected):
    assert edited_call(source, edits.set_argument, "k", "1") == expected


def test_set_argument_knows_the_place_of_one_without_a_name():
    assert edited_call("f(X, True)", edits.set_argument, "k", "1", 1) == "f(X, 1)"


@pytest.mark.parametrize(("source", "position"), [("f(x for x in y)", None), ("f(X, **Y)", None), ("f(*X)", 1)])
def test_set_argument_refuses_what_it_cannot_write(source, position):
    with pytest.raises(EditRefusedError):
        edits.set_argument(call_of(source), "k", "1", position)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f(X, k=1)", "f(X)"),
        ("f(X, k=(1), b=2)", "f(X, b=2)"),
        ("f(k=1, b=2)", "f(b=2)"),
        ("f(k=1)", "f()"),
        ("f((X), k=1,)", "f((X),)"),
        ("f(X,  # data\n  k=1)", "f(X,  # data\n  )"),
    ],
)
def test_drop_argument(source, expected):
    assert edited_call(source, edits.drop_argument, "k") == expected


def test_drop_argument_refuses_what_is_not_there():
    with pytest.raises(EditRefusedError):
        edits.drop_argument(call_of("f(X)"), "k")


def wrapped(source, kind=ast.For):
    scope, _ = read(source)
    node = next(one for one in scope.nodes if isinstance(one, kind))
    return apply(source, edits.wrap(scope, [node], "with c:"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for x in y:\n    z(x)", "with c:\n    for x in y:\n        z(x)"),
        ("a\nfor x in y: z(x)  # é\nb", "a\nwith c:\n    for x in y: z(x)  # é\nb"),
        ("if a:\n\tfor x in y:\n\t\tz\n", "if a:\n\twith c:\n\t\tfor x in y:\n\t\t\tz\n"),
        ("for x in y:\r\n  z\r\n\r\n  # é\r\n  w", "with c:\r\n  for x in y:\r\n    z\r\n\r\n    # é\r\n    w"),
        ("for x in y:\n    a = '''\nb\n'''\n    c", "with c:\n    for x in y:\n        a = '''\nb\n'''\n        c"),
        ("for x in y:\n    %timeit z\n    !ls", "with c:\n    for x in y:\n        %timeit z\n        !ls"),
        ("%%time\nfor x in y:\n  z", "%%time\nwith c:\n  for x in y:\n    z"),
    ],
)
def test_wrap(source, expected):
    assert wrapped(source) == expected


@pytest.mark.parametrize(
    "source", ["a = 1; b = f(x)", "%time b = f(x)", "if a: c; b = f(x)", "b = f(x); a = 1", "b = f(x)\\\n    .y; a = 1"]
)
def test_wrap_refuses_a_statement_that_shares_its_line(source):
    scope, _ = read(source)
    call = next(one for one in scope.calls)
    with pytest.raises(EditRefusedError):
        apply(source, edits.wrap(scope, [scope.statement_of(call)], "with c:"))


@pytest.mark.parametrize(
    ("source", "wrapped", "before", "after"),
    [
        (
            "for x in y: z = f(x)  # é",
            "for x in y:\n    with c:\n        z = f(x)  # é",
            "for x in y:\n    a\n    z = f(x)  # é",
            "for x in y:\n    z = f(x)  # é\n    a",
        ),
        (
            "if a:\n\ttry: f(x)\n\texcept E: pass\n",
            "if a:\n\ttry:\n\t\twith c:\n\t\t\tf(x)\n\texcept E: pass\n",
            "if a:\n\ttry:\n\t\ta\n\t\tf(x)\n\texcept E: pass\n",
            "if a:\n\ttry:\n\t\tf(x)\n\t\ta\n\texcept E: pass\n",
        ),
        (
            "def g(x): return f(\r\n    x)\r\n",
            "def g(x):\r\n    with c:\r\n        return f(\r\n        x)\r\n",
            "def g(x):\r\n    a\r\n    return f(\r\n    x)\r\n",
            "def g(x):\r\n    return f(\r\n    x)\r\n    a\r\n",
        ),
    ],
)
def test_the_first_statement_behind_a_head_gets_a_line_of_its_own(source, wrapped, before, after):
    _, code = read(source)
    scope, call = next((one, call) for one in code.scopes(0) for call in one.calls)
    statement = scope.statement_of(call)
    assert apply(source, edits.wrap(scope, [statement], "with c:")) == wrapped
    assert apply(source, edits.insert_before(scope, statement, "a")) == before
    assert apply(source, edits.insert_after(scope, statement, "a")) == after


def test_insert_before_a_function_goes_before_its_decorators():
    scope, _ = read("@a\ndef f(): pass")
    assert apply("@a\ndef f(): pass", edits.insert_before(scope, scope.body[0], "x", "y")) == (
        "x\ny\n@a\ndef f(): pass"
    )


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = 1", [Change(0, 4, 5, "(")]),  # does not parse
        ("x = 1", [Change(0, 4, 5, "1")]),  # changes nothing
        ("x = 1", [Change(0, 0, 9, "y")]),  # outside of the text
        ("x = 1", [Change(0, 0, 3, "a"), Change(0, 2, 4, "b")]),  # overlap
        ("%time x = 1\ny = 2", [Change(0, 0, 3, "#")]),  # touches a magic
        ("!ls\ny = 2", [Change(0, 2, 2, "#")]),  # within a magic
        ("%%bash\nls", [Change(0, 7, 9, "pwd")]),  # another language
    ],
)
def test_apply_refuses(source, changes):
    with pytest.raises(EditRefusedError):
        apply(source, changes)


def test_apply_makes_what_is_said_twice_once():
    assert apply("x = 1", [Change(0, 0, 0, "y = "), Change(0, 0, 0, "y = ")]) == "y = x = 1"


def test_diff_names_the_cell():
    diff = unified_diff("a\nb", "a\nc", "cell [3]")
    assert diff == "--- cell [3]\n+++ cell [3]\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


@pytest.mark.parametrize(
    "above", ["", "from __future__ import annotations\n", '"""What it does."""\nfrom __future__ import annotations\n']
)
def test_an_import_is_written_below_what_has_to_stand_first(above):
    scope, code = read(f"{above}x = 1\n")
    name, changes = edits.import_as(scope, code, "os", "os")
    assert (name, apply(f"{above}x = 1\n", changes)) == ("os", f"{above}import os\nx = 1\n")


@pytest.mark.parametrize(
    ("source", "new"),
    [
        ("with a:\n    b\n    c", "with a:\n    b\nc"),
        ("with a:\n\tb\n\n\t# why\n\tif c:\n\t\td\n\te  # f\nz", "with a:\n\tb\n\n# why\nif c:\n\td\ne  # f\nz"),
        ("with a:\r\n    b\r\n    c = '''\r\n    d'''\r\n", "with a:\r\n    b\r\nc = '''\r\n    d'''\r\n"),
    ],
)
def test_what_comes_behind_a_block_is_moved_out_of_it(source, new):
    scope, _ = read(source)
    block = scope.body[0]
    assert apply(source, edits.dedent(scope, block, block.body[1])) == new


@pytest.mark.parametrize("source", ["with a:\n    b", "with a:\n    c; b", "with a: c; b"])
def test_a_block_is_not_left_empty_and_no_line_is_torn(source):
    scope, _ = read(source)
    block = scope.body[0]
    with pytest.raises(EditRefusedError):
        edits.dedent(scope, block, block.body[-1])
