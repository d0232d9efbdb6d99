"""Crashes in native code."""
