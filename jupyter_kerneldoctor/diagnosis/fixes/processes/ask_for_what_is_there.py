from ...analysis.cluster_tasks import wanted_resources
from ...analysis.library_waits import library_wait
from ...examples.stuck import at_work, child_state, frame, stuck_in
from ...fix import Case, Death, Fix, Proposal, Proposals, quote

_IN_GET = frame("ray/_private/worker.py", "get_objects", library=True)
_ASKS = "@ray.remote(num_gpus=1)\ndef f(x): ...\nray.get(f.remote(1))"
_RAYLET = [child_state(7, forked=False, name="raylet")]


class AskForWhatIsThere(Fix):
    """Ask a cluster for what its nodes have.

    What it does: A task that asks for a card, for processors or memory waits until a node has them, and says nothing.
    The snippet shows what the cluster has, and has `get` raise an error in place of waiting for ever.

    When it is offered: The kernel waits for tasks of a cluster on this machine, none of which can be placed.

    What it costs: A task that needs a card runs longer without one, or not at all.
    """

    id, title, causes = "ask-for-what-is-there", "Ask for what the cluster has, and give the wait a timeout", ("hang",)

    FIRES = [
        Case(
            "import ray",
            _ASKS,
            stacks=at_work(_ASKS, 3, _IN_GET, children=_RAYLET),
            says=("num_gpus=1", "ray.cluster_resources()", "timeout=60"),
        ),
        Case(
            "import ray",
            _ASKS,
            cause="hang",
            stuck=stuck_in(_ASKS, 3, _IN_GET, waits_in="futex_do_wait", children=_RAYLET).stuck,
            says=("num_gpus=1",),
        ),
    ]
    SILENT = [Case("import ray", _ASKS)]

    def propose(self, death: Death) -> Proposals:
        look = death.look
        wanted = None if look is None else wanted_resources(death.recording, look.stuck.children)
        if look is None or wanted is None or library_wait(look.main.frames) != "cluster":
            return
        asked = quote(wanted)
        if death.code.imports("ray"):
            snippet = (
                "print(ray.cluster_resources())  # what there is\n"
                "futures = [task.options(num_gpus=0).remote(x) for x in items]  # asks for no card\n"
                "results = ray.get(futures, timeout=60)  # raises GetTimeoutError"
            )
        else:
            snippet = (
                'spark = (SparkSession.builder.master("local[2]")  # or fewer cores and less memory for each executor\n'
                '         .config("spark.executor.memory", "1g").config("spark.executor.cores", 1).getOrCreate())'
            )
        yield Proposal(why=f"{asked}: no node of the cluster has that, so no task begins.", snippet=snippet)
