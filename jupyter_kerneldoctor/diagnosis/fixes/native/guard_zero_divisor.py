from ...fix import Advice, Case


class GuardZeroDivisor(Advice):
    """Check for zero before a library divides by it.

    What it does: Python raises a `ZeroDivisionError`; compiled code that divides whole numbers ends the process
    instead. What is divided by is often a length, a size or a count that is 0 for empty input. The snippet checks that
    first.

    When it is offered: The process was ended by an arithmetic fault.

    What it costs: Nothing. The check raises an error where the kernel died before.
    """

    id, title, causes = "guard-zero-divisor", "Check for a zero before the library divides by it", ("arithmetic-fault",)
    why = (
        "Compiled code raises no error when it divides a whole number by zero: the processor stops it. Often a "
        "length, a size or a step is 0 because some input is empty."
    )
    snippet = (
        "if divisor == 0:  # the length, size or step that the line gives to the library\n"
        "    raise ZeroDivisionError('nothing to divide by: is the input empty?')"
    )

    FIRES = [
        Case("libc = load()", "libc.div(1, 0)", line=1, says=("divides a whole number by zero",)),
        Case("x = 1", "for n in sizes:\n    f(n)\nprint(1)", says=("is the input empty?",)),
    ]
    SILENT = [Case("libc = load()", "libc.div(1, 0)", cause="segfault")]
