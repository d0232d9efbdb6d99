"""Learns of every process that this server starts for a kernel, and of every attempt that fails.

First starts and automatic restarts go through the one method of jupyter_client's local provisioner that starts a
process. It is wrapped, once in a server's life; what other provisioners start (in containers, on clusters) is not seen.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

if TYPE_CHECKING:
    from collections.abc import Callable

Settings = dict[str, Any]


class Midwife(Protocol):
    """Who is told. None of it raises or takes long."""

    def about_to_start(self, provisioner: LocalProvisioner, settings: Settings) -> None:
        """A process is about to be started with these settings of `subprocess.Popen`, which may be changed."""

    def started(self, provisioner: LocalProvisioner, command: list[str], settings: Settings) -> None:
        """It runs."""

    def not_started(
        self, provisioner: LocalProvisioner, command: list[str], settings: Settings, error: Exception
    ) -> None:
        """There is no process."""


_midwives: WeakKeyDictionary[Any, Midwife] = WeakKeyDictionary()


def announce_launches(manager: Any, midwife: Midwife) -> None:
    """Tell of the kernels of this manager. Nothing is told of one that does not start kernels on the event loop."""
    if not isinstance(manager, AsyncMultiKernelManager):
        return
    _midwives[manager] = midwife
    if not hasattr(LocalProvisioner.launch_kernel, "__wrapped__"):
        LocalProvisioner.launch_kernel = _announced(LocalProvisioner.launch_kernel)  # type: ignore[method-assign]


def _announced(launch: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(launch)
    async def announced(self: LocalProvisioner, cmd: list[str], **settings: Any) -> Any:
        midwife = _midwife_of(self)
        if midwife is None:
            return await launch(self, cmd, **settings)
        midwife.about_to_start(self, settings)
        try:
            connection = await launch(self, cmd, **settings)
        except Exception as error:
            midwife.not_started(self, cmd, settings, error)
            raise
        midwife.started(self, cmd, settings)
        return connection

    return announced


def _midwife_of(provisioner: LocalProvisioner) -> Midwife | None:
    """Who is to be told, if anybody: a kernel may belong to no manager of many, or to another one."""
    manager = getattr(provisioner.parent, "parent", None)
    return _midwives.get(manager) if isinstance(manager, AsyncMultiKernelManager) else None
