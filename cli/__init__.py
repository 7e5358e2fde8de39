"""The command line, installed as `fdbcore.cli`. One file per command.

May import: all others.
"""
