"""One small process per kernel: it samples, watches the death, and keeps what it saw on disk.

It shares the kernel's memory limit, so it imports little: no asyncio, no psutil where /proc tells all.
"""
