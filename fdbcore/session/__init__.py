"""One conversation: the loop, voice activity detection and turn events.

May import: _ext, recording, runtime.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
