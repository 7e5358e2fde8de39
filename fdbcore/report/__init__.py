"""Screens, pages, tables and figures that show the results of `measures` and `analysis`.

May import: analysis, audio, measures, recording, runtime, sources, stats.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
