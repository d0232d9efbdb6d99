"""A client of a kernel that speaks as JupyterLab does: through the server, by a websocket."""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1, serialize_msg_to_ws_v1

from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_kerneldoctor.recording.model import Recording

PATIENCE_S = 60

V1 = "v1.kernel.websocket.jupyter.org"


class Notebook:
    """One kernel and one connection to it. `protocol`: `V1`, or None for the older one."""

    def __init__(self, fetch: Any, ws_fetch: Any, kernel_id: str, protocol: str | None) -> None:
        self._fetch, self._ws_fetch = fetch, ws_fetch
        self._protocol = protocol
        self.id = kernel_id

    async def connect(self) -> None:
        subprotocols = [self._protocol] if self._protocol else None
        self._socket = await self._ws_fetch("api", "kernels", self.id, "channels", subprotocols=subprotocols)
        assert self._socket.selected_subprotocol == self._protocol

    async def run(self, code: str, *, cell_id: str | None = None, **content: Any) -> dict[str, Any]:
        """Run a cell to its end; return the reply."""
        return await self.answered(await self.send(code, cell_id=cell_id, **content))

    async def send(self, code: str, *, cell_id: str | None = None, **content: Any) -> str:
        """Ask for the execution of a cell and do not wait; return the id of the request."""
        message_id = uuid.uuid4().hex
        header = {"msg_id": message_id, "msg_type": "execute_request", "session": "s", "username": "", "version": "5.3"}
        request = {"code": code, "silent": False, "store_history": True, "stop_on_error": True, **content}
        metadata = {} if cell_id is None else {"cellId": cell_id}
        message = {"header": header, "parent_header": {}, "metadata": metadata, "content": request}
        if self._protocol == V1:
            packed = serialize_msg_to_ws_v1(message, "shell", pack=lambda part: json.dumps(part).encode())
            await self._socket.write_message(packed, binary=True)
        else:
            await self._socket.write_message(json.dumps({"channel": "shell", **message}))
        return message_id

    async def answered(self, message_id: str) -> dict[str, Any]:
        """Wait for the reply to a request."""
        while True:
            message = await asyncio.wait_for(self._socket.read_message(), PATIENCE_S)
            header, parent, content = self._parts(message)
            if parent.get("msg_id") == message_id and header["msg_type"] == "execute_reply":
                return content

    def _parts(self, message: str | bytes) -> tuple[dict[str, Any], ...]:
        if self._protocol == V1:
            _, (header, parent, _, content, *_) = deserialize_msg_from_ws_v1(message)
            return tuple(json.loads(part) for part in (header, parent, content))
        whole = json.loads(message)
        return whole["header"], whole["parent_header"], whole["content"]

    async def shut_down(self) -> None:
        self._socket.close()
        await self._fetch("api", "kernels", self.id, method="DELETE")

    async def report(self, recording_id: str) -> dict[str, Any]:
        return json.loads((await self._fetch("kerneldoctor", "recordings", recording_id)).body)

    def recordings(self) -> list[Recording]:
        """All recordings of this kernel, newest first."""
        store = Store()
        found = [store.open(recording_id) for recording_id in store.ids()]
        return [recording for recording in found if recording.kernel.kernel_id == self.id]

    async def recorded(self, predicate: Callable[[Recording], Any]) -> Recording:
        """Wait for a recording that is as the predicate says. It may look at what is not there yet."""
        for _ in range(1200):
            found = self.recordings()
            with suppress(IndexError, AttributeError):
                for recording in found:
                    if predicate(recording):
                        return recording
            await asyncio.sleep(0.05)
        raise AssertionError(found)
