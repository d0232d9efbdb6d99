"""Tasks of a cluster that a cell waits for: whether one runs, and what they ask for that no node has."""

import re
from collections.abc import Iterable

from jupyter_kerneldoctor.recording.events import ChildState
from jupyter_kerneldoctor.recording.model import Recording

from .last_look import written

SCHEDULED_S = 20.0
"""A scheduler has started the processes of a task by then."""

_NOT_SCHEDULED = re.compile(
    r"has not accepted any resources|No available node types can fulfill[^.\n]*|cannot be scheduled right now"
)
"""What Spark's and Ray's schedulers say of tasks that no node can run."""
_RAYS_TASK = re.compile(r"ray::(?!IDLE|Dashboard|RuntimeEnv)")
"""What Ray names a process that runs a task or an actor; the others wait for one, or serve Ray."""
_RESOURCES = re.compile(
    r"\b(?:remote|options)\([^)\n]{0,200}?\b((?:num_gpus|num_cpus|resources|memory)\s*=\s*(?:\{[^}\n]*\}|[\w.* ]+))"
)


def runs_a_task(children: Iterable[ChildState]) -> bool:
    """Whether a process of Ray on this machine is named for a task or an actor that it runs."""
    return any(_RAYS_TASK.match(one.name or "") for one in children if one.state != "Z")


def wanted_resources(recording: Recording, children: Iterable[ChildState]) -> str | None:
    """Return what the tasks ask for, or what the scheduler says; None where neither tells that they cannot run."""
    if (found := _NOT_SCHEDULED.search(written(recording))) is not None:
        return found[0]
    if all(one.name != "raylet" for one in children):
        return None  # its cluster is on other machines: what runs there is not seen
    asked = (_RESOURCES.search(one.source) for one in reversed(recording.cells))
    return next((one[1] for one in asked if one is not None), None)
