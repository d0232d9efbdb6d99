"""`show` tells what was recorded; `export` packs it for somebody else."""

import json
import zipfile

import pytest
from support.handwritten import write_recording

from jupyter_kerneldoctor.cli import main
from jupyter_kerneldoctor.diagnosis.code.cellfiles import murmur2
from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.reader import read

SECRET = "s3cret"


@pytest.fixture
def private(data_root):
    """A recording with the user's own things wherever they can be."""
    recording_id = write_recording(1, notebook=f"/home/me/{SECRET}.ipynb", source=f"password = '{SECRET}'\nf(password)")
    directory = data_root / "recordings" / recording_id
    journal = JsonLines(directory / layout.JOURNAL)
    biggest = {"name": SECRET, "type": "numpy.ndarray", "bytes": 5 << 20, "shape": [5, 1 << 20]}
    journal.write(
        {"event": "namespace", "mono_s": 101.5, "objects": [biggest]},
        {"event": "held", "mono_s": 101.5, "objects": [{**biggest, "file": "train.py", "function": "fit"}]},
        {
            "event": "growth",
            "mono_s": 101.5,
            "statements": [{"frames": [{"file": "train.py", "line": 3, "function": "fit"}], "bytes": 5 << 20}],
        },
        {"event": "child_end", "mono_s": 101.6, "pid": 77, "name": "python3", "kind": "signal", "signal": "SIGKILL"},
    )
    JsonLines(directory / layout.OUTPUT[0]).write({"mono_s": 101.7, "fd": 2, "text": f"user {SECRET} logged in\n"})
    JsonLines(directory / layout.SERVER).write({"event": "start_failed", "never_ready": True, "stderr": SECRET})
    (directory / layout.CRASH).write_text("Fatal Python error: Segmentation fault\n")
    return recording_id


def test_show_is_a_timeline(private, capsys):
    assert main(["show", private]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Recording {private}"
    events = [line.split(" s  ")[1] for line in lines if " s  " in line]
    assert events[0].startswith("cell [1] started")
    assert "biggest objects: s3cret (numpy.ndarray 5x1048576, 5.0 MiB)" in events
    assert "grew by 5.0 MiB in: fit (train.py:3)" in events
    assert "child 77 (python3) was ended by SIGKILL" in events
    assert events[-1] == "ended by SIGSEGV"


def test_limits_of_a_process_have_their_units(data_root, capsys):
    recording_id = write_recording(1)
    limits = {"STACK": {"soft": 8 << 20}, "CPU": {"soft": 3600}, "NOFILE": {"soft": 1024}}
    around = {"event": "surroundings", "mono_s": 101.5, "when": "start", "rlimits": limits}
    JsonLines(data_root / "recordings" / recording_id / layout.JOURNAL).write(around)

    main(["show", recording_id])

    assert "stack limit 8.0 MiB, processor time limit 1 h 0 min, at most 1024 open files" in capsys.readouterr().out


def test_show_without_an_id_shows_the_newest(record, capsys):
    record(1)
    newest = record(2)

    main(["show"])

    assert capsys.readouterr().out.startswith(f"Recording {newest}")


def test_show_for_programs(private, capsys):
    main(["show", "--json", private])

    document = json.loads(capsys.readouterr().out)
    assert document["cells"][0]["source"].startswith("password")
    assert document["end"]["signal"] == "SIGSEGV"


def test_what_a_program_printed_cannot_command_the_terminal(private, data_root, capsys):
    JsonLines(data_root / "recordings" / private / layout.OUTPUT[1]).write({"mono_s": 1, "fd": 1, "text": "\x1b[2Jhi"})

    main(["show", private])

    assert "\x1b" not in capsys.readouterr().out


def test_an_export_holds_nothing_of_the_users(private, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", "/home/me")
    target = tmp_path / "report.zip"

    assert main(["export", private, "--output", str(target)]) == 0

    with zipfile.ZipFile(target) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
        archive.extractall(tmp_path)
    assert SECRET.encode() not in everything
    assert b"/home/me" not in everything
    recording = read(tmp_path / private)
    assert recording.end.signal == "SIGSEGV"
    assert recording.cells[0].source.count("\n") == 1, "line numbers still mean something"
    assert recording.namespaces[0].objects[0].bytes == 5 << 20
    assert "It does not contain your code" in capsys.readouterr().out


def test_an_export_with_code_is_the_whole_recording(private, data_root, tmp_path):
    target = tmp_path / "report.zip"

    main(["export", private, "--with-code", "-o", str(target)])

    with zipfile.ZipFile(target) as archive:
        journal = archive.read(f"{private}/{layout.JOURNAL}")
    assert journal == (data_root / "recordings" / private / layout.JOURNAL).read_bytes()


def test_an_export_never_writes_over_a_file(private, tmp_path, capsys):
    target = tmp_path / "thesis.zip"
    target.write_text("years of work")

    assert main(["export", private, "-o", str(target)]) == 1

    assert target.read_text() == "years of work"
    assert "--output" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "export"])
def test_what_is_not_there(command, capsys):
    assert main([command]) == 1
    assert "There is no recording yet." in capsys.readouterr().err
    assert main([command, "nonsense"]) == 1
    assert "`jupyter kerneldoctor list`" in capsys.readouterr().err


def test_an_export_is_for_the_user_alone(private, tmp_path):
    main(["export", private, "--with-code", "--output", str(tmp_path / "it.zip")])
    assert (tmp_path / "it.zip").stat().st_mode & 0o777 == 0o600


def test_an_export_into_a_directory_has_its_usual_name(private, tmp_path):
    assert main(["export", private, "-o", str(tmp_path)]) == 0
    assert zipfile.is_zipfile(tmp_path / f"kerneldoctor-{private}.zip")


def test_an_export_says_where_it_is_wanted(private, tmp_path, monkeypatch, capsys):
    installed = tmp_path / "jupyter_kerneldoctor-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: jupyter_kerneldoctor\nVersion: 0\n"
        "Project-URL: Source, https://example.org/k\nProject-URL: Issues, https://example.org/k/issues\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    main(["export", private, "-o", str(tmp_path)])

    assert "attach it to an issue at https://example.org/k/issues." in capsys.readouterr().out

    metadata = installed / "METADATA"
    metadata.write_text(metadata.read_text().replace("example.org/k", "github.com/OWNER/k"))
    main(["export", private, "-o", str(tmp_path / "another.zip")])
    assert "attach it to your issue." in capsys.readouterr().out


def test_an_export_says_in_which_file_it_lies_and_lists_there_what_was_left_out(private, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    main(["export", private])

    written = tmp_path / f"kerneldoctor-{private}.zip"
    text = capsys.readouterr().out
    assert text.startswith(f"Wrote {written} with the recording")
    assert "`left-out.txt` in that file lists them" in text
    with zipfile.ZipFile(written) as archive:
        fields = archive.read(f"{private}/left-out.txt").decode().splitlines()
    assert {"cell_start.source", "output.text", "namespace.objects"} <= set(fields)
    assert f"{len(fields)} fields of what was recorded" in text


def test_an_export_with_code_leaves_nothing_out(private, tmp_path):
    main(["export", private, "--with-code", "-o", str(tmp_path / "all.zip")])

    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert f"{private}/left-out.txt" not in archive.namelist()


def test_frames_of_cells_are_named_as_the_user_knows_them(data_root, capsys):
    source = "def f():\n    pass\nf()"
    recording_id = write_recording(1, source=source)
    frames = [
        {"file": "/usr/lib/python3.11/threading.py", "line": 320, "function": "wait"},
        {"file": f"/tmp/ipykernel_4711/{murmur2(source)}.py", "line": 3, "function": "<module>"},
    ]
    stack = {"event": "stack", "mono_s": 101.5, "reason": "asked", "threads": [{"main": True, "frames": frames}]}
    stuck = {"event": "stuck", "mono_s": 101.6, "since_mono_s": 90.0, "threads": [{"main": True, "frames": frames}]}
    JsonLines(data_root / "recordings" / recording_id / layout.JOURNAL).write(stack, stuck)

    main(["show", recording_id])

    text = capsys.readouterr().out
    assert text.count("wait (python3.11/threading.py:320) < <module> (cell [1], line 3)") == 2
    assert "ipykernel_4711" not in text


def test_what_the_server_saw_cannot_command_the_terminal(private, data_root, capsys):
    failed = {"event": "start_failed", "never_ready": True, "error": "\x1b]52;c;ZXZpbA==\x07"}
    (data_root / "recordings" / private / layout.SERVER).unlink()
    JsonLines(data_root / "recordings" / private / layout.SERVER).write(failed)

    main(["show", private])

    assert "never became ready" in (text := capsys.readouterr().out)
    assert not {"\x1b", "\x07"} & set(text)
