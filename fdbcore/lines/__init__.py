"""Impairments on the way from one side of a call to the other: noise, voices, a telephone, packets that are lost.

May import: _ext, audio, models, runtime.
"""
