import ast

from ...code.calls import last_name
from ...edits import insert_after
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote

_WAITS = ("wait", "communicate", "poll", "terminate", "kill")
_PACK = "import subprocess\ndef pack(path):\n    p = subprocess.Popen(['gzip', path])\n    jobs.append(p)"
_ALL = "for path in paths: pack(path)"


class WaitForPrograms(Fix):
    """Wait for each program that was started.

    What it does: A program that has ended stays in the system's list of processes until the one that started it asks
    for its end: `wait()`, `poll()` or `communicate()`. Who starts programs in a loop and never asks has used up all
    processes that are allowed, though hardly one of them runs. The edit waits for each.

    When it is offered: No more processes could be started where the cells start programs with `Popen`, and nowhere ask
    for their end.

    What it costs: One program runs after the other; the snippet lets a few run at the same time. A program that is to
    stay, a server, never ends: do not wait for that.
    """

    id, title, causes = "wait-for-programs", "Wait for the programs that were started: p.wait()", ("thread-limit",)

    FIRES = [
        Case(_PACK, _ALL, alive=True, becomes={"jobs": "p.wait()\n    jobs"}),
        Case(
            "from subprocess import Popen, PIPE",
            "jobs = [Popen(['gzip', path], stdout=PIPE) for path in paths]",
            alive=True,
            says=("subprocess.run(command)", "ThreadPoolExecutor(4)"),
        ),
    ]
    SILENT = [
        Case(_PACK, _ALL + "\nfor p in jobs: p.wait()", alive=True),
        Case(_PACK, "pack('a')", alive=True),
        Case("import subprocess", "for p in ps:\n    with subprocess.Popen(p) as run: use(run)", alive=True),
    ]

    def propose(self, death: Death) -> Proposals:
        asks = (last_name(call.func) for scope in death.code.running for call in scope.calls)
        if any(name in _WAITS for name in asks):
            return
        for call in death.code.running.calls("subprocess.Popen"):
            opened = [one.context_expr for one in call.scope.nodes if isinstance(one, ast.withitem)]
            if call.node in opened or not _is_repeated(call, death):
                continue  # the end of a block waits
            why = f"{quote(call.text)} starts a program that nobody waits for: as many run as were started. Also when "
            why += "one has ended, a kept `Popen` holds its place in the list of processes until `wait()` is called."
            pipes = any(word.arg in ("stdin", "stdout", "stderr") for word in call.node.keywords)
            snippet = (
                "import subprocess\nfrom concurrent.futures import ThreadPoolExecutor\n\n"
                "with ThreadPoolExecutor(4) as pool:  # four at the same time; run waits for each\n"
                "    done = list(pool.map(lambda command: subprocess.run(command), commands))"
            )
            match call.statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node and not pipes:
                    why += " The edit waits for each: that is for programs that end by themselves, not for servers."
                    yield Proposal(insert_after(call.scope, call.statement, f"{name}.wait()"), why, snippet=snippet)
                case _:
                    yield Proposal((), why, snippet=snippet)
            return


def _is_repeated(call: Call, death: Death) -> bool:
    """Whether programs are started again and again: in a loop, or by a function that one calls."""
    if call.scope.loops_around(call.node) or any(
        isinstance(one, ast.ListComp | ast.DictComp) for one in call.scope.inside(call.statement)
    ):
        return True
    names = {call.scope.function}
    for _ in range(3):  # a method that a method calls in its loop
        for one, scope in death.code.running.nodes(ast.Call):
            if last_name(one.func) in names and scope.loops_around(one):
                return True
        names |= {s.function for s in death.code.running if any(last_name(one.func) in names for one in s.calls)} - {""}
    return False
