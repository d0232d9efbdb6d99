from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_SNIPPET = (
    "buffer = ctypes.create_string_buffer(64)  # memory that lives as long as this name\n"
    "{function}(ctypes.addressof(buffer){rest})  # of an array: array.ctypes.data"
)


class AddressOfOwnMemory(Fix):
    """Give ctypes the address of memory that you own.

    What it does: `string_at`, `memset` and `memmove` take a number for an address and use it unchecked. A count, a
    size, or an offset from a null pointer is none. The snippet makes a buffer and takes its address.

    When it is offered: Native code crashed in such a call, and the number it is given stands in the code.

    What it costs: Nothing.
    """

    id, title = "address-of-own-memory", "Give it the address of memory that you own: ctypes.addressof"
    causes = ("segfault",)

    FIRES = [
        Case("import ctypes\ndef read(p): return ctypes.string_at(p, 8)", "read(9)", says=("9",)),
        Case("import ctypes", "ctypes.memset(8, 1, 4)", says=("It is 8 here", "(buffer), 1, 4)")),
    ]
    SILENT = [
        Case("import ctypes", "ctypes.string_at(0)"),  # another fix knows the null pointer
        Case("import ctypes\nx = [1]\np = id(x) + 8", "ctypes.string_at(p)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call, address in death.raw_addresses:
            if address:
                place = death.code.place_of(call.node, call.scope)
                why = (
                    f"{quote(call.text)} ({place}) takes its first argument for a memory address. It is {address} "
                    "here: no memory of this program is there."
                )
                rest = "".join(f", {call.scope.segment(one)}" for one in call.node.args[1:])
                function = call.scope.segment(call.node.func)
                yield Proposal((), why, snippet=_SNIPPET.format(function=function, rest=rest))
                return
