from jupyter_kerneldoctor.recording.events import GpuProcess

from ...analysis.gpu import card_at
from ...examples import GIB
from ...examples.gpu import CARD, sample
from ...fix import Advice, Case, Death

_PART = 0.9
_SHARED = sample(23 * GIB, 15 * GIB, GpuProcess(7, bytes=8 * GIB))


class TfLogicalMemoryLimit(Advice):
    """Give TensorFlow a fixed part of the card.

    What it does: A logical device with a `memory_limit` never takes more of a card than that, so that several kernels
    can share it.

    When it is offered: A graphics card was full where TensorFlow was in use, and other programs held a part of it.

    What it costs: A restart, and an error at the limit in place of one at the end of the card.
    """

    id, title = "tf-logical-memory-limit", "Give TensorFlow a fixed part of the card: memory_limit"
    causes, general = ("gpu-oom",), True
    why = "Other programs hold a part of the card; {limit} are left to this kernel. Put this first, and restart."
    snippet = (
        "import tensorflow as tf\n"
        'gpu = tf.config.list_physical_devices("GPU")[0]\n'
        "tf.config.set_logical_device_configuration(\n"
        "    gpu, [tf.config.LogicalDeviceConfiguration(memory_limit={mib})]\n"
        ")"
    )

    FIRES = [Case("import tensorflow as tf", gpus=[CARD], gpu_samples=[_SHARED], says=("=14745",))]
    SILENT = [Case("import tensorflow as tf")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Say how many MiB are left, where others hold some."""
        limit, card = death.memory.limit_bytes, card_at(death.recording, float("inf"))
        if not (death.code.imports("tensorflow") and card is not None and card.others_bytes and limit):
            return None
        return {"mib": str(int(limit * _PART) >> 20)}
