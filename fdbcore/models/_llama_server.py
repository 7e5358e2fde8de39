"""Serves a language model with OpenAI's interface: a program that `fdbcore.models.local` runs in a process of its own.

    _llama_server.py FILE.gguf NAME THREADS > "http://127.0.0.1:PORT", once it can be asked

It ends when its standard input does, so that it outlives no process that has started it, however that one ends.
"""

import os
import sys
from typing import Final

CONTEXT_TOKENS: Final = 4096
MOST_TOKENS: Final = 400
"""Of an answer: a small model may repeat itself without an end."""

_ERRORS_ONLY: Final = 1


def main(path: str, name: str, threads: int) -> None:
    """Serve until the end of the standard input."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.model_alias = {name}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.ui = False
    settings.offline = True
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.n_predict = MOST_TOKENS
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.cache_ram_mib = 0
    # By chance a model of this size writes fiction; without the penalty it says one sentence again and again.
    settings.sampling.temp, settings.sampling.penalty_repeat = 0.0, 1.1
    settings.verbosity = _ERRORS_ONLY
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(0)  # its threads would go on with what they are asked


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
