"""What is asked and answers later: language models, speech recognisers, synthesisers; a file each.

May import: _ext, audio, runtime.
"""
