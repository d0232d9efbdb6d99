from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.hooks import left_hooks
from ...frameworks.kept_in_loops import less_of_a_hook

_CAM = (
    "import torch\nclass Cam:\n    def __init__(self, layer):\n        self.maps = []\n"
    "        layer.register_forward_hook(self.save)\n"
    "    def save(self, module, given, out): self.maps.append(out)\n"
    "net = torch.nn.Linear(9, 9)\n"
)
_OF_LOOP = "hook = {}\n...\nhook.remove()  # when the pass is done; or register it once, before the loop"


class RemoveHooks(Fix):
    """Take hooks off a network when they have done their work.

    What it does: A layer holds on to each hook that was registered, the hook to its object, and that to all that it
    keeps. A hook for each picture or round is called in all later ones as well. `handle.remove()` takes it off.

    When it is offered: Memory ran out little by little, a loop registers hooks round by round, and nothing removes one.

    What it costs: Nothing.
    """

    id, title, causes = "remove-hooks", "Remove the hooks at the end of each round", OUT_OF_MEMORY
    unless_offered = frozenset(("clear-step-outputs",))

    FIRES = [
        Case(
            _CAM,
            "for x in images:\n    cam = Cam(net)\n    net(x).sum().backward()",
            says=("self.hooks = [layer.register_forward_hook(self.save)]", "hook.remove()", "Cam"),
        ),
        Case(
            "import torch\nnet, seen = torch.nn.Linear(9, 9), []",
            "for x in images:\n    net.register_forward_hook(lambda m, i, o: seen.append(o))\n    net(x)",
            says=("hook = net.register_forward_hook(", "hook.remove()  # when"),
        ),
        Case(
            _CAM,
            "cam = Cam(net)\nfor x in images: net(x)",
            says=("handle = layer.register_forward_hook(self.save)", "self.maps.clear()"),
        ),
    ]
    SILENT = [
        Case(_CAM, "cam = Cam(net)\nfor x in images:\n    cam.maps = []\n    net(x)"),
        Case(_CAM, "for x in images:\n    cam = Cam(net)\nbig = torch.ones(10**10)", growth="jump"),
        Case(
            _CAM.replace("layer.register", "self.handle = layer.register"),
            "for x in images:\n    cam = Cam(net)\n    net(x)\n    cam.handle.remove()",
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        if not (death.memory.grew_here and death.growth.goes_on):
            return
        found = [*left_hooks(death.code)]
        if not found and death.growth.container is None and (less := less_of_a_hook("", death.code)) is not None:
            yield Proposal((), less.told, death.memory.ramp_bytes, less.title, less.code)
        if not found:
            return
        call, scope = found[0]
        calls = [scope.segment(one) for one, other in found if other is scope]
        owner = scope.owner if scope.function == "__init__" else None
        each = f"Each {quote(owner)} registers" if owner else "Each round registers"
        why = (
            f"{each} a hook with {quote(scope.segment(call.func))}, and nothing removes it. The layer keeps all of "
            "them with what they keep, and calls them in each later pass."
        )
        snippet = _of_class(calls, owner) if owner else _OF_LOOP.format(calls[0])
        yield Proposal((), why, death.memory.ramp_bytes, snippet=snippet)


def _of_class(calls: list[str], owner: str) -> str:
    return (
        f"# in __init__\nself.hooks = [{', '.join(calls)}]\n\n"
        f"def remove(self):  # a method of {owner}\n    for hook in self.hooks:\n        hook.remove()\n\n"
        f"one.remove()  # for each {owner} when its work is done; or make one before the loop, and clear its lists"
    )
