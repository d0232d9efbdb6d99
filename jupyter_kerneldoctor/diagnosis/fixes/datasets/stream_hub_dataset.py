from ...fix import Advice, Case, Death, Family


class StreamHubDataset(Advice):
    """Take the data set row by row from where it lies.

    What it does: `load_dataset(..., streaming=True)` gives the rows one after the other, and neither downloads nor
    keeps the whole set. Without it the rows lie in files on disk, and cost memory only where they are made lists,
    tables or tensors.

    When it is offered: Memory ran out in a cell that calls `load_dataset` of Hugging Face.

    What it costs: Rows come in their order: `ds[5]` and `len(ds)` do not work, `shuffle` has a buffer.
    """

    id, title, causes = "stream-hub-dataset", "Take the data set row by row: streaming=True", (Family.MEMORY,)
    functions = ("datasets.load_dataset",)
    why = (
        "{call} was running. With `streaming=True` it gives one row after the other. Leave out `.to_pandas()`"
        " and `[:]`, which put all rows into memory."
    )
    snippet = 'ds = load_dataset(…, streaming=True)\nfor row in ds["train"].shuffle(buffer_size=1000):\n    …'

    FIRES = [Case("from datasets import load_dataset", "df = load_dataset('x')['train'].to_pandas()")]
    SILENT = [Case("from datasets import load_dataset", "ds = load_dataset('x', streaming=True)")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Say it where nothing streams yet."""
        calls = death.code.running.calls(*self.functions)
        return {} if any(one.argument("streaming") is None for one in calls) else None
