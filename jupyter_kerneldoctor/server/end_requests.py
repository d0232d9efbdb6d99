"""Observes every requested restart and shutdown before it is carried out.

A busy kernel may have to be killed, and nothing shows who sent a SIGKILL. The server's own event for it comes only
afterwards, when the sidecar has already seen a death. So the methods of the server's kernel manager are wrapped: REST,
the deletion of a session and the culling of idle kernels go through them. The automatic restart of a dead kernel does
not: it calls the manager of that kernel. `shutdown_all`, at the server's own end, calls a private method for each
kernel and is therefore wrapped too.
"""

import functools
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Protocol

from jupyter_core.utils import ensure_async

_who: ContextVar[str] = ContextVar("who", default="user")
"""On whose behalf the current task calls the kernel manager."""


class EndRequestListener(Protocol):
    """Gets each request. Its methods must neither raise nor take long."""

    async def requested(self, kernel_id: str, action: str, by: str) -> Any:
        """Handle a request before it is carried out; return what identifies the process."""

    async def completed(self, kernel_id: str, process: Any) -> None:
        """Handle that the request was carried out or failed."""


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
