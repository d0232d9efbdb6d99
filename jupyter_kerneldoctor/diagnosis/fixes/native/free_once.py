import ast

from ...code.loop_changes import called_name
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_FREES = {"free", "destroy", "delete", "dealloc", "release", "close"}
_WORDS = ("double free", "free(): invalid pointer", "munmap_chunk(): invalid pointer")
_TEXT = "free(): double free detected in tcache 2\n"
_BUFFER = (
    "import ctypes\nlib = ctypes.CDLL('./b.so')\nclass Buffer:\n    def __init__(self): self.at = lib.make(9)\n"
    "    def close(self): lib.b_free(self.at)\n    def __del__(self): lib.b_free(self.at)"
)


class FreeOnce(Fix):
    """Free memory once: forget its address at once.

    What it does: Memory that is given back a second time may belong to somebody else by then, and the C library ends
    the process. With the address set to None in the same step a second call has nothing to give back.

    When it is offered: The C library said that something was freed twice, or was never its own, and the code calls a
    function that frees.

    What it costs: Nothing.
    """

    id, title = "free-once", "Free it once: set the pointer to None as soon as it is freed"
    causes = ("heap-corruption", "abort")
    unless_offered = frozenset({"copy-the-c-memory"})

    FIRES = [
        Case(_BUFFER, "b = Buffer()\nb.close()\ndel b", signal="SIGABRT", output=_TEXT, says=("if self.at:", "= None"))
    ]
    SILENT = [
        Case(_BUFFER, "b = Buffer()\nb.close()\ndel b", signal="SIGABRT"),
        Case("import numpy as np", "np.sum(x)", signal="SIGABRT", output=_TEXT),
    ]

    def propose(self, death: Death) -> Proposals:
        if not any(one in death.text for one in _WORDS):
            return
        for node, scope in death.code.running.nodes(ast.Call):
            match node:
                case ast.Call(func=ast.Attribute() | ast.Name(), args=[(ast.Name() | ast.Attribute()) as given]):
                    if _FREES.isdisjoint(called_name(node).split("_")):
                        continue
                    call, name = scope.segment(node), scope.segment(given)
                    why = f"{quote(call)} was given the same address twice, or one that is not from this library."
                    snippet = f"if {name}:\n    {call}\n    {name} = None  # wherever it is freed: close() and __del__"
                    yield Proposal((), why, snippet=snippet)
                    return
