import re
from collections.abc import Iterator

from ...calls import network_call_at
from ...code.named_numbers import NamedNumber, named_numbers
from ...code.notebook import Notebook
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.step_growth import grows_by_the_step
from ...frameworks.training import trains

_SIDE = re.compile(
    r"(\w*_)?((im|img|image|pic|picture|photo|crop|patch|tile|gt|hr|input|frame|vol|volume)_?"
    r"(size|side|dim|length|res|resolution|sz)|imsize|side|side_?length|resolution)",
    re.IGNORECASE,
)
_LEAST = 96  # pixels: patches of a vision transformer, and small pictures, are no longer than this
_NET = "import torch\nnet = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))\n"
_STEP = "x = load(imsize)\nloss = net(x).mean()\nloss.backward()"


class SmallerPictures(Fix):
    """Use smaller pictures or crops.

    What it does: What a network of convolutions works out grows with the number of pixels: half the side needs a
    quarter of the memory, of a volume an eighth. Where the batch is one picture already, this is what is left.

    When it is offered: Memory ran out in one step of a network of convolutions in PyTorch, and a cell gives one side of
    the pictures, crops or volumes by name.

    What it costs: Details, and what is further apart than the crop is wide. A linear layer behind a `flatten` has to
    be as wide as the new size asks for.
    """

    id, title, causes = "smaller-pictures", "Use smaller pictures or crops", OUT_OF_MEMORY

    FIRES = [
        Case("imsize = 768\n" + _NET, _STEP, growth="jump", says=("imsize = 384", "a quarter", "cell [1]")),
        Case(
            "opt = {'train': {'gt_size': 640, 'batch': 4}}\n" + _NET,
            _STEP.replace("imsize", "opt"),
            growth="jump",
            says=("gt_size: 320 in place of 640",),
        ),
    ]
    SILENT = [
        Case("imsize = 64\n" + _NET, _STEP, growth="jump"),
        Case("imsize = 768\nkept = []\n" + _NET, "for x in xs:\n    out = net(x)\n    kept.append(out)"),
        Case("imsize = 768\ncrop_size = 512\n" + _NET, _STEP, growth="jump"),
        Case("imsize = 768", "x = [0] * 10**10", growth="jump"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, memory, growth = death.code, death.memory, death.growth
        convolves = any(code.calls(*(f"torch.nn.Conv{one}d" for one in (1, 2, 3))))
        if not (convolves and memory.grew_here) or growth.is_steady or grows_by_the_step(code):
            return
        found = [*_sides(code)] if trains(code) or network_call_at(death) is not None else []
        if len(found) != 1:
            return
        ((name, number, scope),) = found
        where, half = code.cell_name(scope.cell), number // 2
        why = (
            f"A step takes pictures of {number} pixels a side, as {where} says; memory grew by "
            f"{size(memory.missing_bytes or 0)}. Half of that needs a quarter of the memory for each layer."
        )
        title = f"{self.title}: {quote(name)} of {half} in place of {number}"
        snippet = f"{name} = {half}  # {name}: {half} in place of {number}, a quarter of the pixels"
        yield Proposal((), why, (memory.missing_bytes or 0) * 6 // 10, title, snippet)


def _sides(code: Notebook) -> Iterator[NamedNumber]:
    """Yield the numbers that are the side of something with pixels."""
    return (one for one in named_numbers(code) if one.value > _LEAST and _SIDE.fullmatch(one.name))
