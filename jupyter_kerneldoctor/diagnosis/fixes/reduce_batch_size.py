"""The fix `reduce-batch-size`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..case import Case, Ran
from ..edits import EditRefusedError
from ..family import Family
from ..fix import Fix, Proposal
from ..frameworks.kept import grows_by_the_step
from ..frameworks.training import find_batch_size, is_dwarfed, trains
from ..frameworks.whole_batch import WholeBatch, find_whole_batch, snippet, split
from ..sizing import Choice, choose
from ..units import cell_name, sentence, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..death import Death

_LARGEST_FIRST_TRY = 256  # of a data set that was one batch
_USUAL = 64
_RUN = "for x in DataLoader(d, config['batch_size']): net(x).mean().backward()"
_WHOLE = "import torch\nX = torch.randn(9000, 3)\ny = torch.randn(9000)\nmodel = torch.nn.Linear(3, 1)"


class ReduceBatchSize(Fix):
    """Use a smaller batch.

    What it does
    ------------
    Training keeps the intermediate results of every sample of a batch until the backward pass is through, so memory
    grows in step with the batch size. The edit writes a smaller number where the batch size is defined. Where the whole
    data set goes through the network as one batch, it puts a loop over pieces around the step.

    When it is offered
    ------------------
    Memory ran out in a cell that trains a network (or runs one over data), the cell began well below the limit, and a
    batch size that the loop uses is written in a cell. Not when the loop keeps something of every step, so that memory
    grows however small a batch is, or the pipeline shuffles a hundred batches and more in memory.

    After two runs of the cell at other batch sizes the number is computed. A killed run gives only an upper bound, as
    it died before the step was finished: the edit then begins at an eighth of it.

    What it costs
    -------------
    More and smaller steps: the course of the training and BatchNorm's statistics change, and the learning rate may
    need to be adapted. The edit leaves that as it is. Gradient accumulation keeps the effective batch.
    """

    id, title, causes = "reduce-batch-size", "Use a smaller batch size", (Family.MEMORY,)

    FIRES = [
        Case(
            "from torch.utils.data import DataLoader\nBATCH_SIZE = 1024  # größer",
            "loader = DataLoader(data, batch_size=BATCH_SIZE)\ntest = DataLoader(data, batch_size=4096)",
            "for x, y in loader:\n    loss = (model(x) - y).square().mean()\n    loss.backward()",
            becomes={1: "from torch.utils.data import DataLoader\nBATCH_SIZE = 64  # größer"},
            says=("At most 878", "64", "then 32", "16 steps"),
        ),
        Case(
            "from tensorflow import keras\nmodel = keras.Sequential()",
            "%%time\nmodel.fit(x, y, batch_size=2048, verbose=0)",
            becomes="%%time\nmodel.fit(x, y, batch_size=128, verbose=0)",
        ),
        Case(  # numbers that are kept take no memory
            "import torch\nlog = []\ndef loader(batch_size, n=10**4):\n    yield torch.rand(batch_size, 9)",
            "for i, x in enumerate(loader(2**13)):\n    net(x).mean().backward()\n    log.append((i, loss.item()))",
            becomes="for i, x in enumerate(loader(512)):\n    net(x).mean().backward()\n"
            "    log.append((i, loss.item()))",
        ),
        Case(
            "from torch.utils.data import DataLoader\nconfig = {'batch_size': 64}",
            Ran(_RUN, 200, 500),
            "config = {'batch_size': 128}",
            Ran(_RUN, 200, 700),
            "config = {'batch_size': 1024}",
            _RUN,
            becomes={5: "config = {'batch_size': 256}"},
            says=("64 and 128",),
        ),
        Case(
            _WHOLE,
            "for epoch in range(9):\n    opt.zero_grad()\n    loss = crit(model(X), y)\n    loss.backward()\n"
            "    opt.step()\n    print(loss)",
            becomes="for epoch in range(9):\n    for start in range(0, len(X), 256):\n        opt.zero_grad()\n"
            "        loss = crit(model(X[start:start + 256]), y[start:start + 256])\n        loss.backward()\n"
            "        opt.step()\n    print(loss)",
            says=("36 steps",),
        ),
        Case(  # the accuracy would be that of the last piece
            _WHOLE,
            "for epoch in range(9):\n    out = model(X)\n    acc = (out.argmax(1) == y).float().mean()\n"
            "    loss = crit(out, y)\n    loss.backward()\n    opt.step()\n    print(acc)",
            says=("X_part",),
        ),
    ]
    SILENT = [
        # the house was full before: no batch size helps
        Case(
            "import torch",
            "for x in torch.utils.data.DataLoader(d, 64):\n    net(x).mean().backward()",
            before_mib=1900,
        ),
        # it is the buffer that takes the memory
        Case(
            "from tensorflow import keras\nmodel = keras.Sequential()\nN = 20_000",
            "batch_size = 32\nmodel.fit(data.shuffle(N).batch(batch_size))",
        ),
        # a database is read in batches, nothing is trained
        Case("batch_size = 1000", "for rows in query(batch_size):\n    all_rows += rows"),
        # the losses are kept with their graphs
        Case(
            "import torch\nmodel = torch.nn.Linear(9, 9)\nlosses = []\nbatch_size = 64",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    loss = model(x).mean()\n"
            "    loss.backward(retain_graph=True)\n    losses.append(loss)",
        ),
        # what the network gives is kept of every step
        Case(
            "import torch\nmodel = torch.nn.Linear(9, 9)\nseen = []\nbatch_size = 64",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    out = model(x)\n    out.mean().backward()\n"
            "    seen.append(out.detach().cpu())",
        ),
        # a hook keeps what goes through the network
        Case(
            "import torch\nseen = []\nmodel = torch.nn.Linear(9, 9)\nbatch_size = 64\n"
            "model.register_forward_hook(keep := lambda *given: seen.append(given))",
            "for x in torch.utils.data.DataLoader(d, batch_size):\n    model(x).mean().backward()",
        ),
        Case("import torch\nbs = 64", "for x in xs.split(bs): net(x).mean().backward()", cause="killed-externally"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Write a smaller number where the batch size is defined, or a loop over pieces around the step."""
        code = death.code
        if not death.memory.grew_here or not trains(code) or death.growth.is_steady or grows_by_the_step(code):
            return
        if batch := find_batch_size(code):
            choice = None if is_dwarfed(batch, code) else choose(death, batch.value)
            if choice is not None:
                where = cell_name(code.cells[batch.scope.cell].execution_count)
                began = f"The cell began at {_began(death)} with a {batch.label} of {batch.value}. "
                more = f" One step becomes {batch.value // choice.value} steps. The number is written in {where}."
                title = f"{self.title}: {choice.value} in place of {batch.value}"
                edits = batch.becomes(choice.value)
                missing = death.memory.missing_bytes
                yield Proposal(edits, began + _reason(choice) + more, missing, title, peak=choice.peak)
        elif (whole := find_whole_batch(code, death.values)) and (choice := _choice(death, whole)):
            yield _in_pieces(death, whole, choice)

    def is_cured(self, before: Death, after: Death) -> bool:
        """A smaller number is still a number: what matters is that the loop uses it."""
        old, new = find_batch_size(before.code), find_batch_size(after.code)
        return (
            new is None
            or (old is not None and new.value < old.value)
            or find_whole_batch(after.code, after.values) is None
        )


def _choice(death: Death, whole: WholeBatch) -> Choice | None:
    if whole.rows is None:
        return Choice(_USUAL)
    found = choose(death, whole.rows, from_runs=False)
    return found and Choice(min(found.value, _LARGEST_FIRST_TRY), found.at_most)


def _in_pieces(death: Death, whole: WholeBatch, choice: Choice) -> Proposal:
    data, rows = whole.names[0], f"all {whole.rows} rows" if whole.rows else "all rows"
    steps = "many steps" if whole.rows is None else f"{-(-whole.rows // choice.value)} steps"
    why = (
        f"{sentence(rows)} of {data} go through the network as one batch; the cell began at {_began(death)}. "
        f"{_reason(choice)} A round then takes {steps} in place of one. The loss after it is that of the last piece."
    )
    title = f"Use a smaller batch: {choice.value} rows of {data} at a time"
    try:
        return Proposal(split(whole, choice.value), why, death.memory.missing_bytes, title)
    except EditRefusedError:
        return Proposal((), why, death.memory.missing_bytes, title, snippet(whole, choice.value))


def _began(death: Death) -> str:
    return f"{size(death.memory.before_bytes or 0)} and took {size(death.memory.missing_bytes or 0)}"


def _reason(choice: Choice) -> str:
    if choice.peak is not None and len(choice.runs) > 1:
        low, high = size(choice.peak.low or 0), size(choice.peak.high or 0)
        return f"From its runs with {' and '.join(map(str, choice.runs))}, {choice.value} will need {low} to {high}."
    if choice.runs:
        return f"The cell ran to its end with {choice.value} before."
    bound = f"At most {choice.at_most} would fit, probably fewer: the kernel died before the step was finished. "
    smaller = str(choice.value // 2) if choice.value > 1 else "a smaller network"
    return f"{bound if choice.at_most else ''}Try {choice.value}; if it still dies, then {smaller}."
