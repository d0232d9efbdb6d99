"""Commands of a shell that signal the kernel: which text is one, and whether it is sure to run."""

import pytest

from jupyter_kerneldoctor.diagnosis.code.ending_calls import ending_calls
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.diagnosis.code.shell import shell_kills
from jupyter_kerneldoctor.recording.model import Cell


def only(script):
    (found,) = shell_kills(script)
    return found


@pytest.mark.parametrize(
    ("script", "signal"),
    [
        ("kill $PPID", "SIGTERM"),
        ("kill -9 ${PPID}", "SIGKILL"),
        ("/bin/kill -s HUP $PPID", "SIGHUP"),
        ("sudo kill -SIGINT $PPID 2>/dev/null", "SIGINT"),
        ("me=$PPID\nkill -KILL $me", "SIGKILL"),
        ("bash -c 'kill -9 $PPID'", "SIGKILL"),
        ("kill -9 \\\n  $PPID", "SIGKILL"),
        ("cat <<END\nkill 1\nEND\nkill -9 $PPID", "SIGKILL"),
    ],
)
def test_a_shells_parent_is_the_kernel(script, signal):
    found = only(script)
    assert (found.signal, found.certain) == (signal, True)


@pytest.mark.parametrize(
    "script",
    [
        "# stop me with: kill -9 $PPID",
        "sleep 1  # or kill -9 $PPID",
        "echo 'kill -9 $PPID'",
        "echo 'use\nkill -9 $PPID\nto stop me'",
        "cat > stop.sh <<'END'\nkill -9 $PPID\nEND",
        "pid=$(cat job.pid)\nkill -9 $pid",
        "kill -0 $PPID",
        "kill -9 $$",
        "ps -p $PPID",
        "echo 'never closed\nkill -9 $PPID",
    ],
)
def test_words_about_a_kill_are_none(script):
    assert list(shell_kills(script)) == []


@pytest.mark.parametrize(
    "script",
    [
        "if [ -e stop ]; then kill -9 $PPID; fi",
        "test -e stop && kill -9 $PPID",
        "(sleep 5; kill -9 $PPID) & sleep 99",
        "stop() { kill -9 $PPID; }",
        "while true; do\n  kill -9 $PPID\ndone",
        "case $1 in stop) kill -9 $PPID ;; esac",
    ],
)
def test_what_need_not_run_is_not_certain(script):
    assert not only(script).certain


def test_what_takes_time_before_it_is_noticed():
    assert only("set -e\necho bye\nkill -9 $PPID").prompt
    assert not only("make all; kill -9 $PPID").prompt


def in_cells(*sources):
    cells = [Cell(source) for source in sources]
    return [(call.line, call.signal, call.certain, call.prompt) for call in ending_calls(Notebook(cells, cells[-1]))]


def test_a_cell_in_bash_keeps_its_lines():
    assert in_cells("%%bash\n\nsleep 9\nkill -9 $PPID") == [(4, "SIGKILL", True, False)]
    assert in_cells("%%script zsh\nkill -9 $PPID") == [(2, "SIGKILL", True, True)]
    assert in_cells("%%script perl\nkill -9 $PPID") == []


def test_a_line_of_a_shell_is_reached_like_any_other_statement():
    assert in_cells("x = 1\n!kill -9 $PPID") == [(2, "SIGKILL", True, True)]
    assert in_cells("train()\n!kill -9 $PPID") == [(2, "SIGKILL", True, False)]
    assert in_cells("if bad:\n    !kill -9 $PPID") == [(2, "SIGKILL", False, True)]


@pytest.mark.parametrize(
    "command",
    [
        "!kill -9 {os.getpid()}",
        "!kill -9 {me}",
        "!kill -9 $me",
        "os.system(f'kill -9 {me}')",
        "os.system('kill -9 %d' % os.getpid())",
        "os.popen('kill -9 {}'.format(me))",
        "subprocess.run('kill -9 ' + str(me), shell=True)",
        "subprocess.check_output(['bash', '-c', 'kill -9 $PPID'])",
    ],
)
def test_the_kernels_own_id_is_known_in_every_spelling(command):
    assert in_cells("import os, subprocess\nme = os.getpid()", command) == [(1, "SIGKILL", True, True)]


@pytest.mark.parametrize("command", ["!kill -9 {me}", "!kill -9 $me", "os.system(f'kill -9 {me}')"])
def test_another_process_of_that_name_is_not_the_kernel(command):
    assert in_cells("import os\nme = child.pid", command) == []
    assert in_cells("import os", command) == []
