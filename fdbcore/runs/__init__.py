"""Runs: recorded conversations replayed, and live ones held, one or thousands.

May import: analysis, audio, endpoints, measures, recording, report, runtime, session, sources.
"""
