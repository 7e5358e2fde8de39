"""What a judge is told, in our words: about arguments, about the response, and about filler and key information.

The three judges are those of Full-Duplex-Bench v3 (Lin et al., arXiv 2604.04847), whose prompts are not copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fdbcore.runs.verdicts import VERDICT
from fdbcore.types import Rubric, RubricQuestion

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": ["number", "null"]}
_FOUND: Final[Mapping[str, Any]] = {
    "filler": _TEXT,
    "filler_from_s": _TIME,
    "filler_to_s": _TIME,
    "key": _TEXT,
    "key_from_s": _TIME,
    "key_to_s": _TIME,
    "reason": _TEXT,
}

ARGUMENTS: Final = Rubric(
    "arguments",
    "A voice assistant has called a function. You get the function, the arguments that were expected, and those that "
    "the assistant gave. Say whether the given ones are right: each expected argument must be there and mean the "
    "same.\n"
    "- An expected value that begins with $ stands for something that an earlier call returned, or for any value: "
    "whatever could be that is right.\n"
    "- How a value is written does not count: a date in words or in figures, capital or small letters.\n"
    "- Another common name of the same thing is right, and so is its short form, such as that of a city.\n"
    "- A number is right if it is within 5 percent of the expected one.\n"
    "- Kinds of documents are the same if only spaces and underscores differ.\n"
    "- Further arguments do not count.\n"
    "Give a short reason. If you cannot tell, give null.",
    VERDICT,
    [RubricQuestion("The given arguments are right", (), ("right",))],
)
"""Judge A, of one pair of calls."""

RESPONSE: Final = Rubric(
    "response",
    "A user has asked a voice assistant for something. You get what a good answer would say, and what the assistant "
    "said, as a speech recogniser wrote it: do not blame the assistant for a misspelling. Say whether the answer is "
    "right.\n"
    "- It has to be about the intended actions, with the intended details.\n"
    "- It has to say that they are done, or are being done.\n"
    "- More than was intended never makes it wrong.\n"
    "- It is wrong if the assistant says that it cannot do it, that it has no tool for it, or declines.\n"
    "- It is wrong if something else is done, such as for another place or another document.\n"
    "- Where several steps are intended, it is wrong if one of them is missing.\n"
    "Give a short reason. If you cannot tell, give null.",
    VERDICT,
    [RubricQuestion("The answer is right", (), ("right",))],
)
"""Judge B, of the transcript; it sees no calls, as published."""

SPEECH: Final = Rubric(
    "speech",
    "A user has asked a voice assistant for something that needs functions. You get when the user's speech ended, the "
    "words of the assistant and its calls of functions, with times in seconds. The usual order is: the user ends, "
    "silence, filler, silence while functions work, key information. Filler only fills the time, such as a promise to "
    "look something up. Key information is the sentence that first tells the user what was found or done.\n"
    "Copy the words of the filler and of the key information as they stand there, each without a gap, and take from "
    "the words when it begins and ends. If the assistant answers at once, there is no filler. Where there is none, "
    "give an empty text, and null for both times.",
    {"type": "object", "properties": _FOUND, "required": list(_FOUND), "additionalProperties": False},
)
"""Judge C, of what was said when."""
