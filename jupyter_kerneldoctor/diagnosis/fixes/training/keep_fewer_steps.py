import ast
import re

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.literals import number
from ...code.stores import stores
from ...edits import EditRefusedError, wrap
from ...examples import MIB
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.kept import Kept, is_bound_anew
from ...frameworks.step_growth import kept_tensors
from ...frameworks.torch import Tensors
from ...place import grew_around
from ...units import enumeration, share_of

_NET = "import torch\nnet = torch.nn.Linear(9, 9)\nlog = {'h': [], 'loss': []}\n"
_STEP = "    h = net(x)\n    loss = h.mean()\n    loss.backward()\n"
_EVERY = 100
_SCORES = re.compile("softmax|logit|prob|score|pred")


class KeepFewerSteps(Fix):
    """Keep the values of every hundredth step, or a number of each.

    What it does: Tensors that a training loop keeps of each step add up, however small the batch is. The edit keeps
    those of every hundredth step. A number of each step, as `h.mean().item()`, takes next to nothing.

    When it is offered: Memory grew little by little in a loop that trains a network and collects its activations,
    weights or gradients without their graphs. With graphs, `detach-collected-outputs` comes first.

    What it costs: The collected values are fewer, and no longer one for each step.
    """

    id, title, causes = "keep-fewer-steps", "Keep the tensors of every hundredth step, not of all", OUT_OF_MEMORY
    edits_cure = True  # something is still kept
    unless_offered = frozenset({"clear-after-update"})

    FIRES = [
        Case(
            _NET,
            "for step, x in enumerate(xs):\n" + _STEP + "    log['h'].append(h.detach().numpy())\n    print(loss)",
            becomes={"    log": "    if step % 100 == 0:\n        log"},
            says=("log", "hundredth"),
        ),
        Case(
            _NET + "kept = []\ndef train(i, x):\n" + _STEP + "    kept.append({'step': i, 'h': h})",
            "for i in range(9000): train(i, torch.rand(9, 9))",
            says=("kept",),
        ),
        Case(  # no name counts the steps of the loop that fills the list
            _NET,
            "for epoch in range(9):\n    kept, n = [], 0\n    for x in xs:\n        h = net(x)\n"
            "        h.mean().backward()\n        kept.append(h.detach())",
            says=("kept.append(h.detach().mean().item())",),
        ),
        Case(  # nine rounds have no hundredth
            _NET + "kept = []",
            "for epoch in range(9):\n    h = net(X)\n    h.mean().backward()\n    kept.append(h.detach())",
            says=("kept.append(h.detach().mean().item())",),
        ),
        Case(
            _NET + "kept = []",
            "for epoch in range(9):\n    for x in xs:\n        h = net(x)\n        h.mean().backward()\n"
            "        kept.append(h.detach())",
            says=("kept.append(h.detach().mean().item())",),
        ),
    ]
    SILENT = [
        Case(  # it is another list that grew
            _NET + "wrong = []",
            "for step, x in enumerate(xs):\n" + _STEP + "    log['h'].append(h.detach())\n    wrong.append(x[0])",
            grew=NamedObject("wrong", "list", 1600 * MIB, items=90, grew_bytes=1500 * MIB, items_before=0),
        ),
        Case(  # a bank that the next step is compared with
            _NET,
            "bank = torch.zeros(4, 9)\nfor step, x in enumerate(xs):\n    h = net(x)\n    loss = (h @ bank.T).mean()\n"
            "    loss.backward()\n    bank = torch.cat([bank, h.detach()])",
        ),
        Case(_NET, "for step, x in enumerate(xs):\n" + _STEP + "    log['loss'].append(loss.item())"),
        Case(_NET, "for step, x in enumerate(xs):\n" + _STEP + "    if step % 50 == 0: log['h'].append(h.detach())"),
        Case(_NET, "for step, x in enumerate(xs):\n    log = []\n" + _STEP + "    log.append(h.detach())"),
        Case(_NET, "for i, x in enumerate(xs):\n" + _STEP + "    log['h'].append(h.detach())", growth="jump"),
    ]

    def propose(self, death: Death) -> Proposals:
        memory = death.memory
        found = kept_tensors(death.code, Tensors(death.code)) if memory.grew_here else []
        found = [one for one in found if grew_around(death, one) and not _is_other(one, death)]
        if not found:
            return
        names = enumeration([quote(name) for name in dict.fromkeys(one.container for one in found)])
        text = found[0].scope.segment(found[0].value)
        why = (
            f"Each step keeps {quote(text)} in {names}. That accounts for "
            f"{share_of(memory.ramp_bytes, memory.missing_bytes or 0)} that the cell took, and grows with the steps, "
            "not with the batch. A number of each step takes next to nothing."
        )
        value = f"({text})" if isinstance(found[0].value, ast.BinOp) else text
        snippet = f"{_owner(found[0])}.append({value}.mean().item())  # or one sum: total = total + {value}"
        if _SCORES.search(text):
            snippet += f"\n{_owner(found[0])}.append({value}.argmax(1))  # or the class of the highest score"
        statements = {one.scope.tree.statements[one.value]: one for one in found}
        try:
            for statement, one in statements.items():
                yield Proposal(wrap(one.scope, [statement], _condition(one)), why, memory.ramp_bytes, snippet=snippet)
        except EditRefusedError:
            yield Proposal((), why, memory.ramp_bytes, "Keep a number of each step, not its tensors", snippet)


def _is_other(kept: Kept, death: Death) -> bool:
    """Whether another container is known to have grown, which the code fills elsewhere."""
    grown = death.growth.container
    if grown is None or _word(grown.name) == _word(kept.container):
        return False
    return any(_word(one.container) == _word(grown.name) for one in stores(death.code.running))


def _word(name: str) -> str:
    return name.rpartition(".")[2].partition("[")[0]


def _owner(kept: Kept) -> str:
    """Return the list as it is written: `log["h"]`."""
    match kept.scope.statement_of(kept.value):
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))):
            return kept.scope.segment(owner)
    return kept.container


def _condition(kept: Kept) -> str:
    """Return the head that lets every hundredth step pass. Raises EditRefusedError where no name counts the steps."""
    for loop in kept.loops if kept.scope is kept.caller else ():
        if is_bound_anew(kept.container, loop, None, kept.scope):
            break  # the counter of what is around: one round of that fills it
        match loop:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[last] | [_, last])
            ) if (number(last) or _EVERY) >= _EVERY:
                return f"if {name} % {_EVERY} == 0:"
            case ast.For(target=ast.Tuple(elts=[ast.Name(id=name), _]), iter=ast.Call(func=ast.Name(id="enumerate"))):
                return f"if {name} % {_EVERY} == 0:"
        break  # what counts the epochs does not count the steps
    raise EditRefusedError("no name counts the steps")
