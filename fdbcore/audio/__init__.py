"""Audio files and bytes: decoding, codecs, containers, levels.

May import: _ext.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
