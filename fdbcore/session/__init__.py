"""One conversation: the loop, voice activity and turn events.

May import: _ext, recording, runtime.
"""
