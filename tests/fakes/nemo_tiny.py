"""Makes a tiny FastConformer-TDT in the form of Parakeet's, and saves it: run it with the Python of `make nemo`.

    python -m fakes.nemo_tiny FILE.nemo [STEPS [SIZE]]

It learns half of the language of `fakes.fake_transcriptions`, in which each word is a tone, in a minute or two: where a
tone begins it says the word, and nothing elsewhere. NeMo's own loss of this kind loops in Python and takes seconds a
step, so what each frame should say is learned instead. A model that learns for 0 steps has random weights, says nothing
and looks at every frame; with SIZE "parakeet" it is as large as Parakeet-TDT 0.6B: `python -m benchmarks asr` times it.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from fakes.fake_transcriptions import VOCABULARY, Word, spoken

RATE_HZ: Final = 16_000
DURATIONS: Final = [0, 1, 2, 3, 4]
FRAME_S: Final = 0.08
BATCH: Final = 8
WORDS: Final = VOCABULARY[1::2]
"""The words that it learns: their tones are 200 Hz apart."""


SIZES: Final = {
    "tiny": {"width": 64, "layers": 2, "channels": 32, "heads": 4, "predicted": 64, "predictors": 1},
    "small": {"width": 256, "layers": 8, "channels": 256, "heads": 4, "predicted": 320, "predictors": 1},
    "parakeet": {"width": 1024, "layers": 24, "channels": 256, "heads": 8, "predicted": 640, "predictors": 2},
}
"""Sizes of models: those of the encoder, and of the network that predicts from what was said before."""


def config(
    tokenizer: Path, width: int, layers: int, channels: int, heads: int, predicted: int, predictors: int
) -> dict[str, Any]:
    """The configuration of a model of one of SIZES. tokenizer: the folder of its tokenizer."""
    modules = "nemo.collections.asr.modules"
    return {
        "sample_rate": RATE_HZ,
        "compute_eval_loss": False,
        "model_defaults": {
            "enc_hidden": width,
            "pred_hidden": predicted,
            "joint_hidden": predicted,
            "tdt_durations": DURATIONS,
            "num_tdt_durations": len(DURATIONS),
        },
        "tokenizer": {"dir": str(tokenizer), "type": "bpe"},
        "preprocessor": {
            "_target_": f"{modules}.AudioToMelSpectrogramPreprocessor",
            "sample_rate": RATE_HZ,
            "normalize": "per_feature",
            "window_size": 0.025,
            "window_stride": 0.01,
            "window": "hann",
            "features": 128,
            "n_fft": 512,
            "dither": 0.0,
            "pad_to": 0,
        },
        "encoder": {
            "_target_": f"{modules}.ConformerEncoder",
            "feat_in": 128,
            "feat_out": -1,
            "n_layers": layers,
            "d_model": width,
            "use_bias": False,
            "subsampling": "dw_striding",
            "subsampling_factor": 8,
            "subsampling_conv_channels": channels,
            "ff_expansion_factor": 4,
            "self_attention_model": "rel_pos",
            "n_heads": heads,
            "att_context_size": [-1, -1],
            "xscaling": False,
            "untie_biases": True,
            "pos_emb_max_len": 5000,
            "conv_kernel_size": 9,
            "conv_norm_type": "batch_norm",
            "dropout": 0.0,
            "dropout_pre_encoder": 0.0,
            "dropout_emb": 0.0,
            "dropout_att": 0.0,
        },
        "decoder": {
            "_target_": f"{modules}.RNNTDecoder",
            "normalization_mode": None,
            "random_state_sampling": False,
            "blank_as_pad": True,
            "prednet": {"pred_hidden": predicted, "pred_rnn_layers": predictors, "t_max": None, "dropout": 0.0},
        },
        "joint": {
            "_target_": f"{modules}.RNNTJoint",
            "log_softmax": None,
            "preserve_memory": False,
            "fuse_loss_wer": True,
            "fused_batch_size": 4,
            "num_extra_outputs": len(DURATIONS),
            "jointnet": {"joint_hidden": predicted, "activation": "relu", "dropout": 0.0},
        },
        "decoding": {
            "strategy": "greedy_batch",
            "model_type": "tdt",
            "durations": DURATIONS,
            "greedy": {"max_symbols": 10},
        },
        "loss": {"loss_name": "tdt", "tdt_kwargs": {"durations": DURATIONS, "sigma": 0.02, "omega": 0.1}},
        "optim": {"name": "adamw", "lr": 0.001},
    }


def write_tokenizer(folder: Path) -> None:
    """A tokenizer with a token for each word of the language, in the form that NeMo reads."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(WORDS)] * 4),
        model_prefix=str(folder / "tokenizer"),
        vocab_size=64,
        model_type="bpe",
        hard_vocab_limit=False,
        user_defined_symbols=[f"\u2581{word}" for word in WORDS],
        bos_id=-1,
        eos_id=-1,
        minloglevel=2,
    )
    known = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    pieces = [known.id_to_piece(number) for number in range(known.get_piece_size())]
    bare = [piece[1:] if piece.startswith("\u2581") else f"##{piece}" for piece in pieces if piece != "<unk>"]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in bare))


def made(folder: Path, size: str) -> Any:
    """A model with random weights. folder: for its tokenizer."""
    import torch
    from nemo.collections.asr.models import EncDecRNNTBPEModel
    from omegaconf import OmegaConf

    torch.manual_seed(1)
    write_tokenizer(folder)
    return EncDecRNNTBPEModel(OmegaConf.create(config(folder, **SIZES[size])))


def sentence(random: np.random.Generator, length_s: float) -> list[Word]:
    """Words with pauses, all of them within this length. None begins near the middle between two frames."""
    words: list[Word] = []
    at_s = random.uniform(0.3, 1.5)
    while True:
        start_s = (round(at_s / FRAME_S) + random.uniform(-0.25, 0.4)) * FRAME_S
        end_s = start_s + random.uniform(0.35, 0.55)
        if end_s > length_s - 0.3:
            return words
        words.append(Word(str(random.choice(WORDS)), start_s, end_s))
        at_s = end_s + random.choice([random.uniform(0.1, 0.3), random.uniform(0.3, 1.5)])


def teach(model: Any, steps: int) -> float:
    """Let it learn, and return the share of frames of the last sentences at which it says what it should."""
    import torch

    random, right = np.random.default_rng(1), 0.0
    joint, tokenizer = model.joint, model.tokenizer
    blank = joint.num_classes_with_blank - 1 - len(DURATIONS)
    with torch.no_grad():
        joint.pred.weight.zero_()  # what was said before does not matter in this language
        joint.pred.bias.zero_()
    joint.pred.requires_grad_(False)
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    ids = {word: tokenizer.text_to_ids(word)[0] for word in WORDS}
    model.train()
    for _ in range(steps):
        length_s = float(random.uniform(2.0, 24.0))
        sentences = [sentence(random, length_s) for _ in range(BATCH)]
        audio = torch.tensor(np.stack([spoken(words, length_s) for words in sentences]) / 32768, dtype=torch.float32)
        lengths = torch.full((BATCH,), audio.shape[1])
        encoded, _ = model(input_signal=audio, input_signal_length=lengths)
        frames = encoded.transpose(1, 2)  # (batch, frames, width)
        logits = joint.joint_net(joint.enc(frames))  # (batch, frames, tokens + blank + durations)
        tokens = torch.full(frames.shape[:2], blank)
        for row, words in enumerate(sentences):
            for word in words:
                tokens[row, round(word.start_s / FRAME_S)] = ids[word.text]
        lasts = torch.where(tokens == blank, 1, DURATIONS[-1])
        said, kept = logits[..., : blank + 1], logits[..., blank + 1 :]
        weight = torch.ones(blank + 1)
        weight[blank] = 0.3
        loss = torch.nn.functional.cross_entropy(said.flatten(0, 1), tokens.flatten(), weight)
        loss = loss + torch.nn.functional.cross_entropy(kept.flatten(0, 1), lasts.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        right = float((said.argmax(-1) == tokens).float().mean())
    model.eval()
    return right


def silence(model: Any) -> None:
    """Let a model say nothing, and go on by one frame each time."""
    import torch

    with torch.no_grad():
        bias = model.joint.joint_net[-1].bias
        blank = model.joint.num_classes_with_blank - 1 - len(DURATIONS)
        bias[blank] += 100.0
        bias[blank + 1 + DURATIONS.index(1)] += 100.0


def main(path: str, steps: str = "220", size: str = "tiny") -> None:
    """Make it, teach it, save it."""
    with TemporaryDirectory() as folder:
        model = made(Path(folder), size)
        if int(steps):
            print(f"right at {teach(model, int(steps)):.1%} of the frames", flush=True)
        else:
            silence(model)
            print(sum(each.numel() for each in model.parameters()), flush=True)
        model.save_to(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
