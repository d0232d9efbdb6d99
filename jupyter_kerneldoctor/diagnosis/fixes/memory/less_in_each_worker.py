import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import Child

from ...code.notebook import Notebook
from ...examples import MIB
from ...examples.stuck import child
from ...fix import Case, Death, Fix, Proposal, Proposals, quote, size

_WAYS = {
    "ray": (
        "Give each task a smaller part, or Ray a higher threshold",
        "{held}Ray ends the process of a task when the machine's memory is used beyond a threshold, 95% as a rule.",
        (
            "results = ray.get([part.remote(i) for i in range(100)])  # each returns a sum, and keeps no list\n\n"
            "part = part.options(memory=2 * 1024**3)  # a task begins only when so much is free\n"
            "os.environ['RAY_memory_usage_threshold'] = '0.98'  # before ray.init()"
        ),
    ),
    "dask": (
        "Give each worker smaller partitions, or a higher memory_limit",
        "{held}Dask ends a worker at 95% of its `memory_limit`, and gives a task up after four workers.",
        (
            "table = table.repartition(partition_size='64MB')  # arrays: x.rechunk('64MB'); or a task for each part\n"
            "client = Client(n_workers=1, memory_limit='4GB')  # fewer workers, each with more"
        ),
    ),
    "torch": (
        "Keep nothing in the Dataset, and less in each batch that waits",
        (
            "{held}Each worker of a DataLoader has a copy of the Dataset and of all that it keeps, and prepares "
            "`prefetch_factor` batches."
        ),
        (
            "def __getitem__(self, index):\n    return load(index)  # kept nowhere: no list, no cache in self\n\n"
            "loader = DataLoader(dataset, batch_size=8, num_workers=1, prefetch_factor=1)"
        ),
    ),
    "pyspark": (
        "Let Spark make the result small before it comes to the notebook",
        "{held}`toPandas()` and `collect()` take all rows through the JVM of the driver into this kernel.",
        (
            "table = frame.groupBy('key').count().toPandas()  # what Spark has summed up\n"
            "first = frame.limit(1000).toPandas()\n"
            "frame.write.parquet('result')  # all of it: to a file, from Spark\n\n"
            "SparkSession.builder.config('spark.driver.memory', '1g')  # the JVM's heap: below the kernel's limit"
        ),
    ),
    "": (
        "Give each worker a smaller part at a time",
        "{held}What a worker holds counts towards the limit of the kernel.",
        (
            "with ProcessPoolExecutor(2) as workers:  # fewer at a time\n"
            "    for result in workers.map(work, small_parts):  # each returns a sum or a file's name, not the data\n"
            "        ..."
        ),
    ),
}
"""By the library that started the workers: the title, the reason, and what to write."""


class LessInEachWorker(Fix):
    """Let each worker process hold less.

    What it does: Shows how a worker is given less at a time, or more memory: smaller parts, fewer workers, the limit of
    the library that started it. Of a `Dataset` it names what its `__getitem__` keeps.

    When it is offered: A worker process was ended for memory, and the kernel lived on.

    What it costs: More parts take a little longer.
    """

    id, title, causes = "less-in-each-worker", _WAYS[""][0], ("oom-cgroup", "oom-userspace", "oom-host")
    general = True

    FIRES = [
        Case(
            "from dask.distributed import Client",
            "total = future.result()",
            cause="oom-userspace",
            alive=True,
            children=[child(901, signal="SIGKILL")],
            says=("memory_limit", "partition"),
        ),
        Case(
            "from dask.distributed import LocalCluster",
            "total = future.result()",
            cause="oom-userspace",
            alive=True,
            children=[child(901, signal="SIGTERM")],
            says=("memory_limit",),
        ),
        Case("import ray", "ray.get(r)", cause="oom-userspace", alive=True, children=[child(9, signal="SIGKILL")]),
        Case("r = pool.map(f, x)", alive=True, children=[child(9, signal="SIGKILL")]),
        Case(
            "table = spark.range(10**9).toPandas()",
            alive=True,
            children=[replace(child(9, signal="SIGKILL"), name="java")],
            says=(".limit(1000)",),
        ),
        Case(
            "from torch.utils.data import DataLoader, Dataset\nclass Scans(Dataset):\n"
            "    def __getitem__(self, i):\n        self.seen = self.seen + [load(i)]",
            "for x in DataLoader(Scans(), num_workers=2): pass",
            alive=True,
            children=[child(9, signal="SIGKILL")],
            says=("`self.seen`", "cell [1], line 4"),
        ),
    ]
    SILENT = [
        Case("r = pool.map(f, x)", alive=True, children=[child(9, signal="SIGTERM")]),
        Case("import ray", "ray.get(r)"),
        Case("r = pool.map(f, x)", alive=True),
    ]

    def propose(self, death: Death) -> Proposals:
        by_scheduler = ("SIGTERM",) if "oom-userspace" in death.likely_causes else ()  # Dask asks them to end
        lost = [one for one in death.recording.children if one.signal in ("SIGKILL", *by_scheduler)]
        if not death.recording.alive or not lost:
            return
        library = _started_by(lost, death.code)
        title, why, snippet = _WAYS[library]
        most = max((one.peak_bytes or 0 for one in lost), default=0)
        held = f"A worker held {size(most)} when it was ended. " if most > MIB else ""
        why = why.format(held=held)
        if library == "torch" and (kept := next(_kept_by_a_dataset(death.code), None)):
            why = f"{held}{kept}"
        yield Proposal((), why, title=title, snippet=snippet)


def _started_by(lost: Sequence[Child], code: Notebook) -> str:
    """Return the library that started the workers, by their names, else by what is imported; "" for another one."""
    names = {one.name or "" for one in lost}
    for library, name in (("pyspark", "java"), ("ray", "ray::"), ("torch", "pt_data_worker")):
        if any(one.startswith(name) for one in names):
            return library
    if code.imports("torch") and code.has_text("DataLoader("):
        return "torch"
    return next((one for one in ("dask", "ray") if code.imports(one)), "")


def _kept_by_a_dataset(code: Notebook) -> Iterator[str]:
    """Yield what an item of a data set leaves behind in it."""
    for scope in code.functions_named("__getitem__"):
        for node in scope.nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self")) as kept])
                    | ast.Assign(targets=[ast.Subscript(value=ast.Attribute(value=ast.Name(id="self")) as kept)])
                ):
                    place = code.place_of(node, scope)
                    yield (
                        f"{quote(scope.segment(kept))} ({place}) keeps something of each item that is read, and each "
                        "worker has a copy of its own."
                    )
