import ast

from ...edits import import_as, replace, set_argument
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.c_library import is_permitted

_CODE = "import ctypes, mmap\nm = mmap.mmap(-1, 4096)\nm.write(code)"
_CALLED = "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()"
_OWN = "import ctypes, mmap\nlibc = ctypes.CDLL(None)\nat = libc.mmap(None, 4096, {0}, 34, -1, 0)"
_FILL = "ctypes.memset(at, 1, 16)"


class MemoryPermissions(Fix):
    """Ask for the memory with the permission that its use needs.

    What it does: Memory of `mmap` may be read, written or run only as it was asked for. Machine code needs `PROT_EXEC`,
    and what is written to needs `PROT_WRITE`. The edit asks for it.

    When it is offered: Native code crashed at an invalid address, and a cell calls a function in memory that may not be
    run, or writes to memory that may only be read.

    What it costs: Nothing. Some systems refuse memory that may be written and run; give it `PROT_EXEC` with `mprotect`
    after it was written there.
    """

    id, title = "memory-permissions", "Ask for memory with the permission that its use needs"
    causes = ("segfault",)

    FIRES = [
        Case(
            _CODE,
            _CALLED,
            becomes={1: _CODE.replace("4096", "4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC")},
            says=("PROT_EXEC",),
        ),
        Case(
            _OWN.format(1),
            _FILL,
            becomes={1: _OWN.format("mmap.PROT_READ | mmap.PROT_WRITE")},
            says=("PROT_WRITE",),
        ),
    ]
    SILENT = [
        Case(_CODE.replace("4096", "4096, prot=7"), _CALLED),
        Case(_CODE, "ctypes.string_at(0)"),
        Case(_CODE.replace("-1, 4096", "file.fileno(), 0"), _CALLED),
        Case(_OWN.format(3), _FILL),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        if any(code.calls("ctypes.CFUNCTYPE", "ctypes.PYFUNCTYPE")):
            for call in code.calls("mmap.mmap"):
                prot = call.argument("prot", 3)
                is_of_file = call.scope.segment(call.node.args[0]) != "-1" if call.node.args else True
                if is_of_file or call.argument("access") is not None or is_permitted(prot, "EXEC"):
                    continue
                name, imported = import_as(call.scope, code, "mmap", "mmap")
                given = f"{name}.PROT_READ | {name}.PROT_WRITE | {name}.PROT_EXEC"
                why = f"{quote(call.text)} gives memory that may be read and written; what is called in it may not run."
                title = "Let the memory be run: PROT_EXEC"
                yield Proposal(imported + set_argument(call, "prot", given, 3), why, title=title)
                return
        if not any(code.running.calls("ctypes.memset", "ctypes.memmove")):
            return
        for scope in code.scopes_mentioning("mmap"):
            for one in scope.calls:
                match one:
                    case ast.Call(func=ast.Attribute(attr="mmap"), args=[_, _, prot, _, *_]):
                        if not is_permitted(prot, "WRITE"):
                            yield _writable(Call(one, scope, "mmap"), death)
                            return


def _writable(call: Call, death: Death) -> Proposal:
    name, imported = import_as(call.scope, death.code, "mmap", "mmap")
    edits = imported + replace(call.scope, call.node.args[2], f"{name}.PROT_READ | {name}.PROT_WRITE")
    why = f"{quote(call.text)} gives memory that may only be read, and it is written to."
    return Proposal(edits, why, title="Let the memory be written: PROT_WRITE")
