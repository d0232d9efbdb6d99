"""Reads the Python stacks of the kernel from outside, without stopping it and without its help.

Where CPython keeps what in memory differs between versions and builds. So the same interpreter examines its own
objects once, in a child process (`discovery_process`), and the `Layout` it finds holds for the kernel.
"""
