"""What people look at: screens, pages, tables and figures of what `measures` and `analysis` found.

May import: analysis, audio, measures, recording, runtime, sources, stats.
"""
