"""A recorded conversation, and a run of many, on disk.

May import: audio, runtime.
"""
