"""Intervals, tests and distances of numbers that know nothing of conversations.

May import: _ext.
"""
