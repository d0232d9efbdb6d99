"""Observes every process that this server starts for a kernel, and every attempt that fails.

First starts and automatic restarts go through one method of jupyter_client's local provisioner, which is wrapped once.
What other provisioners start (in containers, on clusters) is not observed.
"""

import functools
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

Settings = dict[str, Any]


class LaunchListener(Protocol):
    """Gets each launch. Its methods must neither raise nor take long."""

    def before_launch(self, provisioner: LocalProvisioner, settings: Settings) -> None:
        """Handle that a process is about to start; the settings of `subprocess.Popen` may be changed."""

    def started(self, provisioner: LocalProvisioner, command: list[str], settings: Settings) -> None:
        """Handle that the process has started."""

    def not_started(
        self, provisioner: LocalProvisioner, command: list[str], settings: Settings, error: Exception
    ) -> None:
        """Handle that no process could be started."""


_listeners: WeakKeyDictionary[Any, LaunchListener] = WeakKeyDictionary()


def observe_launches(manager: Any, listener: LaunchListener) -> None:
    """Report the launches of this manager, if it starts kernels on the event loop."""
    if not isinstance(manager, AsyncMultiKernelManager):
        return
    _listeners[manager] = listener
    if not hasattr(LocalProvisioner.launch_kernel, "__wrapped__"):
        LocalProvisioner.launch_kernel = _observed(LocalProvisioner.launch_kernel)  # type: ignore[method-assign]


def _observed(launch: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(launch)
    async def observed(self: LocalProvisioner, cmd: list[str], **settings: Any) -> Any:
        listener = _listener_of(self)
        if listener is None:
            return await launch(self, cmd, **settings)
        listener.before_launch(self, settings)
        try:
            connection = await launch(self, cmd, **settings)
        except Exception as error:
            listener.not_started(self, cmd, settings, error)
            raise
        listener.started(self, cmd, settings)
        return connection

    return observed


def _listener_of(provisioner: LocalProvisioner) -> LaunchListener | None:
    """Return the listener of the kernel's manager; None for a kernel without one, or with one not observed."""
    manager = getattr(provisioner.parent, "parent", None)
    return _listeners.get(manager) if isinstance(manager, AsyncMultiKernelManager) else None
