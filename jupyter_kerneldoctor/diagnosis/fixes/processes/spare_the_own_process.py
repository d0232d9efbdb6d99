import ast
from collections.abc import Iterator, Sequence

from ...code.calls import plain_names
from ...code.ending_calls import EndingCall
from ...code.process_loops import is_of_a_port, sent_to_found, target_of
from ...code.trees import unparse, walk
from ...edits import Changes, import_as, indent_unit, insert_before
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote

_LOOP = "import os, psutil\nfor p in psutil.process_iter():\n    if 'python' in p.name():\n        p.kill()"
_PORT = (
    "import os, psutil\nfor c in psutil.net_connections():\n    if c.laddr.port == 8050: psutil.Process(c.pid).kill()"
)


class SpareTheOwnProcess(Fix):
    """Leave the kernel out when you end all processes of a kind.

    What it does: A loop over all processes meets the kernel itself, too: its name is `python`. The edit goes on with
    the next one there. For `pkill` and `killall`, which cannot leave one out, the snippet has such a loop. Where the
    process that holds a port was ended, the kernel itself held it: a server runs in it, and has to be closed.

    When it is offered: The kernel was ended by such a loop, or by such a command.

    What it costs: Nothing.
    """

    id, title, causes = "spare-the-own-process", "Leave the kernel out: compare with os.getpid()", ("self-kill",)

    FIRES = [
        Case(
            _LOOP,
            becomes=_LOOP.replace(":\n    if", ":\n    if p.pid == os.getpid():\n        continue\n    if"),
        ),
        Case(
            "import os, psutil\nfor p in psutil.process_iter(): p.kill()",
            becomes={"(): p": "():\n    if p.pid == os.getpid():\n        continue\n    p"},
        ),
        Case(
            "import os, psutil\nfor pid in psutil.pids():\n    psutil.Process(pid).kill()",
            becomes={"    psutil": "    if pid == os.getpid():\n        continue\n    psutil"},
        ),
        Case(  # not all that is there is a number
            "import os\nfor d in os.listdir('/proc'):\n    if d.isdigit():\n        os.kill(int(d), 9)",
            becomes={"        os.": "        if int(d) == os.getpid():\n            continue\n        os."},
        ),
        Case(_PORT, says=("server_close()", "holds the port")),
        Case("!kill -9 $(lsof -t -i:8050)", says=("server_close()",)),
        Case("!pkill -9 python", says=("psutil.process_iter()", "os.getpid()", "`!pkill -9 python`")),
    ]
    SILENT = [
        Case(_PORT.replace("\n    if", "\n    if c.pid != os.getpid() and")),
        Case("import os\nos.kill(os.getpid(), 9)"),
        Case(_LOOP.replace("if", "if p.pid != os.getpid() and")),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in (one for one in death.calls if one.aim == "all"):
            scopes = () if call.place is None else death.code.scopes(call.place[0])
            if _frees_a_port(call, scopes, death):
                why = f"{quote(call.text)} ends the process that holds the port: that is this kernel, with its server."
                yield Proposal((), why, title=_CLOSE, snippet=_CLOSED)
                return
            why = f"{quote(call.text)} ends all processes of this kind, and the kernel is one of them."
            edits = tuple(change for scope in scopes for part in _spared(scope, death) for change in part)
            yield Proposal(edits, why, snippet=_SNIPPET)
            return


_CLOSE = "Close the kernel's own server, which holds the port, and leave the kernel out with os.getpid()"
_CLOSED = (
    "server.shutdown()      # in the cell that keeps the server\nserver.server_close()  # and the port is free\n\n"
    "if pid == os.getpid():\n    raise RuntimeError('this notebook itself holds the port')"
)
_SNIPPET = (
    "import os, psutil\n\nfor process in psutil.process_iter():\n"
    "    if process.name().startswith('python') and process.pid != os.getpid():\n        process.terminate()"
)


def _frees_a_port(call: EndingCall, scopes: Sequence[Scope], death: Death) -> bool:
    """Whether the process was looked for by its port."""
    at = None if call.place is None else call.place[1]
    found = ((node, scope) for scope in scopes for node in scope.calls if node.lineno == at)
    is_told = any(word in call.text for word in ("lsof", "fuser")) and "/dev/" not in call.text
    return is_told or any(
        sent_to_found(*one, death.code) is not None and is_of_a_port(*one, death.code) for one in found
    )


def _spared(scope: Scope, death: Death) -> Iterator[Changes]:
    for call in scope.calls:
        loop = next(iter(scope.loops_around(call)), None)
        if sent_to_found(call, scope, death.code) is not None and isinstance(loop, ast.For):
            name, imported = import_as(scope, death.code, "os", "os")
            target, statement = target_of(call, scope, death.code), scope.statement_of(call)
            is_process = isinstance(call.func, ast.Attribute) and target is call.func.value
            pid = f"{unparse(target)}.pid" if is_process else unparse(target)
            is_made = any(isinstance(one, ast.Call) for one in walk(target))  # `int(line)`: not of each line, perhaps
            is_known = not is_made and plain_names(target) <= plain_names(loop.target)
            lines = (f"if {pid} == {name}.getpid():", f"{indent_unit(scope, loop)}continue")
            yield imported + insert_before(scope, loop.body[0] if is_known else statement or loop.body[0], *lines)
