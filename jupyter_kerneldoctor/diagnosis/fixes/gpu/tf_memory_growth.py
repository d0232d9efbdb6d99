from ...fix import Advice, Case


class TfMemoryGrowth(Advice):
    """Let TensorFlow take the card's memory as it needs it.

    What it does: TensorFlow takes nearly all memory of a card at its first use, whatever it needs. With memory growth
    it takes what it needs, and leaves the rest to other notebooks.

    When it is offered: A graphics card was full where TensorFlow was in use.

    What it costs: A restart: it must stand before the first use of the card. It is no help against a true shortage.
    Memory that was taken is not given back before the process ends.
    """

    id, title = "tf-memory-growth", "Let TensorFlow take only what it needs: set_memory_growth"
    causes, general = ("gpu-oom",), True
    library, unless = "tensorflow", ("set_memory_growth", "set_logical_device")
    why = (
        "TensorFlow takes nearly all of a card at its first use, so two kernels on one card get into each "
        "other's way. Put this first, in all of them, and restart."
    )
    snippet = (
        "import tensorflow as tf\n"
        'for gpu in tf.config.list_physical_devices("GPU"):\n'
        "    tf.config.experimental.set_memory_growth(gpu, True)"
    )

    FIRES = [Case("import tensorflow as tf\nx = tf.ones(9)", says=("set_memory_growth",))]
    SILENT = [Case("import tensorflow as tf\ntf.config.experimental.set_memory_growth(gpu, True)")]
