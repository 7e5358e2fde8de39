"""The parties that can sit on a side of the loop: a file each, a package where one is large.

May import: _ext, audio, models, recording, runtime, sources.
"""
