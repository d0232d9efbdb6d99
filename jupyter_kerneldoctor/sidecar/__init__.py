"""A small process for each kernel, which samples it, waits for its end, and records both on disk.

It shares the kernel's memory limit, so it imports little: no asyncio, and no psutil where there is /proc.
"""
