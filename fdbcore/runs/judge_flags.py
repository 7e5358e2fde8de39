"""The options about judges that benchmarks share; `judge_options` reads their values."""

from __future__ import annotations

from typing import Final

from fdbcore.types import Option

REPEATS: Final = Option(
    "--repeats", "Ask judges so many times; a mark is the median.", kind="count", default=1, metavar="K"
)
RUBRICS: Final = Option("--rubrics", "Wording of the rubrics: 1, 2, or both, compared.", default="1", metavar="WORDING")
MAX_COST: Final = Option(
    "--max-cost", "Ask judges nothing that would cost more in this scoring; the same command goes on.", metavar="USD"
)
