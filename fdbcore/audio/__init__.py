"""Audio files and bytes: decoding, codecs, containers, levels.

May import: _ext.
"""
