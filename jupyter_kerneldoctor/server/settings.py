"""What can be set in jupyter_server_config.py."""

from traitlets import Bool

from jupyter_kerneldoctor.recording.retention_settings import RetentionSettings


class KernelDoctor(RetentionSettings):
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
