"""Defines what a recording holds beside cells, samples and the end: a class for each kind of event, or part of one.

As in `model`: bytes are `int` and named `*_bytes`, `*_s` are seconds, None means "not known", never zero.
"""

from .gpus import Framework, Gpu, GpuDriver, GpuProcess, GpuSample, Xid
from .growth import Growth, StatementGrowth
from .incidents import Child, Incident, Output, ThreadError
from .objects import Held, NamedObject, Namespace
from .stacks import ChildState, Frame, Stack, Stuck, ThreadStack
from .system_state import FileSystem, Neighbour, Rlimit, SystemState

__all__ = [
    "Child",
    "ChildState",
    "FileSystem",
    "Frame",
    "Framework",
    "Gpu",
    "GpuDriver",
    "GpuProcess",
    "GpuSample",
    "Growth",
    "Held",
    "Incident",
    "NamedObject",
    "Namespace",
    "Neighbour",
    "Output",
    "Rlimit",
    "Stack",
    "StatementGrowth",
    "Stuck",
    "SystemState",
    "ThreadError",
    "ThreadStack",
    "Xid",
]
