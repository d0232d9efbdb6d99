"""Writes and reads recordings, the format on disk. Imports nothing else of KernelDoctor.

Nothing is re-exported here, so that the sidecar loads only what it needs for writing.
"""
