"""The parties that can take a side of the loop: a file each, or a package if one is large.

May import: _ext, audio, models, recording, runtime, sources.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
