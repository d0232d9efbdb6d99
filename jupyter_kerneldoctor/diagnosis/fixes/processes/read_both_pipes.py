import ast
import re
from functools import partial

from ...edits import Changes, set_argument
from ...examples.stuck import child_state
from ...fix import Call, Death, Fix, Proposal, Proposals, quote, stuck

_READS = re.compile(r"\.(stdout|stderr)\b")
_STARTS = "p = subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
_SNIPPET = (
    "errors = tempfile.TemporaryFile('w+')  # a file takes all that comes\n"
    "process = subprocess.Popen({command}, stdout=subprocess.PIPE, stderr=errors, text=True)\n"
    "# afterwards, in place of process.{other}.read():\nerrors.seek(0)\ntext = errors.read()\n\n"
    "# or stderr=subprocess.STDOUT: both kinds of lines come through the one pipe\n"
    "# or, at the end only: output, errors = process.communicate()"
)


_WRITES = child_state(900, forked=False, name="ffmpeg", waits_in="anon_pipe_write")
_case = partial(stuck, waits_in="anon_pipe_read", processes=[_WRITES])


class ReadBothPipes(Fix):
    """Read both pipes of a program, or give one of them no pipe.

    What it does: A program with a pipe for its output and one for its messages waits as soon as one of them is full,
    after 64 KiB. Who reads only the other one waits, too. Where nobody reads the messages, the edit gives them no pipe;
    else the snippet keeps them in a file.

    When it is offered: The cell reads one pipe of a program, and the program waits to write to the other.

    What it costs: Nothing.
    """

    id, title, causes = "read-both-pipes", "Read both pipes of the program, or give one of them no pipe", ("hang",)

    FIRES = [
        _case(
            "import subprocess",
            _STARTS + "for line in p.stdout: f(line)",
            becomes={"stderr=subprocess.PIPE": "stderr=subprocess.DEVNULL"},
            says=("64 KiB", "stderr"),
        ),
        _case(
            "import subprocess\ndef said(p): return p.stderr.read()",
            _STARTS + "for line in p.stdout: f(line)",
            says=("TemporaryFile", "stderr=subprocess.STDOUT"),
        ),
    ]
    SILENT = [
        _case("import subprocess\np = subprocess.Popen(c, stdout=subprocess.PIPE)", "p.stdout.read()"),
        _case("import subprocess", "subprocess.run(c)"),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        read = None if still is None else _READS.search(still.main.code)
        if still is None or read is None or still.main.kind != "pipe":
            return
        other = {"stdout": "stderr", "stderr": "stdout"}[read[1]]
        is_full = any(one.waiting.writes_to_a_pipe for one in still.held_up_by_pipes)
        for call in death.code.calls("subprocess.Popen") if is_full else ():
            pipes = [call.argument(word) for word in ("stdout", "stderr")]
            if all(one is not None and death.code.qualified(one, call.scope) == "subprocess.PIPE" for one in pipes):
                why = (
                    f"{quote(still.main.code.strip())} waits for {read[1]}, and the program waits to write to {other}: "
                    "that pipe holds 64 KiB, and nobody reads it meanwhile."
                )
                command = call.scope.segment(call.node.args[0]) if call.node.args else "command"
                yield Proposal(_dropped(call, other, death), why, snippet=_SNIPPET.format(command=command, other=other))
                return


def _dropped(call: Call, other: str, death: Death) -> Changes:
    """Return the edit that gives a pipe which no cell reads to nobody."""
    value, is_read = call.argument(other), death.code.has_text(f".{other}", "communicate")
    if is_read or not isinstance(value, ast.Attribute):
        return ()
    return set_argument(call, other, f"{call.scope.segment(value.value)}.DEVNULL")
