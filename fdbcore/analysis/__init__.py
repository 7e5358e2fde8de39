"""What is said of many sessions: scores with intervals, groups and runs compared, gates, agreement.

May import: endpoints, measures, recording, runtime, session, sources, stats.
"""
