"""The columns that an expression names: in texts, in `agg(...)`, in `query("...")`."""

import ast

from ..code.trees import walk


def aggregated(call: ast.Call) -> list[str] | None:
    """Return the columns of `agg({"a": "sum"})` and `agg(total=("a", "sum"))`."""
    match call:
        case ast.Call(args=[ast.Dict(keys=keys)], keywords=[]):
            return texts(ast.List([one for one in keys if one is not None]))
        case ast.Call(args=[], keywords=words) if words:
            firsts = [word.value.elts[0] for word in words if isinstance(word.value, ast.Tuple) and word.value.elts]
            return texts(ast.List(list(firsts))) if len(firsts) == len(words) else None
    return None


def of_query(text: str) -> list[str] | None:
    """Return the columns of `query("price > 3 and city == @city")`; None where it is no plain expression."""
    try:
        tree = ast.parse(text.replace("@", "at_"), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return None
    named = (one.id for one in walk(tree) if isinstance(one, ast.Name))
    return [name for name in dict.fromkeys(named) if not name.startswith("at_") and name != "index"]


def texts(node: ast.expr) -> list[str] | None:
    """Return the texts that are written as one constant or a list of them; None for anything else."""
    parts = node.elts if isinstance(node, ast.List) else [node]
    found = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return found if len(found) == len(parts) else None
