"""A post-mortem for people. Each renderer takes the JSON document that the command line and REST give.

The renderers are imported one by one: `terminal` needs rich, the others only the standard library.
"""
