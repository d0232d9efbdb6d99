import ast

from jupyter_kerneldoctor.recording.events import NamedObject

from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.stores import Store, stores
from ...code.trees import unparse, walk
from ...examples import MIB
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.torch import Kind, Tensors

_STATES, _PARAMETERS = ("state_dict", "get_weights"), ("parameters", "named_parameters")
_COPIES = ("deepcopy", "copy", "clone_model")
_AVERAGES = ("avg", "average", "mean", "aggregate", "sum")
_DICTS = (
    "total, n = None, 0  # before the loop, in place of {kept}\n\n"
    "state = {value}  # in it: the state of one model, added to the sum\n"
    "state = {{k: v.detach().clone().float() for k, v in state.items()}}\n"
    "total = state if total is None else {{k: total[k] + v for k, v in state.items()}}\nn += 1\n\n"
    "average = {{k: v / n for k, v in total.items()}}  # behind it; .to(the old type) for whole numbers"
)
_ARRAYS = (
    "total, n = None, 0  # before the loop, in place of {kept}\n\n"
    "state = {value}  # in it: the weights of one model, added to the sum\n"
    "total = state if total is None else [old + new for old, new in zip(total, state)]\nn += 1\n\n"
    "average = [one / n for one in total]  # behind it"
)
_FILES = (
    "torch.save({value}, f'model-{{i}}.pt')  # i: the number of the round; no list in memory\n\n"
    "{owner}.load_state_dict(torch.load(f'model-{{i}}.pt'))  # one at a time, where it is needed\n"
    "torch.save({value}, 'best.pt')  # or this alone, whenever the score is the best so far\n"
    "{kept} = deque(maxlen=5)  # or the newest only, in memory: from collections import deque"
)
_VALUES = (
    "torch.save({value}, f'weights-{{i}}.pt')  # i: the number of the round; no list in memory\n\n"
    "weights = torch.load(f'weights-{{i}}.pt')  # one at a time, where it is needed\n\n"
    "{kept} = deque(maxlen=20)  # or the newest only, in memory: from collections import deque\n"
    "if i % 100 == 0:  # or every hundredth only, as float16\n    {kept}.append(({value}).half())"
)
_HELD = NamedObject("kept", "list", 1600 * MIB, items=300, grew_bytes=1500 * MIB, items_before=0)
_LOOP = "import copy, torch\nkept = []\nfor user in users:\n    w = train(copy.deepcopy(net)).state_dict()\n"


class AddUpWeights(Fix):
    """Add the weights of models up as they come, or write each to a file.

    What it does: An average of models, as in federated learning or of the last epochs, needs their sum, which is as
    large as one of them. Snapshots and ensembles that are looked at later can lie in files, and are loaded one by one.

    When it is offered: Memory ran out while a list or dict grew into which a loop puts the weights of a model, its
    `state_dict()` or the model itself.

    What it costs: The weights of a single model are gone when they were added; a file has to be read again.
    """

    id, title, causes = "add-up-weights", "Add the weights up as they come: one sum, no list of all", OUT_OF_MEMORY

    FIRES = [
        Case(
            _LOOP + "    kept.append(copy.deepcopy(w))\navg = average_weights(kept)",
            grew=_HELD,
            says=("total[k] + v for k, v in state.items()", "state = w  #"),
        ),
        Case(
            "import keras\nnet = keras.Sequential()\nkept = []\nfor user in users:\n"
            "    kept.append(net.get_weights())\nmean = [np.mean(one, 0) for one in zip(*kept)]",
            grew=_HELD,
            says=("zip(total, state)",),
        ),
        Case(
            _LOOP.replace("w =", "net = torch.nn.Linear(9, 9)\n    w =") + "    kept.append(copy.deepcopy(net))\n"
            "avg = average(kept)",
            grew=_HELD,
            says=("state = net.state_dict()",),
        ),
        Case(
            _LOOP + "    kept.append(torch.nn.utils.parameters_to_vector(net.parameters()).clone())",
            grew=_HELD,
            says=("weights = torch.load(",),
        ),
        Case(
            _LOOP + "    kept.append(w)\nprint(len(kept))",
            grew=_HELD,
            says=("Write each model to a file", "torch.save(w,"),
        ),
        Case(
            "import torch\nkept = []\nfor epoch in range(9):\n    kept.append(optimizer.state_dict())",
            grew=_HELD,
            says=("optimizer.load_state_dict(torch.load(",),
        ),
    ]
    SILENT = [
        Case(_LOOP + "    kept.append(loss.item())\navg = average(kept)", grew=_HELD),
        Case(_LOOP + "    kept.append(w)"),
        Case("import torch\nnet = torch.nn.Linear(9, 9)\nfor x in xs:\n    kept.append(score(net))", grew=_HELD),
        Case("kept = []\nfor x in xs:\n    kept.append(load(x))", grew=_HELD),
    ]

    def propose(self, death: Death) -> Proposals:
        one = death.growth.container
        if one is None or one.with_graph or not death.memory.grew_here:
            return
        name = one.name.partition("[")[0].rpartition(".")[2]  # of `log["models"]`, too
        for store in stores(death.code.running):
            value = _weights(store, death) if store.container.rpartition(".")[2] == name else None
            if value is None:
                continue
            grew, title = one.grew_bytes or one.bytes, None
            why = f"{quote(one.name)} keeps the weights of each model, and grew by {size(grew or 0)}. "
            form, of_keras = _DICTS, any(map(death.code.imports, ("keras", "tensorflow")))
            if _of_calls(value, _PARAMETERS, store.scope, death):
                form, title = _VALUES, "Write the weights of each round to a file, and keep none in a list"
                why += "What is looked at later can lie in files."
            elif _is_averaged(one.name, death):
                form = _ARRAYS if of_keras else _DICTS
                why += "Their mean needs only their sum, which is as large as those of one model."
            elif of_keras:
                return
            else:
                form, title = _FILES, "Write each model to a file, and keep none in a list"
                why += "What is looked at later can lie in files."
            text = " ".join(store.scope.segment(_copied(value)).split())
            text += ".state_dict()" if _is_network(value, store.scope, death) and not of_keras else ""
            yield Proposal(
                (), why, grew, title, form.format(kept=one.name, value=text, owner=_owner(value, store, death))
            )
            return


def _owner(value: ast.expr, store: Store, death: Death) -> str:
    """Return whose state is kept: `optimizer` of `optimizer.state_dict()`; "model" where that has no name."""
    for one, where in all_origins(value, store.scope, death.code, parts=True):
        match one:
            case ast.Call(func=ast.Attribute(attr="state_dict", value=ast.Name() | ast.Attribute() as owner)):
                return where.segment(owner)
    return "model"


def _weights(store: Store, death: Death) -> ast.expr | None:
    """Return the weights that a statement puts into a container; None where it puts something else there."""
    if len(store.values) != 1 or store.scope.function == "__init__":
        return None
    value = store.values[0]
    return value if _are_weights(value, store.scope, death) else None


def _are_weights(value: ast.expr, scope: Scope, death: Death) -> bool:
    if _of_calls(value, (*_STATES, *_PARAMETERS), scope, death):
        return True
    return _is_network(value, scope, death) and not isinstance(value, ast.Attribute)


def _of_calls(value: ast.expr, names: tuple[str, ...], scope: Scope, death: Death) -> bool:
    found = all_origins(value, scope, death.code, parts=True)
    return any(isinstance(one, ast.Call) and getattr(one.func, "attr", "") in names for one, _ in found)


def _is_network(value: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a model itself is kept, or a copy of it."""
    return Tensors(death.code).kind(_copied(value), scope) is Kind.MODULE


def _copied(value: ast.expr) -> ast.expr:
    """Return what is copied: the snippet copies it anew."""
    is_copy = isinstance(value, ast.Call) and last_name(value.func) in _COPIES
    return value.args[0] if is_copy and isinstance(value, ast.Call) and value.args else value


def _is_averaged(name: str, death: Death) -> bool:
    """Whether a function that averages or adds up is given the container."""
    last = name.rpartition(".")[2]
    for scope in death.code.running:
        for call in scope.calls:
            function = getattr(call.func, "attr", getattr(call.func, "id", ""))
            named = any(getattr(one, "id", getattr(one, "attr", "")) == last for one in walk(call))
            if named and any(part in function.lower() for part in _AVERAGES):
                return True
    gone_through = (one for scope in death.code.running for one in scope.nodes if isinstance(one, ast.ListComp))
    return any(
        isinstance(part, ast.Name) and part.id == last
        for one in gone_through
        if any(word in unparse(one) for word in _AVERAGES)
        for part in walk(one)
    )
