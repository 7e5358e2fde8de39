"""The published benchmarks: a package each.

May import: _ext, audio, models, recording, report, runs, runtime, session, sources, stats.
"""
