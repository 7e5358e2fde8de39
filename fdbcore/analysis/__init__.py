"""Analyses of many sessions: scores with intervals, comparisons of groups and runs, gates, agreement.

May import: audio, endpoints, measures, models, recording, runtime, session, sources, stats.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
