from ...fix import Advice, Case, Death
from ...units import quote

_RUNS = (
    "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(code)",
    "call = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\ncall()",
)


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
        Case(*_RUNS, cause="illegal-instruction", says=("`mmap.mmap(-1, 4096, prot=7)`", "objdump")),
    ]
    SILENT = [
        Case("import ctypes", "ctypes.CDLL('./a.so').f()", cause="illegal-instruction"),
        Case("import mmap\nm = mmap.mmap(-1, 9)", "f()", cause="illegal-instruction"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Name the memory that is run."""
        made = next(death.code.calls("mmap.mmap"), None)
        functions = next(death.code.calls("ctypes.CFUNCTYPE", "ctypes.PYFUNCTYPE"), None)
        return None if made is None or functions is None else {"made": quote(made.text)}
