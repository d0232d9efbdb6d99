import ast

from ...code.calls import given_to, plain_names
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote

_LOAD = (
    "from cffi import FFI\nffi = FFI()\ndef load(n):\n    rec = ffi.new('rec_t *')\n    data = ffi.new('double[]', n)\n"
    "    rec.data = data\n    return rec"
)
_SNIPPET = (
    "import weakref\nkept = weakref.WeakKeyDictionary()  # once, beside ffi: keeps memory as long as its struct\n\n"
    "kept[{owner}] = [{names}]  # before {owner} is returned; what a loop makes goes into a list of all of them"
)


class KeepCffiMemory(Fix):
    """Keep what `ffi.new` gives as long as C has its address.

    What it does: The memory of `ffi.new` is given back when the last Python name of it is gone. A struct or a table in
    C keeps only the address. The snippet keeps the memory beside the struct that points to it.

    When it is offered: Native code crashed, and a function stores what `ffi.new` gave it into a struct or a table, and
    ends without keeping it.

    What it costs: Nothing: the memory is needed anyway.
    """

    id, title = "keep-cffi-memory", "Keep what ffi.new gives alive as long as C points to it"
    causes = ("segfault", "heap-corruption")

    FIRES = [Case(_LOAD, "rec = load(9)\nrec.data[5]", says=("`data`", "kept[rec] = [data]"))]
    SILENT = [
        Case(_LOAD.replace("return rec", "return rec, data"), "rec = load(9)"),
        Case(_LOAD.replace("return rec", "KEPT.append(data)\n    return rec"), "rec = load(9)"),
        Case(_LOAD.replace("ffi.new('double[]', n)", "n"), "rec = load(9)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for scope in death.code.scopes_mentioning("ffi", "FFI"):
            lost = {} if scope.is_cell else _stored_only(scope)
            if lost:
                owner = next((one for one in _returned(scope) if one not in lost), next(iter(lost.values())))
                named = ", ".join(lost)
                why = (
                    f"{quote(scope.name)} stores the address of {quote(named)} in C and keeps nothing else of it: "
                    "the memory is given back when the function ends, and is read afterwards."
                )
                yield Proposal((), why, snippet=_SNIPPET.format(owner=owner, names=named))
                return


def _stored_only(scope: Scope) -> dict[str, str]:
    """Return the names of what `ffi.new` gave that are only written into or stored in a struct, and in which."""
    made, stored = set[str](), dict[str, str]()
    for node in scope.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="new"), args=[_, *_])):
                made.add(name)
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=owner)) | ast.Subscript(value=ast.Name(id=owner))],
                value=ast.Name(id=name),
            ) if owner != "self":
                stored[name] = owner
    kept = _returned(scope) | {
        one.id
        for call in scope.calls
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in ("memmove", "buffer", "sizeof"))
        for one in given_to(call)
        if isinstance(one, ast.Name)
    }
    return {name: owner for name, owner in stored.items() if name in made and name not in kept}


def _returned(scope: Scope) -> set[str]:
    return plain_names(*(one.value for one in scope.nodes if isinstance(one, ast.Return) and one.value is not None))
