import ast

from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_SNIPPET = (
    "import weakref\nby_id = weakref.WeakValueDictionary()  # the objects that are still there\n"
    "by_id[id(thing)] = thing  # where its id is taken\n"
    "found = by_id.get({address})  # None where it is gone\n"
    "# for another process, or for tomorrow: save the object itself, with pickle; its id says nothing there"
)
_FROM_POINTERS = ("_ctypes.PyObj_FromPtr", "ctypes.py_object.from_address")


class ObjectOfAnId(Fix):
    """Keep the objects in a dict, not their ids alone.

    What it does: `id(x)` is the address of an object as long as that lives, and in this process only. Afterwards there
    is something else at the address, or nothing, and what takes it for an object crashes. A `WeakValueDictionary` finds
    an object by its id as long as it lives, and tells when it is gone.

    When it is offered: Native code crashed while a number was being taken for the address of an object.

    What it costs: Objects of a few types, such as `int`, `list` and `dict`, have no weak references: an ordinary dict
    keeps them.
    """

    id, title, causes = "object-of-an-id", "Keep the object in a dict, not only its id", ("segfault",)

    FIRES = [
        Case(
            "import ctypes\ndef find(n): return ctypes.cast(n, ctypes.py_object).value",
            "find(known['a'])",
            says=("by_id.get(n)", "pickle"),
        ),
        Case("import _ctypes", "thing = _ctypes.PyObj_FromPtr(140)", says=("by_id.get(140)",)),
    ]
    SILENT = [
        Case("import ctypes", "p = ctypes.cast(a, ctypes.c_void_p).value"),
        Case("import ctypes", "x = ctypes.cast(n, ctypes.py_object).value\nread(x)", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        for node, scope in code.running.nodes(ast.Call):
            if not death.was_running(node, scope) or not node.args:
                continue
            name, kind = code.qualified(node.func, scope), node.args[-1]
            is_cast = name == "ctypes.cast" and code.qualified(kind, scope) == "ctypes.py_object"
            if is_cast or name in _FROM_POINTERS:
                address = scope.segment(node.args[0])
                why = (
                    f"{quote(scope.segment(node))} takes the number {quote(address)} for the address of an object. "
                    "No such object is there any more, or it was one of another process."
                )
                yield Proposal((), why, snippet=_SNIPPET.format(address=address))
                return
