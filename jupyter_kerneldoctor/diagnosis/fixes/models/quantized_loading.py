from ...fix import Advice, Case, Death, quote
from ...frameworks.torch import loaded_networks
from ...frameworks.training import trains

_LOAD = "from transformers import AutoModel"


class QuantizedLoading(Advice):
    """Load the weights in 4 bits.

    What it does: A weight takes four bytes in float32, two in bfloat16, and half a byte in 4 bits. `bitsandbytes` loads
    them so from the start.

    When it is offered: The graphics card was full while `from_pretrained` loaded a model that nothing trains.

    What it costs: Accuracy, a little. For inference, and for adapters (PEFT): the weights themselves cannot be trained
    so.
    """

    id, title = "quantized-loading", "Load the weights in 4 bits: BitsAndBytesConfig"
    causes, general = ("gpu-oom",), True
    why = (
        "{load} loads the weights in their full width. In 4 bits they take an eighth of float32. It needs the"
        " package bitsandbytes."
    )
    snippet = (
        "from transformers import BitsAndBytesConfig\n"
        "config = BitsAndBytesConfig(load_in_4bit=True)\n"
        "model = {load_function}(…, quantization_config=config)"
    )

    FIRES = [Case(_LOAD, "model = AutoModel.from_pretrained(name)")]
    SILENT = [
        Case(_LOAD, "model = AutoModel.from_pretrained(name, quantization_config=q)"),
        Case(_LOAD, "AutoModel.from_pretrained(n)(x).loss.backward()"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Say it where a model is loaded in full width, and nothing trains it."""
        call = next(loaded_networks(death.code), None)
        if call is None or call.argument("quantization_config") is not None or trains(death.code):
            return None
        return {"load": quote(call.text), "load_function": call.scope.segment(call.node.func)}
