"""Writes src/rest.ts, the types of what the server answers, from its own: `python docs/rest_types.py`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from jupyter_kerneldoctor.diagnosis.postmortem import State
from jupyter_kerneldoctor.reports import documents, live_documents

FILE = Path(__file__).resolve().parent.parent / "src" / "rest.ts"

NAMED = {"State": State, "Certainty": documents.CertaintyWord, "Refusal": live_documents.Refusal}
"""Types that have a name of their own."""

DOCUMENTS: tuple[Any, ...] = (
    documents.RecordingRow,
    documents.Report,
    live_documents.Inspection,
    live_documents.InspectionRefusal,
    live_documents.LiveSummary,
    live_documents.LiveDetail,
    live_documents.TrialPlan,
    live_documents.TrialStep,
    live_documents.TrialOutcome,
    live_documents.TrialRefusal,
)
"""What the panel gets; what these refer to is written, too."""


def module() -> str:
    """Return the text of src/rest.ts."""
    found: dict[str, Any] = {}
    for document in DOCUMENTS:
        _collect(document, found)
    head = "/* Written by docs/rest_types.py from the server's own classes: change those. */\n"
    names = [f"export type {name} =\n  {_spelled(kind, named=False)};\n" for name, kind in NAMED.items()]
    return "\n".join([head, *names, *(_interface(kind) for kind in found.values())])


def _collect(kind: Any, found: dict[str, Any]) -> None:
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        for one in get_type_hints(kind).values():
            _collect(one, found)
        found[kind.__name__] = kind
    else:
        for one in get_args(kind):
            _collect(one, found)


def _interface(kind: Any) -> str:
    said, lines = _said(kind), []
    required = getattr(kind, "__required_keys__", get_type_hints(kind))
    for name, one in get_type_hints(kind).items():
        lines += [f"  /** {said[name]} */"] if name in said else []
        lines.append(f"  {name}{'' if name in required else '?'}: {_spelled(one)};")
    return "\n".join([f"/** {_line(kind.__doc__)} */", f"export interface I{kind.__name__} {{", *lines, "}\n"])


def _said(kind: Any) -> dict[str, str]:
    """Return what stands below the fields in the source."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    found = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[ast.unparse(field.target)] = _line(text.value.value)
    return found


def _line(text: str | None) -> str:
    return " ".join((text or "").replace("None", "null").split())


def _spelled(kind: Any, *, named: bool = True) -> str:
    """Return a type in TypeScript."""
    for name, known in NAMED.items():
        if named and kind == known:
            return name
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " | ".join(_spelled(part) for part in parts)
    if origin is Literal:
        return " | ".join(f"'{part}'" for part in parts)
    if origin in (list, tuple):
        inner = _spelled(parts[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    simple = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return simple.get(kind) or f"I{kind.__name__}"


if __name__ == "__main__":
    FILE.write_text(module(), "utf-8")
