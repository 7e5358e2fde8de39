"""Replays recorded conversations and holds live ones, one or thousands.

May import: analysis, audio, endpoints, lines, measures, models, recording, report, runtime, session, sources.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
