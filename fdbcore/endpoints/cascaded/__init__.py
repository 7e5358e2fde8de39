"""A cascaded system: voice activity, a transcriber, a language model and a speaker, each of the user's choice.

`settings` reads which ones, `answer` makes an answer beside the ticks, `party` takes a side of the loop.

May import: _ext, audio, models, recording, runtime, sources.
"""
