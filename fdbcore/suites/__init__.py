"""The published benchmarks: a package each.

May import: _ext, analysis, audio, endpoints, measures, models, recording, report, results, runs, runtime, session, sources, stats, worlds.
"""  # noqa: E501
