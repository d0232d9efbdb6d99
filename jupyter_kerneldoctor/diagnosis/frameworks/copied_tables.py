"""Tables and arrays that others were made of, as copies."""

import ast

from ..code.calls import last_name
from ..code.notebook import Notebook
from ..code.origins import all_origins
from .numpy import VIEWS

_LAZY = {
    *("assign", "expanding", "ewm", "groupby", "head", "items", "iterrows", "itertuples", "pipe", "rename"),
    *("rename_axis", "resample", "reset_index", "rolling", "set_axis", "set_index", "tail"),
}
"""What pandas makes of a table without a copy of it, or works out later."""


def copied_tables(code: Notebook) -> set[str]:
    """Return the names of what a method or function made something else of, under another name, before this cell."""
    found, shared = set[str](), set[str]()
    for index in range(code.last):
        for scope in code.scopes(index)[:1]:
            for node in scope.nodes:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        origins = all_origins(value, scope, code)[:4]
                        names = {one.node.id for one in origins if isinstance(one.node, ast.Name)} - {name}
                        if not isinstance(value, ast.Call):
                            shared |= names  # `y = raw["y"]` is a part of it
                        elif last_name(value.func) in VIEWS | _LAZY:
                            shared |= names
                        else:
                            found |= names
    return found - shared
