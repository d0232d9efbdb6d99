"""A small process that samples a kernel, waits for its end, and records both on disk.

Each kernel that loads KernelDoctor has one; the others of a server share one (`shared`).

It shares the kernel's memory limit, so it imports little: no asyncio, and no psutil where there is /proc.
"""
