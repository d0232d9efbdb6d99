"""What runs inside the user's kernel: hooks on cells, the link to the sidecar, the magics.

The first rule: nothing here may raise into, slow down or block the user's kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .doctor import Doctor

_doctor: Doctor | None = None


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext kerneldoctor`: start the sidecar, hook into the cells, register the magics."""
    global _doctor  # noqa: PLW0603 - IPython keeps no object for an extension; the module is the only place
    if _doctor is not None:
        return
    from .doctor import Doctor  # noqa: PLC0415 - an import that fails is reported like any other failure to start
    from .magics import KernelDoctorMagics  # noqa: PLC0415

    _doctor = Doctor(shell)
    shell.register_magics(KernelDoctorMagics(shell, _doctor))
    _doctor.start()


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext kerneldoctor`: stop the sidecar and give the hooks back."""
    global _doctor  # noqa: PLW0603
    if _doctor is None:
        return
    from .magics import KernelDoctorMagics  # noqa: PLC0415

    _doctor.stop()
    KernelDoctorMagics.unregister(shell)
    _doctor = None
