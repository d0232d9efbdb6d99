"""What can be set in jupyter_server_config.py."""

from traitlets import Bool, Float, Int
from traitlets.config import Configurable


class KernelDoctor(Configurable):  # type: ignore[misc]  # its type is not looked at
    """Settings, for example `c.KernelDoctor.watch_all_kernels = False`."""

    watch_all_kernels = Bool(
        default_value=True,
        help="""Record every kernel that this server starts on this machine, also one that does not load KernelDoctor
        and one that is not Python, in a small process beside it (some 8 MiB).""",
    ).tag(config=True)

    stacks = Bool(
        default_value=True,
        help="""Read the stack of a Python kernel that does not load KernelDoctor, from outside, when its memory nears a
        limit or when it does not answer. For kernels that load it, set the same in ipython_kernel_config.py.""",
    ).tag(config=True)

    keep_recordings = Int(default_value=200, min=0, help="How many recordings of all kernels to keep.").tag(config=True)
    keep_days = Float(default_value=30.0, min=0.0, help="For how long to keep a recording.").tag(config=True)
    keep_bytes = Int(default_value=500 << 20, min=0, help="How much disk all recordings may take.").tag(config=True)

    @property
    def keep(self) -> tuple[int, float, int]:
        """What to keep, as `recording.retention.Policy`."""
        return self.keep_recordings, self.keep_days * 24 * 3600, self.keep_bytes
