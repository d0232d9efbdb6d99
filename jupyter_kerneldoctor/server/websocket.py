"""Observes execute requests of clients before kernels get them, and the kernels' replies.

A kernel that dies at once may not have published that the cell before was over, but it has replied.

The server's class of websocket connections is replaced by a subclass. Connections through a gateway, and those created
by other extensions, stay as they are.
"""

from collections.abc import Callable
from typing import Any

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from zmq.eventloop.zmqstream import ZMQStream

from .messages import Answer, Request, reply_in_frames, request_in_websocket

_CLASS = "kernel_websocket_connection_class"
_V1 = "v1.kernel.websocket.jupyter.org"


def observe_cells(
    settings: dict[str, Any], on_request: Callable[[str, Request], None], on_reply: Callable[[str, Answer], None]
) -> None:
    """Call these with the kernel's id and the message. `settings` are those of the server's web application."""
    base = settings.get(_CLASS)
    if not isinstance(base, type) or not issubclass(base, ZMQChannelsWebsocketConnection):
        return

    class Watched(base):  # type: ignore[misc, valid-type]  # it is configured
        def handle_incoming_message(self, incoming_msg: str) -> None:
            try:
                request = request_in_websocket(incoming_msg, v1=self.subprotocol == _V1)
                if request is not None and _is_passed_on(self):
                    on_request(self.kernel_id, request)
            except Exception:
                self.log.debug("KernelDoctor cannot read this message.", exc_info=True)
            super().handle_incoming_message(incoming_msg)

        def handle_outgoing_message(self, stream: str | ZMQStream, outgoing_msg: list[bytes]) -> None:
            try:
                if "shell" in (stream, getattr(stream, "channel", None)):
                    reply = reply_in_frames(outgoing_msg)
                    if reply is not None:
                        on_reply(self.kernel_id, reply)
            except Exception:
                self.log.debug("KernelDoctor cannot read this message.", exc_info=True)
            super().handle_outgoing_message(stream, outgoing_msg)

    settings[_CLASS] = Watched


def _is_passed_on(connection: ZMQChannelsWebsocketConnection) -> bool:
    allowed = connection.multi_kernel_manager.allowed_message_types
    return bool(connection.channels) and (not allowed or "execute_request" in allowed)
