"""Reads NVIDIA cards through NVML (docs.nvidia.com/deploy/nvml-api), in a thread of its own.

Without a driver only `driver` is imported.
"""
