"""Whatever a recording holds, there is an answer, and no certainty from nothing."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from support.explore import examples

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.reader import assemble
from jupyter_kerneldoctor.recording.samples import Sample

numbers = st.one_of(
    st.integers(), st.floats(), st.sampled_from([0, -1, 10**30, float("nan"), float("inf"), -float("inf"), 1e308, True])
)
words = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["signal", "exit", "SIGKILL", "SIGSEGV", "message", "cell", "restart", "os.kill(os.getpid(), 9)"]),
    st.sampled_from(["import os\nos._exit(1)", "%%bash\nkill $PPID", "exit", "x = (", "\ud800", "\x00"]),
)
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(words, inner, max_size=4)),
    max_leaves=6,
)


def event(name, *keys, **fixed):
    return st.fixed_dictionaries({"event": st.just(name)}, optional=dict.fromkeys(keys, junk) | fixed)


groups = st.lists(
    st.fixed_dictionaries(
        {"path": words, "source": words},
        optional={
            name: st.one_of(junk, st.integers(0, 10**12))
            for name in (
                "oom_kills_before",
                "oom_kills_after",
                "limit_hits_before",
                "limit_hits_after",
                "usage_before_bytes",
                "limit_bytes",
            )
        },
    ),
    max_size=3,
)
limits = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["cgroup", "ram"]), "name": words, "bytes": numbers, "source": words}
    )
)
events = st.lists(
    st.one_of(
        event("start", "mono_s", "wall_s", "process", "sidecar", "kernel_id", "notebook", "versions", "ram_bytes"),
        event("limits", limits=st.one_of(junk, limits)),
        event(
            "cell_start",
            "seq",
            "execution_count",
            "cell_id",
            "truncated",
            "rss_before_bytes",
            mono_s=numbers,
            source=words,
        ),
        event("cell_end", "seq", "rss_after_bytes", "peak_bytes", "peak_basis", "error", "asked_exit", "mono_s"),
        event("exit_request", "by", "restart", "mono_s"),
        event("off"),
        event(
            "incident",
            "cell_seq",
            "frames",
            "asked_bytes",
            "numbers",
            "signature",
            "rss_bytes",
            kind=st.sampled_from(["memory-error", "worker-killed", "broken-pool", "cuda-error", "no-space", "odd"]),
            mono_s=numbers,
            error=words,
        ),
        event("child_end", "kind", "signal", "exit_code", "oom_kills", pid=st.integers(1, 9), mono_s=numbers),
        event("end", "kind", "signal", "exit_code", "source", mono_s=numbers, wall_s=numbers, cgroups=groups),
        event(
            "end", kind=words, signal=words, exit_code=numbers, mono_s=st.just(9.0), wall_s=st.just(9.0), cgroups=groups
        ),
        st.fixed_dictionaries({"event": words}, optional={"seq": junk}),
    ),
    max_size=12,
)
server_events = st.lists(
    st.one_of(event("request", "action", "wall_s"), event("exit", returncode=numbers), event("exit", "returncode")),
    max_size=3,
)
sizes = st.none() | st.integers(0, (1 << 63) - 1)
samples = st.lists(st.builds(Sample, st.floats(0, 1e9), *[sizes] * 6), max_size=8).map(tuple)
crashes = st.one_of(
    st.text(max_size=50),
    st.lists(
        st.sampled_from(
            [
                "Fatal Python error: Segmentation fault\n",
                "Fatal Python error: Aborted\n",
                "Current thread 0x1 (most recent call first):\n",
                '  File "x", line ??? in \n',
                '  File "<timed exec>", line 99999999999999999999 in f\n',
                "  ...\n",
            ]
        ),
        max_size=8,
    ).map("".join),
)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.builds(assemble, st.text(max_size=30), events, server_events=server_events, samples=samples, crash_text=crashes),
    st.sampled_from([True, False, None]),
)
def test_any_recording_gets_an_answer(recorded, alive):
    answer = diagnose(replace(recorded, alive=alive))
    assert answer.causes
    assert all(0 <= finding.confidence <= 1 for finding in answer.causes)
    json.dumps(answer.to_json(), allow_nan=False)
    json.dumps(answer.to_row())


@settings(max_examples=examples(100), deadline=None)
@given(samples, crashes, st.lists(event("cell_start", "seq", source=words), max_size=3))
def test_no_certainty_from_nothing(measured, crash, journal):
    recorded = assemble("x", journal, samples=measured, crash_text=crash)
    answer = diagnose(replace(recorded, alive=False))
    assert answer.cause.confidence <= 0.6
