"""Confidence intervals, tests and distances. Knows nothing of conversations.

May import: _ext.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
