"""The page in other languages than English: tables of what it says, by its English."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.report.html.wording import Wording, words_in
from fdbcore.suites.dialogue_acts.page.svg import PACKAGE
from fdbcore.types.scorecard import PageWords

ENGLISH: Final = "en"
OTHERS: Final = ("ja",)


def check_language(language: str) -> None:
    """SettingsError for a language that the page does not speak."""
    if language not in (ENGLISH, *OTHERS):
        raise SettingsError(f"--page-language: expected {ENGLISH} or {', '.join(OTHERS)}, got {language}")


@cache
def page_words(language: str) -> PageWords | None:
    """What the page of this suite says in a language; None for English."""
    return None if language == ENGLISH else PageWords(language, words_in(PACKAGE, f"data/page.{language}.toml"))


@cache
def sayer(language: str) -> Callable[[str], str]:
    """What says a sentence in a language. Pictures need it, as they break their sentences into lines."""
    found = page_words(language)
    return str if found is None else Wording(*found).text
