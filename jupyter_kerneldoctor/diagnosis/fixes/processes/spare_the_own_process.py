import ast
from collections.abc import Iterator

from ...code.process_loops import goes_through_processes
from ...code.scopes import Scope
from ...edits import Changes, import_as, indent_unit, insert_before
from ...fix import Case, Death, Fix, Proposal
from ...units import quote

_LOOP = "import os, psutil\nfor p in psutil.process_iter():\n    if 'python' in p.name():\n        p.kill()"


class SpareTheOwnProcess(Fix):
    """Leave the kernel out when you end all processes of a kind.

    What it does: A loop over all processes meets the kernel itself, too: its name is `python`. The edit goes on with
    the next one there. For `pkill` and `killall`, which cannot leave one out, the snippet has such a loop.

    When it is offered: The kernel was ended by such a loop, or by such a command.

    What it costs: Nothing.
    """

    id, title, causes = "spare-the-own-process", "Leave the kernel out: compare with os.getpid()", ("self-kill",)

    FIRES = [
        Case(
            _LOOP,
            cause="self-kill",
            becomes=_LOOP.replace(":\n    if", ":\n    if p.pid == os.getpid():\n        continue\n    if"),
        ),
        Case(
            "!pkill -9 python", cause="self-kill", says=("psutil.process_iter()", "os.getpid()", "`!pkill -9 python`")
        ),
    ]
    SILENT = [
        Case("import os\nos.kill(os.getpid(), 9)", cause="self-kill"),
        Case(_LOOP.replace("if", "if p.pid != os.getpid() and"), cause="self-kill"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Have the loop leave the kernel out; for a command show the loop."""
        for call in (one for one in death.calls if one.aim == "all"):
            why = f"{quote(call.text)} ends all processes of this kind, and the kernel is one of them."
            scopes = () if call.place is None else death.code.scopes(call.place[0])
            edits = tuple(change for scope in scopes for part in _spared(scope, death) for change in part)
            yield Proposal(edits, why, snippet=_SNIPPET)
            return


_SNIPPET = (
    "import os, psutil\n\nfor process in psutil.process_iter():\n"
    "    if process.name().startswith('python') and process.pid != os.getpid():\n        process.terminate()"
)


def _spared(scope: Scope, death: Death) -> Iterator[Changes]:
    for call in scope.calls:
        loop = next(iter(scope.loops_around(call)), None)
        if goes_through_processes(call, scope, death.code) is not None and isinstance(loop, ast.For):
            name, imported = import_as(scope, death.code, "os", "os")
            target = ast.unparse(loop.target)
            pid = f"int({target})" if isinstance(call.func, ast.Attribute) and call.args else f"{target}.pid"
            lines = (f"if {pid} == {name}.getpid():", f"{indent_unit(scope, loop)}continue")
            yield imported + insert_before(scope, loop.body[0], *lines)
