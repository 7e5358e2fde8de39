"""The process that this is: its helpers, its network, its machine, its files written whole, its secrets.

May import: nothing.
"""
