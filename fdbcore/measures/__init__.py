"""Measures of one recording: pure functions of it, whose quantities `analysis` pools.

May import: _ext, recording, session, sources.
"""
