import re

from ...calls import native_calls
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_THROWN = re.compile(r"terminate called after throwing an instance of '(?P<kind>[\w:]{1,100})")
_OF_SIZES = ("std::length_error", "std::bad_array_new_length", "std::bad_alloc", "std::out_of_range")
_CATCHES = (
    '# extern "C" int {name}(..., double *result) {{\n'
    "#     try {{ *result = ...; return 0; }}\n"
    '#     catch (const std::exception &error) {{ fprintf(stderr, "%s\\n", error.what()); return 1; }}\n'
    "#     catch (...) {{ return 2; }}\n# }}"
)


class CatchInCpp(Fix):
    """Catch C++ exceptions before they leave C++.

    What it does: An exception of C++ cannot go through ctypes or cffi into Python: where nothing catches it, the
    process ends. The snippet catches it in the function itself and returns a code, which Python can turn into an error.
    A length, an index or a size is the usual reason: check it before the call.

    When it is offered: The process aborted with the words of an exception that nobody caught, at a line that calls a
    library through ctypes or cffi.

    What it costs: The library has to be built again.
    """

    id, title, causes = "catch-in-cpp", "Check what C++ is given, and catch its exceptions there", ("abort",)

    FIRES = [
        Case(
            "import ctypes\nlib = ctypes.CDLL('./gaps.so')",
            "gap = lib.largest(values, n)",
            output="terminate called after throwing an instance of 'std::length_error'\n  what():  vector\n",
            says=("`std::length_error`", "`lib.largest(values, n)`", "int largest(", "size"),
        ),
        Case(
            "import ctypes\nclass Prices:\n    lib = ctypes.CDLL('./p.so')\n    def at(self, i): return self.lib.at(i)",
            "Prices().at(-1)",
            signal="SIGABRT",
            output="terminate called after throwing an instance of 'std::out_of_range'\n"
            "  what():  vector::_M_range_check: __n (which is 18446744073709551615) >= this->size() (which is 4)\n",
            says=("`self.lib.at(i)`", "18446744073709551615 is -1"),
        ),
    ]
    SILENT = [
        Case("import geo", "geo.run()", output="terminate called"),
        Case("import ctypes\nlib = ctypes.CDLL('x')", "lib.f(1)"),
    ]

    def propose(self, death: Death) -> Proposals:
        thrown = _THROWN.search(death.text)
        for call in list(native_calls(death))[-1:] if thrown is not None else ():
            kind = thrown["kind"] if thrown is not None else ""
            why = f"{quote(call.text)} threw {quote(kind)}, and nothing in C++ caught it."
            if kind.startswith(_OF_SIZES):
                why += " A size or an index that it works out from its arguments is negative or too large."
                number = next(map(int, re.findall(r"\b(1844674407\d{10})\b", death.text)), None)
                why += "" if number is None else f" {number} is {number - 2**64} as an unsigned number."
            yield Proposal((), why, snippet=_CATCHES.format(name=call.name))
