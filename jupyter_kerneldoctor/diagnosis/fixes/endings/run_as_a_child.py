import ast
from functools import partial

from ...edits import import_as, replace
from ...fix import Call, Case, Death, Fix, Proposal, Proposals, quote
from .restart_from_the_menu import IN_JUPYTERLAB

_LISTS = ("os.execv", "os.execve", "os.execvp", "os.execvpe")
_WORDS = ("os.execl", "os.execlp")
_RESTART = "get_ipython().kernel.do_shutdown(restart=True)"
_CELL = "import os, sys\ndef train(name):\n    os.execv(sys.executable, {})"
_case = partial(Case, exit_code=0)


class RunAsAChild(Fix):
    """Run the program as a child; do not put it in the kernel's place.

    What it does: `os.execv` and its like put another program in the place of the process. In a notebook that process is
    the kernel: when the program ends, the kernel has ended. The edit runs the same program with `subprocess.run`, and
    the cell goes on when it has ended.

    When it is offered: The cell, or a function it calls, replaced the kernel by another program.

    What it costs: The kernel's memory stays in use while the program runs.
    """

    id, causes = "run-as-a-child", ("exit-call",)
    title = "Run the program beside the kernel, not in its place: subprocess.run"

    FIRES = [
        _case(
            _CELL.format("[sys.executable, 'train.py', name]"),
            "train('base')",
            becomes={
                1: "import subprocess\nimport os, sys\ndef train(name):\n"
                "    subprocess.run([sys.executable, 'train.py', name], check=True)"
            },
        ),
        Case(
            "import os, subprocess\nos.execvpe('make', ['gmake', '-j4'], env)",
            exit_code=2,
            becomes="import os, subprocess\nsubprocess.run(['gmake', '-j4'], executable='make', env=env, check=True)",
        ),
        _case(
            "import os, subprocess as sp\nos.execlp('ls', 'ls')",
            becomes={"os.execlp('ls', 'ls'": "sp.run(['ls'], check=True"},
        ),
        _case(_CELL.format("['python'] + sys.argv"), "train(1)", says=("Restart Kernel", "do_shutdown(restart=True)")),
    ]
    SILENT = [
        Case("import os\nos._exit(3)", exit_code=3),
        _case("import os\nif os.fork() == 0: os.execv('/bin/ls', ['ls'])"),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        if any(code.running.calls("os.fork")):
            return
        for call in code.running.calls(*_LISTS, *_WORDS):
            why = f"{quote(call.text)} puts another program in the place of the kernel. Its variables are gone at once."
            if "sys.argv" in call.text:
                title = "Use Kernel > Restart Kernel in place of starting its program again"
                yield Proposal(why=f"{why} {IN_JUPYTERLAB}", title=title, snippet=_RESTART)
            elif (given := _given(call)) is not None:
                name, imported = import_as(call.scope, code, "subprocess", "subprocess")
                edits = imported + replace(call.scope, call.node, f"{name}.run({given}, check=True)")
                yield Proposal(edits, f"{why} `{name}.run` runs it as a child and waits for its end.")


def _given(call: Call) -> str | None:
    """Return the arguments of subprocess.run that do the same; None where they are not written out."""
    given = [call.scope.segment(one) for one in call.node.args]
    if not call.is_written_out or call.node.keywords or len(given) < 2:
        return None
    first, words = given[1], f"[{', '.join(given[1:])}]"
    if call.name in _LISTS:
        listed, words = call.node.args[1], given[1]
        first = call.scope.segment(listed.elts[0]) if isinstance(listed, ast.List | ast.Tuple) and listed.elts else ""
    program = "" if first == given[0] else f", executable={given[0]}"
    return words + program + (f", env={given[2]}" if call.name in ("os.execve", "os.execvpe") else "")
