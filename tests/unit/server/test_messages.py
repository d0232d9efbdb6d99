"""Which messages between clients and kernels tell of cells."""

import json
from types import SimpleNamespace

import pytest
from jupyter_client.session import Session
from jupyter_server.services.kernels.connection.base import serialize_binary_message, serialize_msg_to_ws_v1

from jupyter_kerneldoctor.server.kernels import KernelProcess
from jupyter_kerneldoctor.server.messages import (
    Answer,
    Request,
    answer_in_frames,
    reply_in_frames,
    request_in_websocket,
)

HEADER = {"msg_id": "m1", "msg_type": "execute_request", "session": "s", "username": "u", "version": "5.3"}
CONTENT = {"code": "print('é')", "silent": False, "store_history": True}


def message(header=None, content=None, **parts):
    whole = {"header": {**HEADER, **(header or {})}, "parent_header": {}, "metadata": {"cellId": "c1"}}
    return {**whole, "content": {**CONTENT, **(content or {})}, "buffers": [], **parts}


def as_text(whole, channel="shell"):
    return request_in_websocket(json.dumps({"channel": channel, **whole}), v1=False)


def as_v1(whole, channel="shell"):
    return request_in_websocket(serialize_msg_to_ws_v1(whole, channel, lambda part: json.dumps(part).encode()), v1=True)


def as_binary(whole, channel="shell"):
    whole = {**whole, "channel": channel, "buffers": [b"\0\1binary"]}
    return request_in_websocket(serialize_binary_message(whole), v1=False)


PROTOCOLS = pytest.mark.parametrize("sent", [as_text, as_v1, as_binary])


@PROTOCOLS
def test_a_request_to_run_a_cell(sent):
    assert sent(message()) == Request("m1", "print('é')", "c1", store_history=True)


@PROTOCOLS
def test_a_request_without_a_cell_id_and_without_history(sent):
    assert sent(message(content={"store_history": False}, metadata={})) == Request(
        "m1", "print('é')", None, store_history=False
    )


@PROTOCOLS
@pytest.mark.parametrize(
    "other",
    [
        message(content={"silent": True}),
        message(header={"subshell_id": "beside"}),
        message(header={"msg_type": "complete_request"}),
        message(header={"msg_type": "comm_msg"}, content={"data": '"execute_request"'}),
    ],
    ids=["silent", "subshell", "completion", "named-in-the-data"],
)
def test_what_is_no_cell(sent, other):
    assert sent(other) is None


@PROTOCOLS
def test_another_channel(sent):
    assert sent(message(), "control") is None


@pytest.mark.parametrize("damaged", [b"", b"\0" * 7, b"\xff" * 64])
def test_bytes_that_are_no_message(damaged):
    assert request_in_websocket(damaged, v1=True) is None


@pytest.mark.parametrize("count", [0, 1025, 1 << 20])
def test_a_count_of_buffers_that_none_has(count):
    assert request_in_websocket(count.to_bytes(4, "big") + b"\0" * 64, v1=False) is None


def test_what_a_kernel_publishes_may_be_nested_without_end():
    frames = [b"topic", b"<IDS|MSG>", b"signature", b'{"msg_type":' * 100_000 + b'"status"', b"{}", b"{}", b"{}"]
    link = SimpleNamespace(send=None)
    kernel = KernelProcess(SimpleNamespace(kernel_id="k"), None, [], link)

    with pytest.raises(RecursionError):
        answer_in_frames(frames)
    kernel._on_published(frames)  # and does not disturb the server


def published(kind, content, parent=HEADER):
    session = Session(key=b"secret")
    whole = session.msg(kind, content, parent={"header": parent} if parent else None)
    return answer_in_frames([b"topic", *session.serialize(whole)])


@pytest.mark.parametrize(
    ("kind", "content", "answer"),
    [
        ("status", {"execution_state": "busy"}, Answer("busy", "m1")),
        ("status", {"execution_state": "idle"}, Answer("idle", "m1")),
        ("execute_input", {"code": "x", "execution_count": 3}, Answer("execute_input", "m1", "x", 3)),
        ("error", {"ename": "ValueError", "evalue": "secret"}, Answer("error", "m1", error="ValueError")),
        ("status", {"execution_state": "starting"}, None),
        ("stream", {"name": "stdout", "text": '"status"'}, None),
    ],
)
def test_what_a_kernel_publishes(kind, content, answer):
    assert published(kind, content) == answer


def test_what_belongs_to_no_request():
    assert published("status", {"execution_state": "idle"}, parent=None) is None


@pytest.mark.parametrize(
    ("kind", "content", "answer"),
    [
        ("execute_reply", {"status": "ok", "execution_count": 3}, Answer("reply", "m1", count=3)),
        ("execute_reply", {"status": "error", "execution_count": 3, "ename": "ValueError", "evalue": "secret"},
         Answer("reply", "m1", count=3, error="ValueError")),
        ("execute_reply", {"status": "aborted"}, Answer("reply", "m1", aborted=True)),
        ("complete_reply", {"status": "ok"}, None),
    ],
)  # fmt: skip
def test_what_a_kernel_replies(kind, content, answer):
    session = Session(key=b"secret")
    whole = session.msg(kind, content, parent={"header": HEADER})

    assert reply_in_frames([b"identity", *session.serialize(whole)]) == answer
