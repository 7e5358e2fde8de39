"""The options of scoring that benchmarks share; `judge_options` reads those about judges."""

from typing import Final

from fdbcore.types import Option

TRANSCRIBER: Final = Option(
    "--transcriber", "Take words from here: whisper, nemo, openai:MODEL, told, ...", several=True, metavar="ADDRESS"
)
VADS: Final = Option(
    "--vad", "Tell what moves with this voice activity detector.", several=True, metavar="NAME", was="--detector"
)
JUDGE: Final = Option("--judge", "Let this model judge; others are compared.", several=True, metavar="JUDGE:NAME")
REPEATS: Final = Option("--repeats", "Ask each judge K times; the median counts.", kind="count", default=1, metavar="K")
RUBRICS: Final = Option(
    "--rubrics", "Variant of the rubrics; both are compared.", default="1", choices=("1", "2", "both")
)
MAX_COST: Final = Option(
    "--max-cost", "Stop before judging costs more; rerun with more to continue.", "positive", metavar="USD"
)
PUBLISHED: Final = Option("--published", "Show published figures, too; nothing is tested against them.", kind="flag")
