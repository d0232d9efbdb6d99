"""What the panel asks for."""

import asyncio
import json
import time

import pytest
from support.handwritten import write_recording
from tornado.httpclient import HTTPClientError

from jupyter_kerneldoctor import diagnosis
from jupyter_kerneldoctor.archive import Archive
from jupyter_kerneldoctor.server.handlers import HANDLERS

ROUTES = (
    "recordings",
    "recordings/20261121T032101Z-4711-ab12cd",
    "docs/causes/oom-cgroup",
    "docs/fixes/read-in-chunks",
)


@pytest.fixture
def get(http_server_client, jp_base_url, jp_auth_header):
    """Fetch a path exactly as it is written: `jp_fetch` would quote it."""
    return lambda path: http_server_client.fetch(f"{jp_base_url}{path}", headers=jp_auth_header)


async def test_the_list_is_empty_at_first(jp_fetch):
    response = await jp_fetch("kerneldoctor", "recordings")

    assert json.loads(response.body) == []


async def test_list_and_report(jp_fetch):
    old = write_recording(1, notebook="/home/ada/eda.ipynb", source="print('\ud800\x1b<b>')")
    new = write_recording(2, signal=None)

    rows = json.loads((await jp_fetch("kerneldoctor", "recordings")).body)
    response = await jp_fetch("kerneldoctor", "recordings", old)

    report = json.loads(response.body)
    assert [row["recording"] for row in rows] == [new, old]
    assert [row["died"] for row in rows] == [False, True]
    assert rows[1]["notebook"] == "/home/ada/eda.ipynb"
    assert report["recording"] == old
    assert report["cell"]["source"] == "print('\ud800\x1b<b>')"
    assert response.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize(
    "name",
    [
        "20261121T032101Z-1-aaaaaa",
        "../secret",
        "%2e%2e%2fsecret",
        "..%2Fsecret",
        "%2e%2e",
        "20261121T032101Z-4711-ab12cd%00",
        "20261121T032101Z-4711-ab12cd/../../secret",
        "20261121T032101Z-4711-ab12cd%0a",
        "recordings%5C..%5Csecret",
    ],
)
async def test_what_is_no_recording_is_404_and_nothing_is_read(get, name, data_root, monkeypatch):
    write_recording(1)
    (data_root / "secret").mkdir()
    monkeypatch.setattr("jupyter_kerneldoctor.recording.store.read", lambda path: pytest.fail(f"read {path}"))

    with pytest.raises(HTTPClientError) as refused:
        await get(f"kerneldoctor/recordings/{name}")

    assert refused.value.code == 404
    assert json.loads(refused.value.response.body)["message"] == "There is no recording of this id."


async def test_reference_pages(jp_fetch):
    cause = await jp_fetch("kerneldoctor", "docs", "causes", "oom-cgroup")
    fix = await jp_fetch("kerneldoctor", "docs", "fixes", "read-in-chunks")

    assert b"What it means" in cause.body
    assert b"`read-in-chunks`" in fix.body
    assert cause.headers["Content-Type"] == "text/plain; charset=UTF-8"

    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("kerneldoctor", "docs", "causes", "bad-luck")
    assert refused.value.code == 404


@pytest.mark.parametrize("verb", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("route", ROUTES)
async def test_nobody_reads_anything_without_a_token(jp_fetch, route, verb):
    write_recording(1)

    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch(
            "kerneldoctor", *route.split("/"), method=verb, headers={"Authorization": "token wrong"},
            allow_nonstandard_methods=True,
        )  # fmt: skip

    assert refused.value.code in (403, 405)
    assert verb != "GET" or refused.value.code == 403


def test_every_verb_of_every_handler_is_authenticated():
    verbs = [vars(kind)[verb] for _, kind in HANDLERS for verb in vars(kind) if verb.upper() in kind.SUPPORTED_METHODS]

    assert len(verbs) == len(HANDLERS)
    assert all(verb.__code__.co_filename.endswith("tornado/web.py") for verb in verbs)


async def test_a_slow_recording_does_not_keep_the_server_from_serving(jp_fetch, jp_serverapp, monkeypatch):
    monkeypatch.setattr(Archive, "rows", lambda self: time.sleep(2) or [])
    slow = asyncio.ensure_future(jp_fetch("kerneldoctor", "recordings"))
    await asyncio.sleep(0.2)

    began = time.monotonic()
    await jp_fetch("api", "status")

    assert time.monotonic() - began < 1
    assert not slow.done()
    await slow


async def test_the_list_diagnoses_only_what_is_new_or_changed(jp_fetch, monkeypatch):
    write_recording(1)
    write_recording(2)
    asked, diagnose = [], diagnosis.diagnose
    monkeypatch.setattr(diagnosis, "diagnose", lambda recording: asked.append(recording.id) or diagnose(recording))

    await jp_fetch("kerneldoctor", "recordings")
    await jp_fetch("kerneldoctor", "recordings")
    assert len(asked) == 2

    third = write_recording(3)
    await jp_fetch("kerneldoctor", "recordings")
    assert asked[2:] == [third]
