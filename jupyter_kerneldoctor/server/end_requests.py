"""Learns of every restart and shutdown that somebody asks for, before it is carried out.

A busy kernel that is asked to go may have to be killed, and a SIGKILL tells nobody who sent it. The server publishes
an event for such an action, but only after it is done, when the sidecar has long seen a death. So the methods of this
server's kernel manager are wrapped: REST, the deletion of a session and the culling of idle kernels all go through
them. The automatic restart of a dead kernel does not: it calls the manager of the one kernel. `shutdown_all`, at the
server's own end, calls a private method for each kernel and therefore is wrapped as well.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_core.utils import ensure_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


_who: ContextVar[str] = ContextVar("who", default="user")
"""On whose behalf the present task calls the kernel manager."""


class EndRequestListener(Protocol):
    """Who is told. None of it raises or takes long."""

    async def requested(self, kernel_id: str, action: str, by: str) -> Any:
        """Somebody asked for it; return what identifies the process."""

    async def completed(self, kernel_id: str, process: Any) -> None:
        """It was done, or it failed."""


def observe_end_requests(manager: Any, listener: EndRequestListener) -> None:
    """Wrap the methods of the server's kernel manager."""
    manager.restart_kernel = _one(manager.restart_kernel, "restart", listener)
    manager.shutdown_kernel = _one(manager.shutdown_kernel, "shutdown", listener)
    manager.shutdown_all = _all(manager, listener)
    if hasattr(manager, "cull_kernel_if_idle"):
        manager.cull_kernel_if_idle = _culling(manager.cull_kernel_if_idle)


def _one(method: Callable[..., Any], action: str, listener: EndRequestListener) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(method)
    async def observed(kernel_id: str, *args: Any, **kwargs: Any) -> Any:
        process = await listener.requested(kernel_id, action, _who.get())
        try:
            return await ensure_async(method(kernel_id, *args, **kwargs))
        finally:
            await listener.completed(kernel_id, process)

    return observed


def _all(manager: Any, listener: EndRequestListener) -> Callable[..., Awaitable[Any]]:
    method = manager.shutdown_all

    @functools.wraps(method)
    async def observed(*args: Any, **kwargs: Any) -> Any:
        kernel_ids = list(manager.list_kernel_ids())
        processes = {kernel_id: await listener.requested(kernel_id, "shutdown", "server") for kernel_id in kernel_ids}
        try:
            return await ensure_async(method(*args, **kwargs))
        finally:
            for kernel_id, process in processes.items():
                await listener.completed(kernel_id, process)

    return observed


def _culling(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(method)
    async def observed(*args: Any, **kwargs: Any) -> Any:
        token = _who.set("culler")
        try:
            return await ensure_async(method(*args, **kwargs))
        finally:
            _who.reset(token)

    return observed
