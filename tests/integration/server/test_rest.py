"""What the panel asks for."""

import asyncio
import json
import os
import signal
import threading
from contextlib import suppress

import pytest
from support.handwritten import write_recording
from support.requires import linux
from tornado.httpclient import HTTPClientError

from jupyter_kerneldoctor.recording.store import Store, UnreadableRecordingError
from jupyter_kerneldoctor.reports import post_mortems
from jupyter_kerneldoctor.reports.post_mortems import PostMortems
from jupyter_kerneldoctor.server.handlers import HANDLERS
from jupyter_kerneldoctor.server.trials import TrialHandler

ROUTES = (
    "recordings",
    "recordings/20261121T032101Z-4711-ab12cd",
    "recordings/20261121T032101Z-4711-ab12cd/inspect",
    "recordings/20261121T032101Z-4711-ab12cd/trials/read-in-chunks",
    "recordings/20261121T032101Z-4711-ab12cd/markdown",
    "recordings/20261121T032101Z-4711-ab12cd/html",
    "storage",
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


async def test_a_report_is_text_to_paste_and_a_page_to_keep(jp_fetch):
    recording_id = write_recording(1, source="print('\ud800\x1b<script>')")

    pasted = await jp_fetch("kerneldoctor", "recordings", recording_id, "markdown")
    kept = await jp_fetch("kerneldoctor", "recordings", recording_id, "html")

    assert pasted.body.startswith(b"### ")
    assert kept.body.startswith(b"<!DOCTYPE html>")
    assert b"<script" not in kept.body
    assert {answer.headers["Content-Type"] for answer in (pasted, kept)} == {"text/plain; charset=UTF-8"}


async def test_a_recording_is_deleted_but_not_that_of_a_running_kernel(jp_fetch, get):
    ended, living = write_recording(1), write_recording(2, living_pid=os.getpid())
    used = json.loads((await jp_fetch("kerneldoctor", "storage")).body)

    assert (await jp_fetch("kerneldoctor", "recordings", ended, method="DELETE")).code == 204
    with pytest.raises(HTTPClientError, match="409"):
        await jp_fetch("kerneldoctor", "recordings", living, method="DELETE")
    with pytest.raises(HTTPClientError, match="404"):
        await jp_fetch("kerneldoctor", "recordings", ended, method="DELETE")

    assert Store().ids() == [living]
    left = json.loads((await jp_fetch("kerneldoctor", "storage")).body)
    assert 0 < left["bytes"] < used["bytes"]
    assert left["directory"] == str(Store().directory)


async def test_a_disk_that_stops_answering_holds_none_of_the_servers_own_threads(jp_fetch, monkeypatch):
    recording_id, asked, look = write_recording(1), set(), Store.path
    monkeypatch.setattr(Store, "path", lambda *words: asked.add(threading.current_thread().name) or look(*words))
    routes = [("GET",), ("GET", "markdown"), ("POST", "inspect"), ("POST", "trials", "any"), ("DELETE",)]

    for verb, *form in routes:
        with suppress(HTTPClientError):  # some are refused
            body = b"" if verb == "POST" else None
            await jp_fetch("kerneldoctor", "recordings", recording_id, *form, method=verb, body=body)

    assert asked == {"kerneldoctor"}
    assert Store().ids() == []


WRITING = (("DELETE", ""), ("POST", "/inspect"), ("POST", "/trials/read-in-chunks"))


async def test_a_page_of_another_site_does_and_hears_nothing(jp_serverapp, http_server_client, jp_base_url):
    """The browser sends the cookie that signs in with any request; only our own page knows the token in the other."""
    recording_id = write_recording(1)
    token = jp_serverapp.identity_provider.token
    signed_in = await http_server_client.fetch(f"{jp_base_url}api/status?token={token}")
    cookies = [cookie.partition(";")[0] for cookie in signed_in.headers.get_list("Set-Cookie")]
    assert any(cookie.startswith("username-") for cookie in cookies)
    known = {"Cookie": "; ".join([*cookies, "_xsrf=guessed"])}
    elsewhere = {"Origin": "https://elsewhere.org", "X-XSRFToken": "guessed"}
    address, live = f"{jp_base_url}kerneldoctor/recordings/{recording_id}", f"{jp_base_url}kerneldoctor/live"

    async def refused(address, headers, verb="GET"):
        with pytest.raises(HTTPClientError) as answered:
            await http_server_client.fetch(address, method=verb, headers=headers, body=b"" if verb == "POST" else None)
        return answered.value.code

    for verb, form in WRITING:
        assert await refused(address + form, known, verb) == 403
        assert await refused(address + form, known | elsewhere, verb) in (403, 404)
    assert await refused(address, known | elsewhere) == 404
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    assert await refused(live, {**known, **elsewhere, **upgrade, "Sec-WebSocket-Key": "dGhlIHNhbXBsZQ=="}) == 403
    assert Store().ids() == [recording_id]


async def test_who_may_only_read_deletes_asks_and_tries_nothing(jp_serverapp, jp_fetch, jp_ws_fetch):
    recording_id, asked = write_recording(1), set()

    def is_authorized(handler, user, action, resource):
        asked.add((action, resource))
        return action == "read" and is_reader

    is_reader, jp_serverapp.web_app.settings["authorizer"].is_authorized = True, is_authorized
    assert (await jp_fetch("kerneldoctor", "recordings", recording_id)).code == 200
    for verb, form in (*WRITING, ("GET", "/trials/read-in-chunks")):
        path = f"{recording_id}{form}".split("/")
        with pytest.raises(HTTPClientError, match="403"):
            await jp_fetch("kerneldoctor", "recordings", *path, method=verb, body=b"" if verb == "POST" else None)
    is_reader = False
    with pytest.raises(HTTPClientError, match="403"):
        await jp_ws_fetch("kerneldoctor", "live")

    assert asked == {("read", "kerneldoctor"), ("write", "kerneldoctor"), ("execute", "kernels")}
    assert Store().ids() == [recording_id]


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
    monkeypatch.setattr("jupyter_kerneldoctor.recording.reader.read", lambda path: pytest.fail(f"read {path}"))

    with pytest.raises(HTTPClientError) as refused:
        await get(f"kerneldoctor/recordings/{name}")

    assert refused.value.code == 404
    assert json.loads(refused.value.response.body)["message"] == "There is no recording with this id."


async def test_a_recording_that_cannot_be_read_says_why(get, data_root, monkeypatch):
    recording_id = write_recording(1)

    def refused(path):
        raise UnreadableRecordingError(recording_id, PermissionError(13, "Permission denied", str(path)))

    monkeypatch.setattr("jupyter_kerneldoctor.recording.store._check_readable", refused)
    with pytest.raises(HTTPClientError) as answered:
        await get(f"kerneldoctor/recordings/{recording_id}")

    assert answered.value.code == 404
    assert "cannot be read: Permission denied" in json.loads(answered.value.response.body)["message"]


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
    does = {"POST"} if route.endswith("inspect") else {"GET", "DELETE"} if route.endswith("ab12cd") else {"GET"}
    assert verb not in does or refused.value.code == 403
    assert len(Store().ids()) == 1


def test_every_verb_of_every_handler_is_authenticated():
    kinds = [TrialHandler, *(kind for _, kind in HANDLERS)]
    verbs = [vars(kind)[verb] for kind in kinds for verb in vars(kind) if verb.upper() in kind.SUPPORTED_METHODS]

    assert len(verbs) == len(kinds) + 2  # a trial is announced and begun, a recording read and deleted
    assert all(verb.__code__.co_filename.endswith("tornado/web.py") for verb in verbs)


STUCK = """\
import threading

lock = threading.Lock()

def work():
    with lock:
        with lock:
            pass

work()
"""


@linux
@pytest.mark.parametrize("loads", [True, False])
async def test_a_kernel_that_does_not_answer_is_asked_what_it_is_doing(jp_fetch, notebook, loads):
    kernel = await notebook()
    await kernel.run("%load_ext kerneldoctor" if loads else "import threading")
    await kernel.send(STUCK, cell_id="c2")
    recording = await kernel.recorded(lambda recording: recording.running_cell.cell_id == "c2")

    told = await answer(jp_fetch, recording.id, lambda told: told["threads"] and told["threads"][0]["frames"])

    assert told["kernel_id"] == kernel.id
    assert (told["cell"]["cell_id"], told["cell"]["line"]) == ("c2", 7)
    assert [frame["function"] for frame in told["threads"][0]["frames"]] == ["work", "<module>"]
    assert told["no_stacks"] is None
    os.kill(told["pid"], signal.SIGINT)


@linux
async def test_a_kernel_of_another_python_than_the_servers(jp_fetch, notebook, kernelspec, another_python):
    command = [another_python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = await notebook(kernelspec("another", command))
    await kernel.run("%load_ext kerneldoctor")
    await kernel.send(STUCK, cell_id="c2")
    recording = await kernel.recorded(lambda recording: recording.running_cell.cell_id == "c2")

    told = await answer(jp_fetch, recording.id, lambda told: told["threads"] and told["threads"][0]["frames"])

    assert told["cell"]["line"] == 7
    os.kill(told["pid"], signal.SIGINT)


@linux
async def test_a_kernel_of_another_language_tells_less_and_says_why(jp_fetch, notebook, echo):
    kernel = await notebook(echo)
    await kernel.send("sleep 20")
    recording = await kernel.recorded(lambda recording: recording.running_cell)

    told = await answer(jp_fetch, recording.id, lambda told: told["threads"])

    assert told["cell"]["source"] == "sleep 20"
    assert told["cell"]["line"] is None
    assert told["no_stacks"] == "the kernel is not Python"
    os.kill(told["pid"], signal.SIGKILL)


@linux
async def test_why_a_kernel_cannot_be_asked(jp_fetch, notebook):
    kernel = await notebook()
    await kernel.run("%load_ext kerneldoctor")
    await kernel.run("%kerneldoctor off")
    switched_off = await kernel.recorded(lambda recording: recording.switched_off)
    ended = write_recording(1)

    refused = {name: await refusal(jp_fetch, name) for name in (switched_off.id, ended, "20261121T032101Z-1-aaaaaa")}

    assert {name: (code, said.get("refused")) for name, (code, said) in refused.items()} == {
        switched_off.id: (409, "not-recorded"),
        ended: (409, "gone"),
        "20261121T032101Z-1-aaaaaa": (404, None),
    }
    assert refused[ended][1]["message"] == f"The kernel of {ended} is not running any more."


async def answer(jp_fetch, recording_id, true):
    """Ask until the answer is as `true` says: a kernel needs a moment to run into its lock."""
    for _ in range(600):
        with suppress(HTTPClientError):  # on a busy machine the recorder may need more than its two seconds
            response = await jp_fetch("kerneldoctor", "recordings", recording_id, "inspect", method="POST", body="")
            told = json.loads(response.body)
            if true(told):
                return told
        await asyncio.sleep(0.1)
    raise AssertionError("no answer")


async def refusal(jp_fetch, recording_id):
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("kerneldoctor", "recordings", recording_id, "inspect", method="POST", body="")
    return refused.value.code, json.loads(refused.value.response.body)


async def test_a_slow_recording_does_not_keep_the_server_from_serving(jp_fetch, jp_serverapp, monkeypatch):
    begun, read = threading.Event(), threading.Event()
    monkeypatch.setattr(PostMortems, "rows", lambda self: begun.set() or (read.wait(60) and []))
    slow = asyncio.ensure_future(jp_fetch("kerneldoctor", "recordings"))
    assert await asyncio.to_thread(begun.wait, 60)

    await jp_fetch("api", "status")

    assert not slow.done()
    read.set()
    await slow


async def test_the_list_diagnoses_only_what_is_new_or_changed(jp_fetch, monkeypatch):
    write_recording(1)
    write_recording(2)
    asked, diagnose = [], post_mortems.diagnose
    monkeypatch.setattr(post_mortems, "diagnose", lambda recording: asked.append(recording.id) or diagnose(recording))
    monkeypatch.setattr(post_mortems, "_PREPARED_DOCUMENTS", 0)

    await jp_fetch("kerneldoctor", "recordings")
    await jp_fetch("kerneldoctor", "recordings")
    assert len(asked) == 2

    third = write_recording(3)
    await jp_fetch("kerneldoctor", "recordings")
    assert asked[2:] == [third]
