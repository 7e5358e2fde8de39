"""This process's access to the system: addresses, helper processes, network, locks, atomic files, secrets.

May import: _ext.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
