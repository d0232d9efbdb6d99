"""The fix `reduce-batch-size`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jupyter_kerneldoctor.diagnosis.postmortem import ExpectedPeak
from jupyter_kerneldoctor.diagnosis.units import cell_name, sentence, size

from ._accumulation import find_kept_losses
from ._batch_choice import Choice, choose
from ._batches import BatchSize, find_batch_size, is_dwarfed, trains
from ._edits import replace_node
from ._examples import Example, Ran, lines
from ._numbers import MEMORY, grew_here
from ._rule import CellEdit, Draft, FixRule, Size
from ._whole_batch import WholeBatch, find_whole_batch, split_edits

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability, Basis


@dataclass(frozen=True)
class Found:
    """A batch that is too large: a number, or a whole data set that goes through the network at once."""

    batch: BatchSize | WholeBatch
    choice: Choice


class ReduceBatchSize(FixRule[Found]):
    """Use a smaller batch.

    What it does
    ------------
    Training keeps the intermediate results of every sample of a batch until the backward pass is through, so memory
    grows in step with the batch size. The edit writes a smaller number where the batch size is defined. Where the whole
    data set goes through the network as one batch, it puts a loop over pieces around the step.

    When it is offered
    ------------------
    Memory ran out in a cell that trains a network (or runs one over data), the cell began well below the limit, and a
    batch size that the loop uses is written in a cell. Not when the loop keeps its losses with their graphs, or the
    pipeline shuffles a hundred batches and more in memory: no batch size cures that.

    After two runs of the cell at other batch sizes the number is computed. A killed run alone only gives a bound,
    as the kill hides what was still to come: the edit then begins at an eighth of it.

    What it costs
    -------------
    More and smaller steps: the course of the training and BatchNorm's statistics change, and the learning rate may
    need to be adapted. It is left as it is. Gradient accumulation keeps the effective batch.

    Example
    -------
    `batch_size = 1024` becomes `batch_size = 128`.
    """

    id = "reduce-batch-size"
    title = "Use a smaller batch size"
    causes = MEMORY
    applicability: ClassVar[Applicability] = "suggested"

    def detect(self, context: FixContext, code: Notebook) -> Found | None:
        """A batch size the dying loop uses, and a smaller one."""
        if not grew_here(context) or not trains(code):
            return None
        if any(not kept.freed for kept in find_kept_losses(code)):
            return None
        batch = find_batch_size(code) or find_whole_batch(code)
        if isinstance(batch, BatchSize) and is_dwarfed(batch, code):
            return None
        choice = None if batch is None else choose(context, code, batch)
        return None if batch is None or choice is None else Found(batch, choice)

    def is_cured(self, before: Found, after: Found | None) -> bool:
        """A smaller number is still a number."""
        return after is None or (
            isinstance(before.batch, BatchSize)
            and isinstance(after.batch, BatchSize)
            and after.batch.value == before.choice.value
        )

    def size(self, context: FixContext, code: Notebook, found: Found) -> Size:  # noqa: ARG002 - same for all rules
        """What the cell took goes with the batch; a peak is only promised after runs that came to their end."""
        choice = found.choice
        if choice.low_bytes is None:
            return Size(context.missing_bytes)
        basis: Basis = "fitted" if len(choice.fitted) > 1 else "estimated"
        return Size(context.missing_bytes, ExpectedPeak(choice.low_bytes, choice.high_bytes, basis))

    def fix(self, context: FixContext, code: Notebook, found: Found) -> Draft:
        """Write the number where it is defined, or the loop over pieces."""
        batch, choice = found.batch, found.choice
        reason = _reason(context, found)
        if isinstance(batch, WholeBatch):
            edits, text = split_edits(batch, choice.value, code)
            title = f"Use a smaller batch: {choice.value} rows of {batch.names[0]} at a time"
            return Draft(reason, edits, instead=text, title=title)
        edit = replace_node(code.source(batch.scope.cell), batch.node, str(choice.value))
        where = cell_name(code.cells[batch.scope.cell].execution_count)
        title = f"Use a smaller batch size: {choice.value} in place of {batch.value}"
        return Draft(f"{reason} It is written in {where}.", (CellEdit(batch.scope.cell, (edit,)),), title=title)

    examples = (
        Example(
            cells=(
                "from torch.utils.data import DataLoader\nBATCH_SIZE = 1024  # größer",
                "loader = DataLoader(data, batch_size=BATCH_SIZE)\ntest = DataLoader(data, batch_size=4096)",
                "for x, y in loader:\n    loss = (model(x) - y).square().mean()\n    loss.backward()",
            ),
            changed={
                1: "from torch.utils.data import DataLoader\nBATCH_SIZE = 64  # größer",
            },
            says=("at most 878", "64", "then 32"),
        ),
        Example(
            cells=(
                "from tensorflow import keras\nmodel = keras.Sequential()",
                "%%time\nmodel.fit(x, y, batch_size=2048, verbose=0)",
            ),
            changed={2: "%%time\nmodel.fit(x, y, batch_size=128, verbose=0)"},
        ),
        Example(
            cells=(
                "import torch\ndef loader(batch_size, n=10**4):\n    yield torch.rand(batch_size, 9)",
                "for x in loader(2**13):\n    net(x).mean().backward()",
            ),
            changed={2: "for x in loader(512):\n    net(x).mean().backward()"},
        ),
        Example(
            cells=(
                "from torch.utils.data import DataLoader\nconfig = {'batch_size': 64}",
                Ran("for x in DataLoader(d, config['batch_size']): net(x).mean().backward()", 500, 200),
                "config = {'batch_size': 128}",
                Ran("for x in DataLoader(d, config['batch_size']): net(x).mean().backward()", 700, 200),
                "config = {'batch_size': 1024}",
                "for x in DataLoader(d, config['batch_size']): net(x).mean().backward()",
            ),
            changed={5: "config = {'batch_size': 256}"},
            says=("64 and 128",),
        ),
        Example(
            cells=(
                "import torch\nX = torch.randn(9000, 3)\ny = torch.randn(9000)\nmodel = torch.nn.Linear(3, 1)",
                lines(
                    "for epoch in range(9):",
                    "    opt.zero_grad()",
                    "    loss = crit(model(X), y)",
                    "    loss.backward()",
                    "    opt.step()",
                    "    print(loss)",
                ),
            ),
            changed={
                2: lines(
                    "for epoch in range(9):",
                    "    for start in range(0, len(X), 256):",
                    "        opt.zero_grad()",
                    "        loss = crit(model(X[start:start + 256]), y[start:start + 256])",
                    "        loss.backward()",
                    "        opt.step()",
                    "    print(loss)",
                ),
            },
        ),
        Example(  # the house was full before: no batch size helps
            cells=("import torch", "for x in torch.utils.data.DataLoader(d, 64):\n    net(x).mean().backward()"),
            before_mib=1900,
            fires=False,
        ),
        Example(  # it is the buffer that takes the memory
            cells=(
                "from tensorflow import keras\nmodel = keras.Sequential()\nN = 20_000",
                "batch_size = 32\nmodel.fit(data.shuffle(N).batch(batch_size))",
            ),
            fires=False,
        ),
        Example(  # a database is read in batches, nothing is trained
            cells=("batch_size = 1000", "for rows in query(batch_size):\n    all_rows += rows"),
            fires=False,
        ),
        Example(  # the losses are kept with their graphs
            cells=(
                "import torch\nmodel = torch.nn.Linear(9, 9)\nlosses = []\nbatch_size = 64",
                lines(
                    "for x in torch.utils.data.DataLoader(d, batch_size):",
                    "    loss = model(x).mean()",
                    "    loss.backward(retain_graph=True)",
                    "    losses.append(loss)",
                ),
            ),
            fires=False,
        ),
        Example(
            cells=("import torch\nbs = 64", "for x in xs.split(bs): net(x).mean().backward()"),
            cause="killed-externally",
            fires=False,
        ),
    )


def _reason(context: FixContext, found: Found) -> str:
    batch, choice = found.batch, found.choice
    took = size(context.missing_bytes or 0)
    began = size(context.rss_before_bytes or 0)
    if isinstance(batch, WholeBatch):
        rows = f"all {batch.rows} rows" if batch.rows else "all rows"
        head = (
            f"{sentence(rows)} of {batch.names[0]} go through the network as one batch; the cell began at {began} and "
            f"took {took} for it. "
        )
    else:
        head = f"The cell began at {began} and took {took} with a {batch.label} of {batch.value}. "
    smaller = f"{choice.value // 2}" if choice.value > 1 else "a smaller network"
    if len(choice.fitted) > 1:
        sizes = " and ".join(str(value) for value, _ in choice.fitted)
        low, high = size(choice.low_bytes or 0), size(choice.high_bytes or 0)
        return f"{head}From its runs with {sizes}, {choice.value} will need {low} to {high}."
    if choice.fitted:
        return f"{head}With {choice.value} it ran to its end before."
    bound = (
        f"A batch of at most {choice.at_most} could fit, and likely far less: the kill hid what was still to come. "
        if choice.at_most
        else ""
    )
    tries = f"Try {choice.value}; if it still dies, then {smaller}."
    return f"{head}{bound}{tries} The course of the training changes a little."
