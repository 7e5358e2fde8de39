"""Works on a Ray cluster, and keeps calls in an object store; an address loads it, no package imports it.

May import: models, recording, runs, runtime, session, sources.
"""
