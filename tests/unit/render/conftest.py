"""A document as `report --json` prints it, for every renderer."""

import copy

import pytest

GIB = 1024**3

SOURCE = (
    "for x, y in loader:\n    loss = criterion(model(x), y)\n    losses.append(loss)\nprint(sum(losses) / len(losses))"
)

DOCUMENT = {
    "recording": "20261121T140211Z-4711-ab12cd",
    "kernel_id": "5f0c1a52-7a4b-4f0e-9d1c-1d2f3a4b5c6d",
    "pid": 4711,
    "notebook": "/home/ada/train_cnn.ipynb",
    "started": "2026-11-21T14:02:11.000+00:00",
    "ended": "2026-11-21T14:03:08.200+00:00",
    "state": "died",
    "died": True,
    "loaded_by": "magic",
    "end": {
        "kind": "signal",
        "signal": "SIGKILL",
        "exit_code": None,
        "summary": "Killed by Linux at the container limit",
    },
    "cause": "oom-cgroup",
    "confidence": 0.98,
    "certainty": "proven",
    "general": False,
    "headline": "The kernel ran out of memory in cell [8]: it needed more than the 4.0 GiB this container may use.",
    "story": "Cell [8] began with 2.4 GiB in use and grew by 53 MiB a step for 31 steps, until 4.0 GiB.",
    "causes": [
        {
            "id": "oom-cgroup",
            "title": "Out of memory: the container's limit",
            "confidence": 0.98,
            "certainty": "proven",
            "docs": "kerneldoctor/docs/causes/oom-cgroup",
            "evidence": [
                {
                    "text": "Linux counted one out-of-memory kill in this container before the death.",
                    "value": 1,
                    "unit": "kills",
                    "source": "/sys/fs/cgroup/memory.events oom_kill",
                },
                {
                    "text": "The container may use 4.0 GiB.",
                    "value": 4 * GIB,
                    "unit": "bytes",
                    "source": "/sys/fs/cgroup/memory.max",
                },
                {"text": "The kernel ended by SIGKILL.", "value": "SIGKILL", "unit": None, "source": "pidfd"},
            ],
        },
        {
            "id": "killed-externally",
            "title": "Killed by someone else",
            "confidence": 0.25,
            "certainty": "weak",
            "docs": "",
            "evidence": [],
        },
    ],
    "ruled_out": ["Not a crash in native code: there was no fatal signal and there are no last words."],
    "cell": {
        "execution_count": 8,
        "cell_id": "c8",
        "source": SOURCE,
        "truncated": False,
        "line": 3,
        "line_source": "    losses.append(loss)",
    },
    "fixes": [
        {
            "id": "detach-accumulated-loss",
            "title": "Keep the number, not the graph",
            "why": "`losses.append(loss)` keeps every step's computation graph alive: 31 steps of 53 MiB.",
            "applicability": "suggested",
            "snippet": None,
            "edits": [
                {
                    "execution_count": 8,
                    "cell_id": "c8",
                    "old_source": SOURCE,
                    "new_source": SOURCE.replace("(loss)", "(loss.item())"),
                    "diff": "--- cell [8]\n+++ cell [8]\n@@ -1,4 +1,4 @@\n for x, y in loader:\n"
                    "     loss = criterion(model(x), y)\n-    losses.append(loss)\n+    losses.append(loss.item())\n"
                    " print(sum(losses) / len(losses))\n",
                }
            ],
            "explained_bytes": int(1.6 * GIB),
            "expected_peak_bytes": {"low": int(2.4 * GIB), "high": int(2.6 * GIB), "basis": "estimated"},
            "docs": "kerneldoctor/docs/fixes/detach-accumulated-loss",
        },
        {
            "id": "reduce-batch-size",
            "title": "Use a smaller batch",
            "why": "Memory grows with the size of a batch.",
            "applicability": "advice",
            "snippet": "loader = DataLoader(train, batch_size=32)",
            "edits": [],
            "explained_bytes": None,
            "expected_peak_bytes": {"low": None, "high": 3 * GIB, "basis": "at-most"},
            "docs": "kerneldoctor/docs/fixes/reduce-batch-size",
        },
    ],
    "incidents": [],
    "timeline": {
        "started": "2026-11-21T14:02:11.000+00:00",
        "samples": {
            "t_s": [0.0, 2.0, 3.0, 9.0, 9.5, 16.0, 17.0, 27.0, *[28.0 + step for step in range(30)]],
            "memory_bytes": [
                int(gib * GIB)
                for gib in (0.2, 0.2, 0.9, 0.9, 1.9, 1.9, 2.4, 2.4, *[2.4 + step * 0.053 for step in range(30)])
            ],
        },
        "limit": {"bytes": 4 * GIB, "name": "container limit", "source": "/sys/fs/cgroup/memory.max"},
        "cells": [
            {"execution_count": 5, "start_s": 3.0, "end_s": 9.0},
            {"execution_count": 6, "start_s": 9.2, "end_s": 15.5},
            {"execution_count": 7, "start_s": 16.0, "end_s": 27.0},
            {"execution_count": 8, "start_s": 28.0, "end_s": None},
        ],
        "death_s": 57.2,
    },
}


@pytest.fixture
def doc():
    return copy.deepcopy(DOCUMENT)
