"""Confidence intervals, tests and distances. Knows nothing of conversations.

May import: _ext.
"""
