"""Measures of one recording, as pure functions. `analysis` pools their quantities over recordings.

May import: _ext, models, recording, session, sources.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
