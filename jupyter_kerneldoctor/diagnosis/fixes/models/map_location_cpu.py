import ast
from collections.abc import Iterator

from ...code.calls import last_name
from ...code.trees import walk
from ...fix import Call, Case, Death, SetArgument


class MapLocationCpu(SetArgument):
    """Load the checkpoint into the machine's memory, not onto the card.

    What it does: `torch.load` puts each tensor back onto the device that it was saved from. A checkpoint saved on a
    card takes room on the card beside the model that it is for. With `map_location="cpu"` it does not.

    When it is offered: The graphics card was full while `torch.load` ran without `map_location`.

    What it costs: Nothing: `load_state_dict` copies to where the model is.
    """

    id, title, causes = "map-location-cpu", "Load the checkpoint into the machine's memory: map_location", ("gpu-oom",)
    functions, argument, position, value = ("torch.load",), "map_location", 1, '"cpu"'
    why = "puts the checkpoint onto the card that it was saved from, beside the model."

    FIRES = [
        Case("import torch", "net.load_state_dict(torch.load(path))", becomes={"path": 'path, map_location="cpu"'})
    ]
    SILENT = [
        Case(
            "import torch", "net = torch.load(path, weights_only=False)\ny = net(x.cuda())", line=1
        ),  # it is the network
        Case("import torch", "torch.load(path, map_location=device)"),
        Case("import torch", "torch.load(path, 'cpu')"),
        Case("import pickle", "pickle.load(f)"),
    ]

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield those of which a network, or an optimizer, gets its state: it copies that to where it is."""
        for call in super().calls(death):
            names = call.scope.assigned_by(call.node)
            for taken in (one for one in call.scope.calls if last_name(one.func) == "load_state_dict"):
                inside = [part for given in taken.args for part in walk(given)]
                if call.node in inside or any(isinstance(one, ast.Name) and one.id in names for one in inside):
                    yield call
                    break
