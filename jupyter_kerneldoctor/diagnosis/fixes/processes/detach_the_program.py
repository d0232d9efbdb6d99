import ast
import re
from collections.abc import Iterator
from dataclasses import replace as changed
from typing import Any

from ...analysis.held_pipe import BACKGROUND, runs_a_script, waits_for_the_background
from ...code.calls import last_name
from ...code.origins import all_origins
from ...edits import replace
from ...examples.stuck import child_state, frame, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, Scope, quote, stuck

_AT_THE_END = re.compile(r"(?s)(.*[^\s&>|])\s*&\s*([\"']{1,3})")
_TO_A_FILE = re.compile(r"(?<![2-9&])>")
_BOTH = re.compile(r"&>|2>&1|2>\s*\S")
_SEVERAL = re.compile(r"[;|()\n`]|&&|\$\(")
_RUNS = frozenset(
    {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "popen", "system"}
)
"""Functions of `subprocess`, `os` and IPython that run a command."""
_LOG = "background.log"
_SNIPPET = (
    "import subprocess\n\nlog = open('background.log', 'w')  # or subprocess.DEVNULL: no pipe that somebody waits for\n"
    "program = subprocess.Popen({command}, shell=True, stdin=subprocess.DEVNULL,\n"
    "                           stdout=log, stderr=subprocess.STDOUT, start_new_session=True)  # comes back at once\n\n"
    "import os, signal\nos.killpg(program.pid, signal.SIGTERM)  # when it is not needed any more"
)
_OF_A_SCRIPT = (
    "# in the cell, whose first line is {first}: the program gets no pipe\n# program > background.log 2>&1 &\n\n"
    "# or IPython does not wait for the end of the cell:\n# {first} --bg"
)
_COMMUNICATES = (frame("selectors.py", "select"), frame("subprocess.py", "_communicate"), frame("subprocess.py", "run"))
_ENDED = changed(child_state(900, forked=False, name="sh"), state="Z")
_SCRIPT = "IPython/core/magics/script.py"
_LOOP = changed(
    thread(frame("asyncio/base_events.py", "_run_once"), waits_in="do_epoll_wait", main=False), wakers=("a pipe",)
)
_AT_WORK = child_state(900, forked=False, name="sh", waits_in="do_wait")


def _waits(*cells: str, processes: Any = (_ENDED,), **more: Any) -> Case:
    told = {"inner": _COMMUNICATES, "waits_in": "poll_schedule_timeout", **more}
    return stuck(*cells, processes=processes, **told)


class DetachTheProgram(Fix):
    """Start a program in the background without a pipe.

    What it does: Where the output of a shell is read, `&` does not suffice to leave a program behind: it inherits the
    pipe, and the reader waits until the last one has closed it. A program whose output goes to a file has no pipe, and
    the call comes back as soon as the shell has ended. The edit sends the output to a file.

    When it is offered: The kernel reads the output of a program that has ended, so that another one has the pipe.

    What it costs: What the program writes stands in the file, not in the result.
    """

    id, title, causes = (
        "detach-the-program",
        "Start it in the background without a pipe: its output to a file",
        ("hang",),
    )

    FIRES = [
        _waits(
            "import subprocess\nsubprocess.run('python -m http.server 8000 &', shell=True, capture_output=True)",
            becomes={"8000 &'": f"8000 > {_LOG} 2>&1 &'"},
            says=("start_new_session=True", "'python -m http.server 8000'"),
        ),
        _waits(
            "def sh(c): return subprocess.run(c, shell=True, capture_output=True)",
            'sh(f"mlflow ui --port {port} &")',
            becomes={'{port} &"': f'{{port}} > {_LOG} 2>&1 &"'},
        ),
        _waits(
            "import os\nout = os.popen('redis-server > redis.log &').read()",
            becomes={"redis.log &'": "redis.log 2>&1 &'"},
            inner=(),
            waits_in="anon_pipe_read",
        ),
        _waits(
            "import os",
            "f = os.popen('mlflow ui &')\nfor line in f:\n    print(line)",
            becomes={"mlflow ui &": f"mlflow ui > {_LOG} 2>&1 &"},
            line=2,
            inner=(),
            waits_in="anon_pipe_read",
        ),
        _waits(
            "out = subprocess.check_output('cd site && python -m http.server & sleep 1', shell=True)",
            inner=(frame("subprocess.py", "communicate"),),
            waits_in="anon_pipe_read",
            says=("DEVNULL",),
        ),
        _waits(
            "%%bash\ncd site\npython -m http.server &\necho ready",
            processes=(),
            line=1,
            inner=(frame("concurrent/futures/_base.py", "result"), frame(_SCRIPT, "in_thread", library=True)),
            waits_in="futex_do_wait",
            threads=[_LOOP],
            says=("%%bash --bg", "> background.log 2>&1 &"),
        ),
        _waits("subprocess.run(['redis-server', '--daemonize', 'yes'], capture_output=True)", says=("DEVNULL",)),
        _waits(
            "title = 'Sales & Costs'\nsubprocess.run(['redis-server', '--daemonize', 'yes'], capture_output=True)",
            says=("another one that this left running",),
        ),
        _waits(
            "%%time\nargs = ['bash', '-c', 'mlflow ui 1> ui.log &']\nsubprocess.run(args, capture_output=True)",
            becomes={"ui.log &'": "ui.log 2>&1 &'"},
        ),
    ]
    SILENT = [
        _waits("subprocess.run('make all & make docs & wait', shell=True, capture_output=True)", processes=[_AT_WORK]),
        _waits("subprocess.run('server &', shell=True, capture_output=True)", processes=()),
        _waits("subprocess.run('server > log 2>&1 &', shell=True, capture_output=True)"),
        _waits("import subprocess\nrows = open(fifo).read()", inner=(), waits_in="anon_pipe_read"),
        _waits("rows = connection.recv()", inner=(), waits_in="anon_pipe_read"),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or not waits_for_the_background(still):
            return
        if death.cell is not None and runs_a_script(still):
            why = "The shell of the cell has ended; the program that it left in the background has its pipe."
            yield Proposal((), why, snippet=_OF_A_SCRIPT.format(first=death.cell.source.split("\n")[0].split(" --")[0]))
            return
        found = [*_in_background(death)]
        if not found:
            line = quote(still.main.code.strip())
            why = (
                f"{line} reads the output of a program that has ended; another one that this left running has the pipe."
            )
            yield Proposal((), why, snippet=_SNIPPET.format(command="command"))
            return
        for node, scope in found:
            text = scope.segment(node)
            if _BOTH.search(text):
                continue  # it has no pipe
            why = f"The program of {quote(text)} inherits the pipe, and who reads it waits until it is closed."
            at_end = _AT_THE_END.fullmatch(text)
            if at_end is None or _SEVERAL.search(at_end[1]) or BACKGROUND.search(at_end[1]):
                yield Proposal((), why, snippet=_SNIPPET.format(command="command"))
                return
            where = "2>&1" if _TO_A_FILE.search(at_end[1]) else f"> {_LOG} 2>&1"
            yield Proposal(
                replace(scope, node, f"{at_end[1]} {where} &{at_end[2]}"),
                why,
                snippet=_SNIPPET.format(command=f"{at_end[1]}{at_end[2]}"),
            )
            return


def _in_background(death: Death) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the texts in which a shell is told to go on without waiting, of what the running code runs."""
    for call, scope in death.code.running.nodes(ast.Call):
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg in ("args", "cmd", "command"))]
        for one in given if last_name(call.func) in _RUNS else ():
            for text, where in all_origins(one, scope, death.code, parts=True):
                written = text.values if isinstance(text, ast.JoinedStr) else [text]
                parts = (part.value if isinstance(part, ast.Constant) else "?" for part in written)
                if isinstance(text, ast.JoinedStr | ast.Constant) and BACKGROUND.search("".join(map(str, parts))):
                    yield text, where
