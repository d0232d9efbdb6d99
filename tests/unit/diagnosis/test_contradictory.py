"""Recordings whose every part is well formed, and which make no sense together: any fact beside any other."""

from __future__ import annotations

import json
from dataclasses import is_dataclass, replace
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.explore import examples

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording import events as seen
from jupyter_kerneldoctor.recording.model import (
    Cell,
    End,
    ExitRequest,
    Kernel,
    Limit,
    Recording,
    ServerView,
)
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.samples import Sample

SIGNALS = ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGTERM", "SIGFPE", "SIGILL", "SIGXCPU", "SIGALRM", "SIGHUP"]
SAYINGS = [
    "",
    "OMP: Error #15: Initializing libiomp5.so, but found libiomp5.so already initialized.\n",
    "double free or corruption (out)\n",
    "terminate called after throwing an instance of 'std::bad_alloc'\n",
    "Intel MKL FATAL ERROR: Cannot load libmkl_avx512.so.\n",
    "CUDA error: out of memory",
    "Out of memory: Killed process 4242 (python)",
]
KINDS = ["memory-error", "torch-out-of-memory", "cuda-error", "worker-killed", "no-space", "no-threads", "nonsense"]
texts = st.sampled_from([*SIGNALS, *SAYINGS, *KINDS, "python3", "/dev/shm", "tmpfs", "futex_wait", "x" * 300])
seconds = st.floats(0, 1e6) | st.sampled_from([0.0, 1.0, 20.0, 20.1])
whole = st.integers(0, 50) | st.integers(-(1 << 62), 1 << 62)
sizes = st.integers(0, 1 << 50) | st.sampled_from([0, 1 << 30, 2 << 30])


def of(hint, name=""):
    """A strategy for all values of a type as `recording.decode` lets them through."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of(*(of(option, name) for option in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(of(arguments[0], name), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(
            st.sampled_from(["AS", "CPU", "NPROC", "cuda", "pid", "errno"]), of(arguments[1], name), max_size=3
        )
    if is_dataclass(hint):
        return made(hint)
    if hint is int:
        return sizes if name.endswith("bytes") else whole
    known = {float: seconds, str: texts, bool: st.booleans(), type(None): st.none()}
    return known.get(hint, st.just(ProcessIdentity(4242, 100.0, "boot")))


def made(kind):
    return st.builds(kind, **{name: of(hint, name) for name, hint in get_type_hints(kind).items()})


def several(kind):
    return st.lists(made(kind), max_size=2).map(tuple)


recordings = st.builds(
    Recording,
    id=st.just("20270115T080000Z-4242-a1b2c3"),
    kernel=made(Kernel),
    started_mono_s=seconds,
    started_wall_s=seconds,
    limits=several(Limit),
    cells=several(Cell),
    samples=st.lists(st.builds(Sample, seconds, *[st.none() | sizes] * (len(Sample._fields) - 1)), max_size=4).map(
        tuple
    ),
    exit_request=st.none() | made(ExitRequest),
    end=st.none() | made(End),
    server=made(ServerView) | st.just(ServerView()),
    crash_text=st.sampled_from(["", "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"]),
    output=several(seen.Output),
    stacks=several(seen.Stack),
    system_states=several(seen.SystemState),
    children=several(seen.Child),
    stuck=several(seen.Stuck),
    incidents=several(seen.Incident),
    namespaces=several(seen.Namespace),
    held=several(seen.Held),
    growths=several(seen.Growth),
    frameworks=several(seen.Framework),
    gpu_driver=st.none() | made(seen.GpuDriver),
    gpus=several(seen.Gpu),
    gpu_samples=several(seen.GpuSample),
    xids=several(seen.Xid),
    rebooted=st.none() | st.booleans(),
    alive=st.none() | st.booleans(),
)


@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(recordings)
def test_any_facts_together_get_one_answer(recorded):
    answer = diagnose(recorded)

    confidences = [finding.confidence for finding in answer.causes]
    assert confidences
    assert all(0 <= confidence <= 1 for confidence in confidences)
    assert confidences == sorted(confidences, reverse=True)
    assert answer.cause.headline.strip()
    json.dumps(answer.to_json(), allow_nan=False)

    # No end, no exit status, no word of the server, nothing said, no report: whatever else there is, it is a guess.
    unseen = replace(
        recorded, end=None, exit_request=None, server=ServerView(), crash_text="", output=(), incidents=(), alive=False
    )
    assert diagnose(unseen).cause.confidence < 0.9
