"""Kyutai's own Moshi server (PyPI `moshi`) on a model of random weights, 0.7 million of them, made here each time.

    python -m fakes.moshi_outside.server

prints its port once it listens. What it says means nothing; that it hears, answers each step and ends is Kyutai's code.
"""

from __future__ import annotations

import copy
import json
import random
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from fakes.outside_port import tell_port
from moshi.models import loaders
from safetensors.torch import save_file

TEXT_CARD = 32  # fewer than the pieces of the tokenizer: an id beyond them ends the connection
WORDS = "yes no good day one two three table evening please book thanks right what when who here there".split()


def write_mimi(folder: Path) -> None:
    """The codec: small filters and one layer, at Moshi's own rates."""
    config = copy.deepcopy(loaders._mimi_config)
    config["seanet"].update(n_filters=8, dimension=64)
    config["quantizer"].update(dimension=32, bins=64, input_dimension=64, output_dimension=64)
    layers = {"d_model": 64, "num_heads": 4, "num_layers": 1, "dim_feedforward": 128}
    config["transformer"].update(**layers, input_dimension=64, output_dimensions=[64])
    (folder / "mimi.json").write_text(json.dumps(config))
    save_weights(loaders.get_mimi(None, config), folder / "mimi.safetensors")


def write_language_model(folder: Path) -> None:
    """The language model, whose config names the codec's."""
    config = dict(loaders._lm_kwargs)
    config.update(dim=64, num_heads=4, num_layers=1, card=64, text_card=TEXT_CARD, context=100, hidden_scale=2.0)
    config.update(depformer_dim=32, depformer_dim_feedforward=64, depformer_num_heads=2, depformer_num_layers=1)
    model = loaders.get_moshi_lm(None, config, dtype=torch.float32)
    for weights in model.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=0.05)
    save_weights(model, folder / "moshi.safetensors")
    named = {"mimi_config_name": f"file://{folder / 'mimi.json'}"}
    (folder / "config.json").write_text(json.dumps(config | named))


def write_tokenizer(folder: Path) -> None:
    """Pieces of a few words."""
    draw = random.Random(0)
    text = folder / "words.txt"
    text.write_text("\n".join(" ".join(draw.choices(WORDS, k=8)) for _ in range(2000)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "pieces"),
        vocab_size=64,
        hard_vocab_limit=False,
        minloglevel=2,
        pad_id=3,
    )


def save_weights(model: Any, path: Path) -> None:
    save_file({name: weights.contiguous().clone() for name, weights in model.state_dict().items()}, path)


def main() -> None:
    port = tell_port()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.cuda.synchronize = lambda *_: None  # the server calls it without asking for CUDA
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        folder = Path(name)
        write_mimi(folder)
        write_language_model(folder)
        write_tokenizer(folder)
        files = {"config-path": "config.json", "moshi-weight": "moshi.safetensors", "mimi-weight": "mimi.safetensors"}
        given = {flag: str(folder / file) for flag, file in files.items()}
        given |= {"tokenizer": str(folder / "pieces.model"), "device": "cpu", "static": "none"}
        given |= {"host": "127.0.0.1", "port": str(port)}
        sys.argv = ["moshi.server", *(part for flag, value in given.items() for part in (f"--{flag}", value))]
        runpy.run_module("moshi.server", run_name="__main__")


if __name__ == "__main__":
    main()
