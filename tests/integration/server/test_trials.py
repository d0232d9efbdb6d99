"""A fix is tried for a page: announced, told step by step, one at a time, and nothing of it is left."""

import asyncio
import json

import pytest
from support.handwritten import write_recording
from support.requires import linux
from support.trials import FIX, WAITING, processes_of_trials_in
from tornado.httpclient import HTTPClientError

pytestmark = linux


async def test_a_trial_is_announced_and_told_and_ends_with_its_request(
    jp_fetch, http_server_port, jp_serverapp, tmp_path, trial_disk
):
    (tmp_path / "notebook").mkdir()
    (tmp_path / "notebook" / "data.csv").write_text("1,2")
    wait = tmp_path / "wait"
    wait.touch()
    notebook = str(tmp_path / "notebook" / "a.ipynb")
    recording_id = write_recording(1, source=WAITING.format(wait=str(wait)), notebook=notebook, exit_code=3)
    path = ("kerneldoctor", "recordings", recording_id, "trials", FIX)

    announced = json.loads((await jp_fetch(*path)).body)
    assert announced["cells"] == [{"execution_count": 1, "is_changed": True}]
    assert announced["copied_bytes"] == 3
    assert announced["directory"] == str(tmp_path / "notebook")
    assert list(trial_disk.iterdir()) == []

    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch(*path[:-1], "no-such-fix")
    assert refused.value.code == 409
    assert json.loads(refused.value.response.body)["help"].startswith("What can be tried: ")

    # While one runs, no other does; when its page is gone, nothing is left of it, and the next one begins.
    reader, writer = await asyncio.open_connection("127.0.0.1", http_server_port[-1])
    head = f"POST {jp_serverapp.base_url}{'/'.join(path)} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n"
    writer.write(f"{head}Authorization: token {jp_serverapp.identity_provider.token}\r\n\r\n".encode())
    while b'"what": "cell"' not in await asyncio.wait_for(reader.readline(), 60):
        assert not reader.at_eof()
    assert processes_of_trials_in(trial_disk)
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch(*path, method="POST", body="")
    assert refused.value.code == 409
    assert "Another trial is running" in json.loads(refused.value.response.body)["message"]
    writer.close()
    wait.unlink()
    answered = await jp_fetch(*path, method="POST", body="", request_timeout=120, raise_error=False)
    while answered.code == 409:  # the server has not noticed yet
        answered = await jp_fetch(*path, method="POST", body="", request_timeout=120, raise_error=False)

    steps = [json.loads(line) for line in answered.body.splitlines()]
    assert [step["what"] for step in steps] == ["started", "cell", "cell over", "over"]
    assert (steps[0]["limited_by"], steps[2]["how"]) != ("", "died")
    assert steps[-1]["lived"]
    assert "Lived" in steps[-1]["text"]
    assert (processes_of_trials_in(trial_disk), list(trial_disk.iterdir())) == ([], [])


async def test_a_trial_says_when_the_directory_of_the_notebook_is_gone(jp_fetch, tmp_path, trial_disk):
    source, notebook = WAITING.format(wait="none"), str(tmp_path / "gone" / "a.ipynb")
    recording_id = write_recording(1, source=source, notebook=notebook, exit_code=3)

    answer = await jp_fetch("kerneldoctor", "recordings", recording_id, "trials", FIX)

    assert json.loads(answer.body)["gone"] == str(tmp_path / "gone")
    assert list(trial_disk.iterdir()) == []
