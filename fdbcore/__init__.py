"""Run, replay and score full-duplex spoken conversations on one media clock."""

from importlib.metadata import version as _version

__version__ = _version("fdbcore")
