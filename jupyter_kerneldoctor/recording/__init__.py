"""The on-disk format of a recording: what is written, how it is read. Imports nothing else of KernelDoctor.

The modules are imported one by one, not re-exported here, so that the sidecar loads only the writer.
"""
