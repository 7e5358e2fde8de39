"""Turns what a user names (files, folders, lists, labels) into sessions to replay.

May import: _ext, audio, recording, runtime.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
