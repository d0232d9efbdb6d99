"""Reads the Python stacks of the kernel from outside, without stopping it and without its help.

Where CPython keeps what in memory differs between versions and builds. The sidecar runs the kernel's own interpreter:
so `learn` looks at its own objects, once, and the `Layout` it finds holds for the kernel.
"""
