from ...fix import Advice, Case, Death, quote
from ...frameworks.torch import loaded_networks

_LOAD = "from transformers import AutoModel"


class DeviceMapAuto(Advice):
    """Spread the model over cards and memory.

    What it does: With `device_map="auto"` the weights fill the cards one after the other, and what is left goes to the
    machine's memory, then to disk.

    When it is offered: The graphics card was full while `from_pretrained` loaded a model.

    What it costs: Layers outside of the card are slow. For inference only. It needs the package accelerate, and no
    `.to("cuda")` afterwards.
    """

    id, title, causes, general = "device-map-auto", "Spread the model over the cards: device_map", ("gpu-oom",), True
    why = (
        "{load} puts all weights on one card. `device_map` fills one after the other, and puts the rest into "
        'memory. Leave out the `.to("cuda")` behind it.'
    )
    snippet = 'model = {load_function}(…, device_map="auto", max_memory={{0: "20GiB", "cpu": "48GiB"}})'

    FIRES = [Case(_LOAD, "model = AutoModel.from_pretrained(name).cuda()")]
    SILENT = [
        Case(_LOAD, "model = AutoModel.from_pretrained(name, device_map='auto')"),
        Case(_LOAD, "x = AutoModel"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Say it where a model is loaded without one."""
        call = next(loaded_networks(death.code), None)
        is_spread = call is None or call.argument("device_map") is not None
        return (
            None
            if call is None or is_spread
            else {"load": quote(call.text), "load_function": call.scope.segment(call.node.func)}
        )
