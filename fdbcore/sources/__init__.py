"""What a user names: files, folders, lists and labels, as sessions to be replayed.

May import: _ext, audio, recording.
"""
