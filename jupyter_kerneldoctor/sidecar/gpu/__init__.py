"""NVIDIA cards, read through NVML (docs.nvidia.com/deploy/nvml-api) by a thread of its own.

Without a driver nothing of it is imported but `driver`.
"""
