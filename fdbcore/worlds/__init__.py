"""Answers to the tool calls of a system, outside the ticks: the tools of a file, and seeded latencies.

May import: runtime.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
