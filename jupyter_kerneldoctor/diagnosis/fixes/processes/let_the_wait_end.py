import ast
import re
from typing import Any, NamedTuple

from jupyter_kerneldoctor.recording.events import Frame

from ...analysis.stuck_cell import StuckCell
from ...code.cellsource import parse
from ...code.notebook import Notebook
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...endless_wait import failed_workers
from ...examples.stuck import IN_MAP, IN_RUN, child, child_state, frame, own_frame, thread
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck

_TAKES = re.compile(r"\bwith\s+[\w.]+\s*[:,]|\.acquire\(")
_LOCK = re.compile(r"with\s+([\w.]+)|(?<![\w.])([\w.]+)\.acquire")
_POOL = re.compile(r"(?:^|\.)(?:Pool|ProcessPoolExecutor)$")
_MAPS = frozenset({"map", "imap", "imap_unordered", "starmap", "map_async", "apply_async", "submit"})
_IMPORTS = (("<frozen importlib._bootstrap>", "acquire"), ("<frozen importlib._bootstrap>", "_find_and_load"))
_IMPORTING = ("<frozen importlib._bootstrap>", 120, "acquire")
_SENDING = frame("multiprocessing/connection.py", "_send")
_RAISE = "the function raise an error: no exit() or os._exit() in a worker"
_FUTEX = "futex_wait_queue"
_LONGEST_LINE = 1000
_OTHER = "def other():\n    with b:\n        with a: pass"


def _hangs(*cells: str, says: str = "", gone: Any = (), **seen: Any) -> Case:
    return stuck(*cells, says=(says,), **({"children": gone} if gone else {}), **{"line": 1, **seen})


class LetTheWaitEnd(Fix):
    """Put in order who waits for whom.

    What it does: Some waits never end because of what comes first: a queue is filled before anybody reads it, a program
    is waited for while its output fills a pipe, a pool is older than its function.

    When it is offered: The kernel is stuck, and its stacks or its cells show that it is one of these.

    What it costs: Nothing.
    """

    id, title, causes = "let-the-wait-end", "Put in order who waits for whom", ("hang",)

    unless_offered = frozenset({"spawn-target-in-module", "spawn-not-fork", "hold-the-lock-with"})

    FIRES = [
        _hangs(
            "there.send(rows)",
            inner=[_SENDING],
            waits_in="sock_alloc_send_pskb",
            processes=[child_state(900, _SENDING, waits_in="sock_alloc_send_pskb")],
            says="receive before it sends",
        ),
        _hangs(
            "import tables",
            inner=[frame("threading.py", "wait"), Frame("<frozen importlib._bootstrap>", 1100, "_find_and_load")],
            threads=[thread(Frame(*_IMPORTING), own_frame("load()", 1), waits_in=_FUTEX, main=False)],
            says="the import is over",
        ),
        _hangs("for u in urls: q.put(u)", inner=[frame("queue.py", "put")], says="before you fill it"),
        _hangs(
            "if p.wait() != 0: print(p)",
            inner=IN_RUN,
            waits_in="do_wait",
            processes=[child_state(900, forked=False, name="du", waits_in="anon_pipe_write")],
            says="output, errors = p.communicate()",
        ),
        _hangs(
            "r = asyncio.run_coroutine_threadsafe(load(x), loop).result()",
            inner=[frame("concurrent/futures/_base.py", "result")],
            says="await load(x)",
        ),
        _hangs(
            _OTHER,
            "t.start()\nwith a:\n    with b: pass",
            line=3,
            threads=[thread(own_frame(_OTHER, 3), waits_in=_FUTEX, main=False)],
            says="the same order",
        ),
        _hangs(
            _OTHER,
            "t.start()\nt.join()",
            line=2,
            inner=[frame("threading.py", "join")],
            threads=[thread(own_frame(_OTHER, line), waits_in=_FUTEX, main=False) for line in (2, 3)],
            says="the same order",
        ),
        _hangs(
            "p.stdin.write(text)",
            inner=[frame("subprocess.py", "write")],
            waits_in="anon_pipe_write",
            processes=[child_state(900, forked=False, name="tr", waits_in="anon_pipe_write")],
            says="output, errors = p.communicate(text)",
        ),
        _hangs(
            "p = Popen(['sort'], stdin=PIPE)\np.stdin.write(text)\np.wait()",
            line=3,
            inner=IN_RUN,
            waits_in="do_wait",
            processes=[child_state(900, forked=False, name="sort", waits_in="pipe_read")],
            says="The program waits for more input",
        ),
        _hangs(
            "r = pool.map(f, xs)",
            inner=IN_MAP,
            processes=[child_state(900, waits_in=_FUTEX)],
            gone=[child(901, exit_code=2)],
            says="results = list(pool.map(f, xs))",
        ),
        _hangs(
            "out = [q.get() for _ in ps]",
            inner=(frame("multiprocessing/connection.py", "_recv"), frame("multiprocessing/queues.py", "get")),
            waits_in="pipe_read",
            gone=[child(901, exit_code=1)],
            says="q.put(error)",
        ),
        _hangs(
            "os.mkfifo(path)\nout = open(path, 'w')",
            line=2,
            waits_in="wait_for_partner",
            says="Popen([..., path])  # first",
        ),
        _hangs("import multiprocessing as mp\npool = mp.Pool(2)", "def f(x): ...", "pool.map(f, xs)", says="`f`"),
    ]
    SILENT = [
        _hangs("q.get()"),
        _hangs("import multiprocessing as mp\ndef f(x): ...", "pool = mp.Pool(2)", "pool.map(f, xs)"),
        _hangs("q = queue.Queue()", "q.join()"),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        if still is None or still.waits_for_what_nobody_reads:
            return  # see `read-the-queue-first`
        found = _of_both(still) or _of_stacks(still) or _of_a_pool(death.code)
        if found:
            yield Proposal((), found.why, title=found.title, snippet=found.snippet)


class _Order(NamedTuple):
    title: str
    why: str
    snippet: str


def _of_stacks(still: StuckCell) -> _Order | None:
    code = still.main.code.strip()[:_LONGEST_LINE]
    called = {(one.short_file, one.function) for one in still.main.frames}
    line = quote(code) if code else "the cell"
    if ("queue.py", "put") in called:
        why = f"There is no more room in the queue (`maxsize`) at {line}, and no thread takes anything out."
        snippet = "for one in threads:\n    one.start()\nfor item in items:\n    queue.put(item)  # afterwards"
        return _Order("Start those who read the queue before you fill it", why, snippet)
    if still.main.kind == "child" and any(one.waiting.writes_to_a_pipe for one in still.held_up_by_pipes):
        process = next(iter(re.findall(r"(?<![\w.])([\w.]+)\.wait\(", code)), "process")
        why = f"A pipe holds 64 KiB, and {line} does not read what the program writes. `communicate` reads and waits."
        snippet = f"output, errors = {process}.communicate()\nprint({process}.returncode)"
        return _Order("Read the program's output while it runs: communicate", why, snippet)
    if still.main.kind == "partner":
        opened = next(iter(re.findall(r"\bopen\(([^,)]+)", code)), "path")
        why = f"{line} waits until another process opens the other end of the pipe, and that comes later here."
        snippet = (
            f"program = subprocess.Popen([..., {opened}])  # first: it opens the other end\n"
            f"pipe = open({opened}, 'wb')  # comes back as soon as it has"
        )
        return _Order("Start the program at the other end before you open the pipe", why, snippet)
    if (asked := re.search(r"run_coroutine_threadsafe\((.{1,200}),[^,]{1,99}\)\.result\(", code)) is not None:
        why = f"{line} blocks the thread of the very event loop that it waits for. `await` lets the loop go on."
        return _Order("Await the coroutine in place of waiting for its result", why, f"result = await {asked[1]}")
    if still.main.kind in ("pipe", "child") and still.held_up_by_pipes and "stdin" in _texts(still):
        return _of_input(still, code, line)
    asked, failed = re.search(r"(?<![\w.])([\w.]+)\.get\(", code), failed_workers(still)
    if asked is not None and failed and all(one.exit_code == 1 for one in failed):
        why = f"A process has ended with an error before it put anything into the queue, and {line} waits for that."
        snippet = (
            f"try:  # in the process\n    {asked[1]}.put(...)\nexcept Exception as error:\n"
            f"    {asked[1]}.put(error)  # the kernel hears of it\n\n"
            f"result = {asked[1]}.get(timeout=60)  # raises Empty where nothing comes\n"
            "if isinstance(result, Exception):\n    raise result"
        )
        return _Order("Send errors through the queue, too, and give the wait an end", why, snippet)
    if failed:
        why = f"A worker process has ended, and {line} goes on waiting for its result. This executor says so instead."
        of_memory = any(one.oom_kills for one in failed)
        snippet = (
            "from concurrent.futures import ProcessPoolExecutor\n\n"
            "with ProcessPoolExecutor() as pool:  # raises BrokenProcessPool when a worker ends\n"
            f"    results = list(pool.map({_mapped(code)}))\n"
            f"# and let {'less work run at a time' if of_memory else _RAISE}"
        )
        return _Order("Hear of workers that end: ProcessPoolExecutor", why, snippet)
    waits = [one.code.strip() for one in (still.main, *still.others) if one.kind == "lock" and _TAKES.search(one.code)]
    if still.holder is None and len(waits) > 1:
        first, second = (quote(one) for one in waits[:2])
        why = (
            f"A thread waits for a lock at {first}, and another one at {second}: each has what the other one needs."
            if first != second
            else f"Two threads wait at {first}, each for the lock that the other one has."
        )
        locks = [found[1] for one in waits[:2] if (found := _LOCK.search(one))]
        named = ", ".join(locks) if len({*locks}) == 2 and None not in locks else "one_lock, other_lock"
        snippet = f"first, second = sorted(({named}), key=id)  # in each thread the same order\n"
        snippet += "with first, second:\n    ..."
        return _Order("Take the locks in the same order everywhere", why, snippet)
    return None


def _of_input(still: StuckCell, code: str, line: str) -> _Order:
    """Tell of a program whose input nobody ends, or that waits until its output is read."""
    process = next(iter(re.findall(r"(?<![\w.])([\w.]+)\.(?:stdin|stdout|wait)\b", code + _texts(still))), "process")
    snippet = f"output, errors = {process}.communicate(text)  # all input at once; no write(), no read()"
    if still.main.writes_to_a_pipe or all(one.waiting.writes_to_a_pipe for one in still.held_up_by_pipes):
        why = (
            f"A pipe holds 64 KiB. At {line} the kernel waits for the program, and the program waits until its output "
        )
        why += "is read. `communicate` writes and reads at the same time."
        return _Order("Write and read at the same time: communicate", why, snippet)
    why = f"The program waits for more input, and {line} waits for the program. What was written may still lie in "
    why += "Python's buffer, and the input has no end before it is closed. `communicate` writes, closes and reads."
    snippet += f"\n\n{process}.stdin.flush()  # or, to go on asking it: after each write, which ends with a newline"
    return _Order("Flush and close the program's input, or use communicate", why, snippet)


def _of_both(still: StuckCell) -> _Order | None:
    """Tell of two that both send, and of threads that import what is being imported."""
    line = quote(still.main.code.strip()[:_LONGEST_LINE])
    if still.all_send:
        why = f"{line} waits until the other process reads, and that one waits until the kernel reads what it sends."
        snippet = "# in the kernel\nconnection.send(mine)\ntheirs = connection.recv()\n\n# in the other process\n"
        snippet += "theirs = connection.recv()  # first: else both wait for room in the pipe\nconnection.send(mine)"
        return _Order("Let one side receive before it sends", why, snippet)
    if any((one.short_file, one.function) in _IMPORTS for other in still.others for one in other.frames) and any(
        one.short_file.startswith("<frozen importlib") for one in still.main.frames
    ):
        why = f"{line} waits for threads that import from the very module that is being imported: that comes first."
        snippet = "def fill():  # in the module, in place of what stands at its top level\n"
        snippet += "    with ThreadPoolExecutor() as pool:\n        return list(pool.map(load, names))\n\n"
        snippet += "import module\ntables = module.fill()  # in the cell: the import is over"
        return _Order("Start threads only after the module is imported: in a function", why, snippet)
    return None


def _mapped(code: str) -> str:
    """Return what a pool is given to work on: "f, xs"."""
    tree = parse(code)
    for node in walk(tree) if tree is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(attr="map" | "imap" | "imap_unordered"), args=[function, items]):
                return f"{unparse(function)}, {unparse(items)}"
    return "function, items"


def _of_a_pool(code: Notebook) -> _Order | None:
    """Tell of a pool that was made before the function of a cell that its workers are given."""
    for call, scope in code.running.nodes(ast.Call):
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in _MAPS and call.args):
            continue
        made = all_origins(call.func.value, scope, code)
        pool = next((one for one in made if _POOL.search(_called(one.node))), None)
        given = code.definition(call.args[0], scope)
        if pool is not None and given is not None and pool.scope.is_cell and pool.scope.cell < given.cell:
            name, text = unparse(call.args[0]), pool.scope.segment(pool.node)
            why = f"The workers of {quote(text)} are copies of the kernel as it was before {quote(name)} was there."
            snippet = f"{unparse(call.func.value)} = {text}  # again, below the function's cell"
            return _Order("Make the pool after the function that it runs", why, snippet)
    return None


def _called(node: ast.expr) -> str:
    return unparse(node.func) if isinstance(node, ast.Call) else ""


def _texts(still: StuckCell) -> str:
    return "\n".join(cell.source for cell in still.recording.cells)
