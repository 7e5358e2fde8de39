"""Which reasons of a judge quote what it has read."""

from __future__ import annotations

import pytest

from fdbcore.suites.staged.judging import quotes

SAID = ("Well, I'd like two large lattes, please.", "So that is one blue mug for you.", "三時に予約しました。")


@pytest.mark.parametrize(
    ("reason", "is_quoted"),
    [
        ("It says “one blue mug”, though two were asked for.", True),
        ("It repeats 'blue mug' and goes on.", True),
        ("It confirms \"Two LARGE lattes\".", True),
        ("the system says that is one blue mug to the user", True),
        ("It answers after 0.5 s.", True),
        ("It begins at 12 seconds, too late.", True),
        ("The overlap at 1:02 is long.", True),
        ("「三時に予約」と答えた。", True),
        ("2秒後に答えた。", True),
        ("It isn't prompt, and it doesn't confirm.", False),
        ("It says “a red mug”.", False),
        ("「五時」と答えた。", False),
        ("The blue one is right.", False),
        ("Goal 2 is met, 5 of 5.", False),
        ("“”", False),
        ("", False),
    ],
)  # fmt: skip
def test_a_quotation_is_words_that_were_said_or_a_time(reason: str, is_quoted: bool) -> None:
    assert quotes(reason, {"said": [{"words": words} for words in SAID]}) is is_quoted
