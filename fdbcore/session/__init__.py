"""One conversation: the loop, voice activity detection and turn events.

May import: _ext, recording, runtime.
"""
