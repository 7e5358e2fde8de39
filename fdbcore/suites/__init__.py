"""The published benchmarks: a package each.

May import: _ext, audio, endpoints, measures, models, recording, report, runs, runtime, session, sources, stats.
"""
