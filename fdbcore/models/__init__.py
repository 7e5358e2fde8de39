"""Language models, speech transcribers and synthesisers, which answer outside the ticks; a file each.

May import: _ext, audio, runtime.
"""

from fdbcore.doors import door

__getattr__ = door(__name__)
