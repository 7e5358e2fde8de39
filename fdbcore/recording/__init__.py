"""A conversation, and a run of conversations, on disk.

May import: audio, runtime.
"""
