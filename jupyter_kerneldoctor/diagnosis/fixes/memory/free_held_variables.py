import ast
from typing import Any

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...code.calls import plain_names
from ...examples import MIB
from ...fix import Advice, Case, Death, Family, Scope, quote, size
from ...units import enumeration
from ...unused_objects import unused_objects

_SMALL, _MOST = 0.05, 4  # of the limit; so many are named
_LOOK = [Namespace(-11.0, 1, (NamedObject("raw", "DataFrame", 900 * MIB), NamedObject("x", "list", 300 * MIB)))]
_HELD: dict[str, Any] = {"before_mib": 1300, "namespaces": _LOOK}


class FreeHeldVariables(Advice):
    """Delete the large variables that the cell does not use.

    What it does: Names what the kernel held when the cell began and the cell does not use, with the size of each. `del`
    gives it back, if nothing else refers to it.

    When it is offered: Memory ran out, and variables that the cell does not use made up a good part of what was
    missing.

    What it costs: Cells that use them later have to make them again.
    """

    id, title, causes = "free-held-variables", "Delete variables that are no longer needed", (Family.MEMORY,)
    headline = "Delete what is no longer needed: {first} frees {total}"
    why = (
        "{held} held when the cell began, and the cell does not use {them}. Unless later cells do, `del` frees {total}."
    )
    snippet = "del {names}\nimport gc\ngc.collect()"

    FIRES = [
        Case(
            "raw = load()\nx = rows(raw)",
            "y = sum(x)\nz = big(y)",
            before_mib=1300,
            namespaces=_LOOK,
            says=("`raw` (900 MiB)", "del raw"),
        )
    ]
    SILENT = [
        Case("raw = load()", "y = big(raw)", before_mib=1300, namespaces=_LOOK[:0]),
        Case("raw = load()\nx = rows(raw)", "y = big(raw, x)", before_mib=1300, namespaces=_LOOK),
        Case("raw = load()\ndef read(): return raw[0]", "y = big(x)", **_HELD),
        Case("import torch\nraw = net()\nx = torch.optim.Adam(raw.parameters())", "x.step()", **_HELD),
        Case("import numpy as np\nraw = np.ones(9)\nx = raw[:8]", "y = big(x)", **_HELD),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Sum up what is held and not used."""
        held = _held(death)
        if not held:
            return None
        told = enumeration([f"{quote(one.name)} ({size(one.bytes)})" for one in held])
        return {
            "held": f"{told} {'was' if len(held) == 1 else 'were'}",
            "them": "it" if len(held) == 1 else "them",
            "first": quote(held[0].name) if len(held) == 1 else f"{quote(held[0].name)} and more",
            "total": size(sum(one.bytes for one in held)),
            "names": ", ".join(one.name for one in held),
        }

    def saves(self, death: Death) -> int | None:
        """Count what it frees."""
        return sum(one.bytes for one in _held(death)) or None


def _held(death: Death) -> list[NamedObject]:
    """Return the user's large variables that nothing names which ran, largest first."""
    limit = death.memory.limit_bytes
    if limit is None or death.cell is None:
        return []
    large = [one for one in unused_objects(death, _SMALL * limit) if one.name.isidentifier()]
    found = [one for one in large if one.device in (None, "cpu") and "memmap" not in one.type]
    used = set(death.code.running.used_names)
    cells = range(len(death.code.cells) if found else 0)  # to parse those of a day takes long
    for scope in map(death.code.module, cells):
        used |= _kept_by(used, scope) if scope is not None else set()
    functions = (scope for at in cells for scope in death.code.scopes(at) if not scope.is_cell)
    used |= {getattr(node, "id", "") for scope in functions for node in scope.names}  # a thread may run them
    return [one for one in found if one.name not in used][:_MOST]


def _kept_by(names: set[str], scope: Scope) -> set[str]:
    """Return what the objects of these names refer to, as their assignments show: `Adam(net.parameters())`, `x[:9]`."""
    kept: set[str] = set()
    for name in names & scope.bindings.keys():
        for value in (one.value for one in scope.bindings[name]):
            match value:
                case ast.Call(func=ast.Attribute(attr=made) | ast.Name(id=made)) if made[:1].isupper():
                    parts: list[ast.AST] = [value]
                case ast.Subscript(value=owner, slice=ast.Slice() | ast.Tuple()) | ast.Attribute(value=owner):
                    parts = [owner]
                case _:
                    continue
            kept |= plain_names(*parts)
    return kept
