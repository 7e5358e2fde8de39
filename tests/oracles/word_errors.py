"""The word error rate: substitutions, insertions and deletions of the cheapest alignment, a word of the reference."""

import re
from typing import Final

DIGITS: Final = "zero one two three four five six seven eight nine".split()


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation; a digit is its word."""
    found = re.findall(r"[a-z0-9']+", text.lower())
    return [DIGITS[int(word)] if word.isdigit() and len(word) == 1 else word for word in found]


def word_error_rate(reference: str, heard: str) -> float:
    """Levenshtein's distance between the words, by the number of words in `reference`."""
    expected, found = words(reference), words(heard)
    costs = list(range(len(found) + 1))
    for row, word in enumerate(expected, 1):
        above, costs[0] = costs[:], row
        for column, other in enumerate(found, 1):
            costs[column] = min(above[column] + 1, costs[column - 1] + 1, above[column - 1] + (word != other))
    return costs[-1] / len(expected)
