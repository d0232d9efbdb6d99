from typing import Any

from ...analysis.own_copies import own_copy
from ...code.calls import last_name
from ...code.classes import class_named
from ...examples.stuck import IN_JOIN, child_state, frame, own_frame
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, stuck

_EVENT = (
    "import multiprocessing\n\nstop = multiprocessing.Event()  # before the process starts: both of them see it\n\n"
    "def {function}({given}stop):\n    while not stop.is_set():  # in place of `{head}`\n        ...\n\n"
    "p = multiprocessing.Process(target={function}, args=(..., stop))\np.start()\n"
    "stop.set()  # in place of `{change}`\np.join()\n\n"
    "# or end it from outside, where it has nothing to finish\np.terminate()\np.join()"
)
_OF_A_CLASS = (
    "import multiprocessing\n\nclass {owner}{base}:\n    def __init__(self):\n        {begins}"
    "self.stop_event = multiprocessing.Event()  # both processes see it\n\n"
    "    def {function}(self):\n"
    "        while not self.stop_event.is_set():  # in place of `{head}`\n            ...\n\n"
    "{object}.stop_event.set()  # in place of `{change}`\n{process}.join()\n\n"
    "# or end it from outside, where it has nothing to finish\n{process}.terminate()\n{process}.join()"
)
_QUEUE = (
    "import multiprocessing\n\nresults = multiprocessing.Queue()  # before the process starts\n\n"
    "def {function}({given}results):\n    results.put(...)  # in place of `{change}`\n\n"
    "p = multiprocessing.Process(target={function}, args=(..., results))\np.start()\n"
    "first = results.get(timeout=60)  # in place of `{head}`: it sees what the other one put in\np.join()\n\n"
    "# a number or a flag: multiprocessing.Value('i', 0), Event(); a list or dict: multiprocessing.Manager().dict()"
)
_LOOP = "def work():\n    while running:\n        time.sleep(1)"
_RUN = (
    "class Reader(mp.Process):\n    def __init__(self):\n        super().__init__()\n        self.running = True\n"
    "    def run(self):\n"
    "        while self.running:\n            self.read()\n    def read(self):\n        time.sleep(1)"
)
_FILL = "def work(n):\n    time.sleep(n)\n    {}"
_START = "import multiprocessing as mp\n{}\np = mp.Process(target=work, args=(1,))\np.start()\n{}:\n    time.sleep(0.1)"


def _joins(first: str, *cells: str, at: tuple[int, ...] = (3,), **more: Any) -> Case:
    stack = [own_frame(first, line, "work") for line in at]
    child = child_state(900, *stack, waits_in="hrtimer_nanosleep")
    return stuck(first, *cells, inner=IN_JOIN, waits_in="do_wait", processes=[child], **more)


def _sleeps(does: str, makes: str, waits: str, **more: Any) -> Case:
    return stuck(
        _FILL.format(does), _START.format(makes, waits), waits_in="hrtimer_nanosleep", **{"processes": (), **more}
    )


class ShareBetweenProcesses(Fix):
    """Share what processes tell each other.

    What it does: A child process has a copy of all variables. What the notebook sets after the start, the child never
    sees, and what the child sets or fills, the notebook never does: a loop that waits for it never ends.
    `multiprocessing.Event`, `Value` and `Queue` belong to both.

    When it is offered: The kernel waits for a process whose loop asks a variable that only the notebook sets; or it
    sleeps until a variable changes that only the function of a child process changes.

    What it costs: Nothing.
    """

    id, title, causes = "share-between-processes", "Share it: multiprocessing.Event, Value or Queue", ("hang",)

    FIRES = [
        _joins(
            _LOOP,
            "running = True\np = Process(target=work)\np.start()",
            "running = False\np.join()",
            says=("`while running`", "multiprocessing.Event()", "in place of `running = False`", "p.terminate()"),
        ),
        _joins(
            _RUN,
            "reader = Reader()\nreader.start()",
            "reader.running = False\nreader.join()",
            at=(9, 7),
            says=("Reader(multiprocessing.Process)", "reader.stop_event.set()  # in place of `reader.running = False`"),
        ),
        _joins(
            "class Work:\n    def __init__(self): self.on = True\n    def work(self):\n        while self.on:\n"
            "            time.sleep(1)",
            "w = Work()\np = Process(target=w.work)\np.start()",
            "w.on = False\np.join()",
            at=(5,),
            says=("class Work:", "w.stop_event.set()", "process.join()"),
        ),
        _sleeps("results.append(n)", "results = []", "while not results", says=("results.put(...)",)),
        _sleeps("global done\n    done = True", "done = False", "while not done", says=("in place of `done = True`",)),
        stuck(
            _FILL.format("global done\n    done = True"),
            "done = False\np = Process(target=work, args=(1,))\np.start()",
            "while not done:\n    time.sleep(1)",
            waits_in="hrtimer_nanosleep",
            says=("results.get(timeout=60)",),
        ),
        _sleeps("seen[n] = 1", "seen = {}", "while len(seen) < 1", processes=[child_state(900)], says=("Manager",)),
    ]
    SILENT = [
        _joins(_LOOP, "running = True\np = Process(target=work)", "p.join()"),
        _joins(_LOOP, "stop = Value('b', 0)\nrunning = True\np = Process(target=work)", "running = False\np.join()"),
        _joins(
            _LOOP + "\n        if late():\n            break", "running = True\np.start()", "running = False\np.join()"
        ),
        _joins("def work():\n    running = True\n    time.sleep(9)", "running = True", "running = False\np.join()"),
        _joins(_LOOP, "running = True\np = Process(target=work)", "running = False\np.join(60)"),
        _sleeps("results.append(n)", "results = Manager().list()", "while not results"),
        _sleeps("results.append(n)", "results = []\nThread(target=work).start()", "while not results"),
        _sleeps("results = [n]", "results = []\nopen(p)", "while len(results) < len(os.listdir())"),
        stuck("q.get()", inner=[frame("queue.py", "get")], waits_in="futex_wait_queue"),
    ]

    def propose(self, death: Death) -> Proposals:
        still = death.stuck_cell
        found = None if still is None else own_copy(still, death.find)
        if found is None:
            return
        owner, _, function = found.function.rpartition(".")
        if found.asked_by_child:
            why = (
                f"{quote(found.head)} runs in a child process, which has a copy of all variables. "
                f"{quote(found.change)} changes the notebook's, and that copy stays as it is."
            )
            snippet = _OF_A_CLASS if found.name.startswith("self.") else _EVENT
        else:
            why = (
                f"{quote(found.change)} runs in a child process, which has a copy of all variables: "
                f"{quote(found.head)} asks the notebook's, which stays as it is."
            )
            snippet = _QUEUE
        given = "".join(f"{one}, " for one in found.parameters)
        told = {"function": function, "given": given, "owner": owner, "head": found.head, "change": found.change}
        told["object"] = found.change.rpartition("=")[0].rpartition(".")[0].strip() or "worker"
        made = class_named(owner, death.code) if owner else None  # of a process; else its method is the target of one
        is_process = any(last_name(base) == "Process" for base in getattr(made, "bases", ()))
        told |= {
            "base": "(multiprocessing.Process)" * is_process,
            "begins": "super().__init__()\n        " * is_process,
        }
        told["process"] = told["object"] if is_process else "process"
        yield Proposal((), why, snippet=snippet.format(**told))
