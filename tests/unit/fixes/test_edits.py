"""Where a node stands in the user's text, and edits of it."""

import ast

import pytest

from jupyter_kerneldoctor.diagnosis.code.cellsource import mask, segment
from jupyter_kerneldoctor.diagnosis.fixes._edits import (
    EditRefusedError,
    Replacement,
    append_to,
    apply,
    touches,
    unified_diff,
)


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
    masked = mask(source)
    assert masked is not None
    names = [node for node in ast.walk(masked.tree) if isinstance(node, ast.Name) and node.id == "value"]
    assert [segment(source, node) for node in names] == ["value"]
    assert apply(source, append_to(source, names[0], ".item()")) == source.replace("value", "value.item()")
    parenthesized = apply(source, append_to(source, names[0], ".item()", parenthesize=True))
    assert parenthesized == source.replace("value", "(value).item()")


def test_overlapping_edits_are_refused():
    with pytest.raises(EditRefusedError):
        apply("abcdef", [Replacement(0, 3, ""), Replacement(2, 4, "")])
    with pytest.raises(EditRefusedError):
        apply("abc", [Replacement(2, 5, "")])


def test_masked_parts_are_not_touched():
    spans = [(4, 8)]
    assert not touches([Replacement(0, 4, "x"), Replacement(8, 9, "y"), Replacement(4, 4, "z")], spans)
    assert touches([Replacement(3, 5, "x")], spans)
    assert touches([Replacement(6, 6, "x")], spans)


def test_diff_names_the_cell():
    diff = unified_diff("a\nb", "a\nc", "cell [3]")
    assert diff == "--- cell [3]\n+++ cell [3]\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
