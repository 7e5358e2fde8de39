"""Measures of one recording, as pure functions. `analysis` pools their quantities over recordings.

May import: _ext, recording, session, sources.
"""
