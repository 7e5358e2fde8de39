"""The figures of a benchmark: a suite hands over items, and they are pooled, compared and counted as passing here.

May import: stats.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
