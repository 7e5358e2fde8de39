"""A recorded conversation, and a run of many, on disk.

May import: audio, runtime.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
