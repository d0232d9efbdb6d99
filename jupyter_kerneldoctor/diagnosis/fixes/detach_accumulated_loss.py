"""The fix `detach-accumulated-loss`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from jupyter_kerneldoctor.diagnosis.code.cellsource import segment
from jupyter_kerneldoctor.diagnosis.units import quote, size

from ._accumulation import Kept, find_kept_losses
from ._edits import append_to
from ._examples import Example, lines
from ._numbers import MEMORY, grew_here, of_words, ramp_bytes, running_s
from ._rule import CellEdit, Draft, FixRule, Size

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability

_FREED_STEP_BYTES = 16_000  # what a kept loss holds after backward(): 9.4 to 13.5 kB measured for ten layers
_FASTEST_STEP_S = 0.001  # a forward and a backward pass are not faster


class DetachAccumulatedLoss(FixRule[list[Kept]]):
    """Keep the number, not the tensor, when a loop collects its losses.

    What it does
    ------------
    A PyTorch loss remembers how it was computed: through it, all activations of its step stay in memory. A list of
    losses keeps them for every step. The edit writes `loss.item()`, which is a plain number, or `loss.detach()` where
    other cells go on using the collected values as tensors.

    When it is offered
    ------------------
    A loop collects or adds up losses that still hold their graph, and memory grew little by little while it ran. After
    `backward()` the graph is freed and only some 10 kB a step remain, so the fix is silent unless that number of
    steps can have made up a tenth of the missing memory. It is also silent when `backward()` starts from the sum.

    What it costs
    -------------
    Code after the loop gets numbers in place of tensors. On a GPU, `item()` waits for the step to finish.

    Example
    -------
    `losses.append(loss)` becomes `losses.append(loss.item())`.
    """

    id = "detach-accumulated-loss"
    title = "Keep the number, not the tensor: loss.item()"
    causes = MEMORY
    applicability: ClassVar[Applicability] = "suggested"

    def detect(self, context: FixContext, code: Notebook) -> list[Kept] | None:
        """Losses that the running loops keep together with their graphs."""
        return (find_kept_losses(code) or None) if grew_here(context) else None

    def size(self, context: FixContext, code: Notebook, found: list[Kept]) -> Size:  # noqa: ARG002 - same for all rules
        """Count the ramp; when each graph is freed, only what the steps can have left behind."""
        return Size(explained_bytes(context, found))

    def fix(self, context: FixContext, code: Notebook, found: list[Kept]) -> Draft:
        """Append `.item()` or `.detach()` to each kept value."""
        edits = []
        for cell in sorted({kept.scope.cell for kept in found}):
            source = code.source(cell)
            edits.append(
                CellEdit(
                    cell,
                    tuple(
                        edit
                        for kept in found
                        if kept.scope.cell == cell
                        for edit in append_to(
                            source, kept.value, _ending(kept), parenthesize=_needs_parentheses(kept.value)
                        )
                    ),
                )
            )
        return Draft(_why(context, code, found), tuple(edits), title=_title(found))

    examples = (
        Example(
            cells=(
                "import torch\nw = torch.randn(2000, 2000, requires_grad=True)\nkept = []",
                "for x in xs:\n    loss = torch.relu(x @ w).mean()\n    kept.append(loss)",
            ),
            changed={2: "for x in xs:\n    loss = torch.relu(x @ w).mean()\n    kept.append(loss.item())"},
            says=("1.8 of 1.8 GiB", "kept"),
        ),
        Example(
            cells=(
                "from torch import nn\nnet = nn.Linear(10, 2)\ncriterion = nn.MSELoss()\ntotal = 0",
                "%%time\nfor x, y in data:\n    total += criterion(net(x), y) / 2  # für später\n",
            ),
            changed={2: "%%time\nfor x, y in data:\n    total += (criterion(net(x), y) / 2).item()  # für später\n"},
        ),
        Example(
            cells=(
                "import torch as t\nmodel = t.nn.Linear(9, 9)\nlog = {'loss': []}",
                lines(
                    "for x in xs:",
                    "    l = t.nn.functional.mse_loss(model(x), x)",
                    "    l.backward(retain_graph=True)",
                    "    log['loss'].append(l)",
                    "t.stack(log['loss'])",
                ),
            ),
            changed={
                2: lines(
                    "for x in xs:",
                    "    l = t.nn.functional.mse_loss(model(x), x)",
                    "    l.backward(retain_graph=True)",
                    "    log['loss'].append(l.detach())",
                    "t.stack(log['loss'])",
                ),
            },
        ),
        Example(
            cells=(
                "import torch\nclass Trainer:\n    def __init__(self):\n        self.model, self.losses = make(), []",
                lines(
                    "class Loud(Trainer):",
                    "    def run(self, batches):",
                    "        for x in batches:",
                    "            loss = torch.square(self.model(x)).mean()",
                    "            self.manual_backward(loss)",
                    "            self.losses.append(loss)",
                    "            loss.backward(retain_graph=True)",
                    "Loud().run(batches)",
                ),
            ),
            changed={
                2: lines(
                    "class Loud(Trainer):",
                    "    def run(self, batches):",
                    "        for x in batches:",
                    "            loss = torch.square(self.model(x)).mean()",
                    "            self.manual_backward(loss)",
                    "            self.losses.append(loss.item())",
                    "            loss.backward(retain_graph=True)",
                    "Loud().run(batches)",
                ),
            },
        ),
        Example(  # backward() frees the graph: eight seconds of steps cannot leave 1.8 GiB behind
            cells=(
                "import torch\nmodel = torch.nn.Linear(9, 9)\nlosses = []",
                "for x in xs:\n    loss = model(x).sum()\n    loss.backward()\n    losses.append(loss)",
            ),
            fires=False,
        ),
        Example(  # two losses of one step are added up for backward(): that is how it is done
            cells=(
                "import torch\nmodel = torch.nn.Linear(9, 9)",
                "for x in xs:\n    total = model(x).sum()\n    total = total + model(x).mean()\n    total.backward()",
            ),
            fires=False,
        ),
        Example(  # the sum is what the backward pass needs
            cells=(
                "import torch\nmodel = torch.nn.Linear(9, 9)",
                "losses = []\nfor x in xs:\n    losses.append(model(x).mean())\ntorch.stack(losses).sum().backward()",
            ),
            fires=False,
        ),
        Example(  # nothing says that this is PyTorch
            cells=("losses = []", "for x in xs:\n    loss = model(x).mean()\n    losses.append(loss)"),
            fires=False,
        ),
        Example(
            cells=(
                "import torch\nmodel = torch.nn.Linear(9, 9)\nlosses = []",
                "with torch.no_grad():\n    for x in xs:\n        losses.append(model(x).mean())",
            ),
            fires=False,
        ),
        Example(  # one jump, not a ramp
            cells=(
                "import torch\nmodel = torch.nn.Linear(9, 9)\nlosses = []",
                "for x in xs:\n    losses.append(model(x).mean())\nbig = torch.zeros(10**9)",
            ),
            growth="jump",
            fires=False,
        ),
    )


def explained_bytes(context: FixContext, found: list[Kept]) -> int:
    """How much of the growth the kept losses account for."""
    ramp = ramp_bytes(context)
    if not all(kept.freed for kept in found):
        return ramp
    steps = (running_s(context) or 0.0) / _FASTEST_STEP_S
    lengths = [length for kept in found if (length := _length(kept)) is not None]
    if len(lengths) == len(found):
        steps = min(steps, max(lengths))
    return min(ramp, int(steps * _FREED_STEP_BYTES))


def _length(kept: Kept) -> int | None:
    """How often a loop over `range(<number>)` runs."""
    loop = kept.loop
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name):
        numbers = [one.value for one in loop.iter.args if isinstance(one, ast.Constant) and isinstance(one.value, int)]
        if loop.iter.func.id == "range" and len(numbers) == len(loop.iter.args) == 1:
            return numbers[0]
    return None


def _ending(kept: Kept) -> str:
    return ".item()" if kept.scalar and not kept.used_as_tensor else ".detach()"


def _needs_parentheses(value: ast.expr) -> bool:
    return not isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call)


def _title(found: list[Kept]) -> str | None:
    endings = {_ending(kept) for kept in found}
    return "Collect the losses without their graphs: loss.detach()" if endings == {".detach()"} else None


def _why(context: FixContext, code: Notebook, found: list[Kept]) -> str:
    first = found[0]
    text = segment(code.source(first.scope.cell), first.value)
    value = quote(text)
    missing, explained = context.missing_bytes or 0, explained_bytes(context, found)
    how = f"{value} is kept in {quote(first.container)} on every round of the loop"
    if first.freed:
        return (
            f"Explains at most {of_words(explained, missing)}: {how}, and each one still holds about 10 kB after "
            f"backward()."
        )
    after = quote((f"({text})" if _needs_parentheses(first.value) else text) + _ending(first))
    item = "a plain number" if _ending(first) == ".item()" else "the value alone"
    return (
        f"Explains {of_words(explained, missing)}: {how}, and with it all the intermediate results of that round. "
        f"Memory grew by {size(missing)} while this cell ran. {after} keeps {item}."
    )
