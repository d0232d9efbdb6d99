from ...code.cellsource import line_of
from ...fix import Case, Death, Fix, Proposal, Proposals, quote


class AnswerTheProgram(Fix):
    """Answer a program of a shell line beforehand, or tell it not to ask.

    What it does: A program that a cell runs in a shell line has no keyboard: its question waits until somebody
    interrupts the kernel. `yes` answers each question with y; many programs have an option, such as `-y`, with which
    they do not ask.

    When it is offered: The program of a shell line waits for a key.

    What it costs: Nobody reads the questions: see first what is agreed to.
    """

    id, title, causes = "answer-the-program", "Answer the program beforehand: yes |, or its option -y", ("hang",)

    FIRES = [Case("x = 1\n!bash setup.sh", line=2, says=("!yes | bash setup.sh", "/dev/null"))]
    SILENT = [
        Case("import subprocess\nsubprocess.run(c)", line=2),
        Case("!ls\nq.get()", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        busy, line = death.busy_cell, death.causes[0].line
        if death.cell is None or line is None or (busy is not None and busy.asks_s is None):
            return
        text = line_of(death.cell.source, line).strip()
        command = text[1:].strip()
        if text.startswith("!") and command:
            yield Proposal(
                why=f"{quote(text)} runs a program that asks, and nobody can type an answer.",
                snippet=f"!yes | {command}  # y to each question; `echo no |` answers one\n"
                f"!{command} -y  # many programs do not ask then: see --help\n"
                f"!{command} < /dev/null  # or have it find no keyboard: it ends, or takes what is usual",
            )
