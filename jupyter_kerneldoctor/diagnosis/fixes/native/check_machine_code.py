import ast

from ...code.literals import number
from ...code.origins import all_origins
from ...code.trees import unparse
from ...fix import Advice, Call, Case, Death, quote

_EXECUTE = 4  # mmap(2): PROT_EXEC
_WORDS = ("CFUNCTYPE", "PYFUNCTYPE", "addressof", "from_buffer")


class CheckMachineCode(Advice):
    """Check the bytes that are called as machine code.

    What it does: What `CFUNCTYPE` is given an address of is run as it is. A wrong byte, or code of another kind of
    processor, is no instruction, or another one than was meant. A disassembler shows what the processor sees.

    When it is offered: The process was ended by an illegal instruction, and a cell calls memory that it filled itself.

    What it costs: Nothing.
    """

    id, title = "check-machine-code", "Check the machine code: this CPU has no such instruction"
    causes = ("illegal-instruction",)
    why = "{made} is called as a function, and what stands there is no machine code that this CPU can run."
    snippet = (
        "open('code.bin', 'wb').write(code)\n"
        "!objdump -D -b binary -m i386:x86-64 code.bin  # what the CPU sees; (bad) is none\n"
        "import platform; print(platform.machine())  # the CPU that it has to be written for"
    )

    FIRES = [
        Case(
            "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(code)",
            "call = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\ncall()",
            says=("`mmap.mmap(-1, 4096, prot=7)`", "objdump"),
        ),
        Case(  # the other memory is data, and the other function a callback
            "import ctypes, mmap\ndata = mmap.mmap(-1, 64)\nseen = ctypes.CFUNCTYPE(None)(print)\n"
            "m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)",
            "f = ctypes.CFUNCTYPE(ctypes.c_int)\nf(ctypes.addressof(ctypes.c_char.from_buffer(m)))()",
            says=("PROT_READ | mmap.PROT_EXEC",),
        ),
    ]
    SILENT = [
        Case("import ctypes", "ctypes.CDLL('./a.so').f()"),
        Case("import mmap\nm = mmap.mmap(-1, 9)", "f()"),
        Case(
            "import ctypes, mmap\nm = mmap.mmap(-1, 9)\nseen = ctypes.CFUNCTYPE(None)(print)",
            "ctypes.CDLL('./a.so').f(seen)",
        ),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the memory that is run."""
        code = death.code
        types = {id(one.node) for one in code.calls("ctypes.CFUNCTYPE", "ctypes.PYFUNCTYPE")}
        maps = [one for one in code.calls("mmap.mmap") if _may_run(one)]
        run = {
            id(part.node)
            for scope in (code.scopes_mentioning(*_WORDS) if types and maps else ())
            for call in scope.calls
            if any(id(one.node) in types for one in all_origins(call.func, scope, code))
            for given in call.args[:1]
            for part in all_origins(given, scope, code, parts=True)
        }
        found = [one for one in maps if id(one.node) in run] or (maps if types and len(maps) == 1 else [])
        return {"made": quote(found[0].text)} if found else None


def _may_run(call: Call) -> bool:
    """Whether a call of `mmap` asks for memory that may be run, as far as it says."""
    given = call.argument("prot", 3)
    value = None if given is None else number(given)
    if value is None:
        return isinstance(given, ast.Name) or (given is not None and "PROT_EXEC" in unparse(given))
    return value & _EXECUTE > 0
