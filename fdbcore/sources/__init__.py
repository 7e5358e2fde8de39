"""Turns what a user names (files, folders, lists, labels) into sessions to replay.

May import: _ext, audio, recording, runtime.
"""
