"""Reads the few messages between clients and kernels that are about cells; others cost next to nothing.

The formats: https://jupyter-client.readthedocs.io/en/stable/messaging.html, and for websockets
https://jupyter-server.readthedocs.io/en/stable/developers/websocket-protocols.html.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

_DELIMITER = b"<IDS|MSG>"
_WORDS = (b'"status"', b'"execute_input"', b'"error"')
_ANSWERS = ("status", "execute_input", "error")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to run a cell."""

    message_id: str
    source: str
    cell_id: str | None
    store_history: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a kernel published about a request, or replied to it."""

    kind: Literal["busy", "idle", "execute_input", "error", "reply"]
    parent_id: str
    source: str | None = None
    count: int | None = None
    error: str | None = None
    aborted: bool = False
    """Whether the reply says that the cell was not run."""


def request_in_websocket(message: str | bytes, *, v1: bool) -> Request | None:
    """Return the request in a websocket message; None for other messages. Raises ValueError, KeyError, IndexError."""
    if v1 and isinstance(message, bytes):
        return _request_v1(message)
    if isinstance(message, bytes):  # the older protocol, with binary buffers behind the JSON
        count = int.from_bytes(message[:4], "big")
        if not 1 <= count <= 1024:
            return None
        starts = [int.from_bytes(message[4 * place : 4 * place + 4], "big") for place in range(1, count + 1)]
        message = message[starts[0] : starts[1] if count > 1 else None].decode()
    if '"execute_request"' not in message:
        return None
    whole = json.loads(message)
    if whole.get("channel") not in ("shell", None):
        return None
    return _request(whole["header"], whole["metadata"], whole["content"])


def _request_v1(message: bytes) -> Request | None:
    count = int.from_bytes(message[:8], "little")
    if not 6 <= count <= 1024:  # channel, header, parent header, metadata, content, end
        return None
    starts = [int.from_bytes(message[8 * place : 8 * place + 8], "little") for place in range(1, count + 1)]
    channel, header, _, metadata, content = (message[starts[part] : starts[part + 1]] for part in range(5))
    if channel != b"shell" or b'"execute_request"' not in header:
        return None
    return _request(json.loads(header), json.loads(metadata), json.loads(content))


def _request(header: dict[str, Any], metadata: dict[str, Any], content: dict[str, Any]) -> Request | None:
    if header["msg_type"] != "execute_request" or content.get("silent") or header.get("subshell_id"):
        return None  # a subshell runs its cells beside the others
    cell_id = metadata.get("cellId")
    return Request(
        message_id=str(header["msg_id"]),
        source=str(content["code"]),
        cell_id=None if cell_id is None else str(cell_id),
        store_history=bool(content.get("store_history", True)),
    )


def answer_in_frames(frames: Sequence[bytes]) -> Answer | None:
    """Return what a kernel published about a cell; None for the rest. Raises ValueError, KeyError, IndexError."""
    at = frames.index(_DELIMITER)
    header = frames[at + 2]
    if not any(word in header for word in _WORDS):
        return None
    kind = json.loads(header)["msg_type"]
    parent_id = json.loads(frames[at + 3]).get("msg_id")
    if kind not in _ANSWERS or not isinstance(parent_id, str):
        return None
    content = json.loads(frames[at + 5])
    if kind == "execute_input":
        count = content.get("execution_count")
        return Answer(kind, parent_id, str(content.get("code", "")), count if isinstance(count, int) else None)
    if kind == "error":
        return Answer(kind, parent_id, error=str(content.get("ename", "")))
    state = content.get("execution_state")
    return Answer(state, parent_id) if state in ("busy", "idle") else None


def reply_in_frames(frames: Sequence[bytes]) -> Answer | None:
    """Return the reply that ends a cell; None for other messages. Raises the same as `answer_in_frames`."""
    at = frames.index(_DELIMITER)
    if b'"execute_reply"' not in frames[at + 2]:
        return None
    parent_id, content = json.loads(frames[at + 3])["msg_id"], json.loads(frames[at + 5])
    count, error = content.get("execution_count"), content.get("ename")
    return Answer(
        "reply",
        str(parent_id),
        count=count if isinstance(count, int) else None,
        error=error if isinstance(error, str) else None,
        aborted=content.get("status") in ("aborted", "abort"),
    )
